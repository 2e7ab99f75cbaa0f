/* Both samplers against programs that know their own truth (sampler_program.c). */
#include "tracer/timed/sampler.h"
#include "tracer/timed/sampler_event.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Measured runs may be disturbed by the machine's other work; a wrong sampler stays wrong. */
enum { ATTEMPTS = 5 };

struct run {
	struct profile *profile;
	char output[16384];
	int status;
	pid_t pid;
	double user; /* seconds of user time of the program and its children, from the kernel */
};

static void need(const struct sampler_ops *ops)
{
	struct rf_error *error = ops->probe();
	if (!error)
		return;
	cr_skip_test("%s: %s", ops->name, error->message);
}

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

static const char *program_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	cr_assert(n > 0);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "sampler_program");
	return path;
}

/* In the child: waits until sampling is ready. */
static void exec_when_told(const int gate[2], int output, char *const argv[], char **environment)
{
	char byte;
	close(gate[1]); /* a test that fails must not leave us waiting */
	if (read(gate[0], &byte, 1) != 1)
		_exit(126);
	dup2(output, 1);
	execvpe(argv[0], argv, environment);
	_exit(127);
}

static void read_output(int fd, struct run *run)
{
	size_t size = 0;
	ssize_t n;
	while ((n = read(fd, run->output + size, sizeof(run->output) - 1 - size)) > 0)
		size += (size_t)n;
	run->output[size] = '\0';
	close(fd);
}

/* Runs a program to its end under a sampler (NULL: without). */
static void run_program(const struct sampler_ops *ops, char *const argv[], struct run *run)
{
	int gate[2], output[2];
	struct rusage usage;
	*run = (struct run){.profile = profile_create()};
	struct sampler *sampler = ops ? ops->create(run->profile, NULL) : NULL;
	char **environment = ops && ops->environment ? ops->environment(sampler, environ) : NULL;
	cr_assert(!ops || sampler);
	cr_assert(pipe2(gate, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
	run->pid = fork();
	if (run->pid == 0)
		exec_when_told(gate, output[1], argv, environment ? environment : environ);
	if (ops)
		assert_ok(ops->start(sampler, run->pid));
	cr_assert(write(gate[1], "x", 1) == 1);
	close(output[1]);
	read_output(output[0], run);
	cr_assert(wait4(run->pid, &run->status, 0, &usage) == run->pid);
	run->user = (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
	if (ops) {
		assert_ok(ops->finish(sampler));
		ops->destroy(sampler);
	}
	close(gate[0]);
	close(gate[1]);
}

static void run_mode(const struct sampler_ops *ops, const char *mode, const char *argument,
		     struct run *run)
{
	char *const argv[] = {(char *)program_path(), (char *)mode, (char *)argument, NULL};
	run_program(ops, argv, run);
}

/* Seconds sampled inside of [start, end) of modules named `module` (NULL: anywhere). */
static double weight_in(const struct profile *profile, const char *module, uint64_t start,
			uint64_t end, size_t *n)
{
	double sum = 0;
	*n = 0;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_frame *frame = &profile->frames[profile->samples[i].frame];
		if (module && (strcmp(profile->modules[frame->module].name, module) != 0 ||
			       frame->offset < start || frame->offset >= end))
			continue;
		sum += 1e-9 * (double)profile->samples[i].weight_ns;
		++*n;
	}
	return sum;
}

static double total_weight(const struct profile *profile)
{
	size_t n;
	return weight_in(profile, NULL, 0, 0, &n);
}

/* What "shares" printed, and what was sampled. */
struct shares {
	double truth, sampled; /* of burn_a in both */
	size_t n;
};

static struct shares read_shares(const struct run *run, const char *module)
{
	unsigned long a[2], b[2];
	double seconds[2];
	size_t n_a, n_b;
	cr_assert_eq(sscanf(run->output, "%lx %lx %lx %lx %lf %lf", &a[0], &a[1], &b[0], &b[1],
			    &seconds[0], &seconds[1]),
		     6, "%s", run->output);
	double w_a = weight_in(run->profile, module, a[0], a[1], &n_a);
	double w_b = weight_in(run->profile, module, b[0], b[1], &n_b);
	return (struct shares){seconds[0] / (seconds[0] + seconds[1]), w_a / (w_a + w_b),
			       n_a + n_b};
}

/* Standard deviation of a share of n samples (binomial). */
static double sigma(double share, size_t n)
{
	return sqrt(share * (1 - share) / (double)n);
}

static void check_shares(const struct sampler_ops *ops, struct shares *shares)
{
	need(ops);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct run run;
		run_mode(ops, "shares", "0.8", &run);
		*shares = read_shares(&run, "sampler_program");
		double wanted = 5 * sigma(shares->truth, shares->n);
		profile_destroy(run.profile);
		if (shares->n >= 100 && fabs(shares->sampled - shares->truth) <= wanted)
			return;
	}
	cr_assert(false, "%s: %.4f of the time was in burn_a, %.4f of %zu samples", ops->name,
		  shares->truth, shares->sampled, shares->n);
}

Test(sampler, perf_sees_known_shares, .timeout = 100)
{
	struct shares shares;
	check_shares(&sampler_perf, &shares);
	cr_assert(fabs(shares.truth - 0.75) < 0.05); /* the program does what it says */
}

Test(sampler, timer_sees_known_shares, .timeout = 100)
{
	struct shares shares;
	check_shares(&sampler_timer, &shares);
}

Test(sampler, both_agree, .timeout = 100)
{
	struct shares perf, timer;
	check_shares(&sampler_perf, &perf);
	check_shares(&sampler_timer, &timer);
	double spread = hypot(sigma(perf.truth, perf.n), sigma(timer.truth, timer.n));
	cr_assert(fabs((perf.sampled - perf.truth) - (timer.sampled - timer.truth)) <= 5 * spread);
}

static void check_total(const struct sampler_ops *ops, const char *mode, const char *seconds)
{
	double ratio = 0;
	need(ops);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		struct run run;
		run_mode(ops, mode, seconds, &run);
		ratio = total_weight(run.profile) / run.user;
		cr_assert_str_eq(profile_get_fact(run.profile, "lost_samples"), "0");
		cr_assert_str_eq(profile_get_fact(run.profile, "time_source"), ops->name);
		profile_destroy(run.profile);
		if (fabs(ratio - 1) <= 0.05)
			return;
	}
	cr_assert(false, "%s, %s: sampled %.3f of the user time", ops->name, mode, ratio);
}

Test(sampler, weights_sum_to_user_time, .timeout = 110)
{
	check_total(&sampler_perf, "burn", "1");
	check_total(&sampler_perf, "threads", "0.5");
}

Test(sampler, weights_of_timers_sum_to_user_time, .timeout = 110)
{
	check_total(&sampler_timer, "burn", "1");
	check_total(&sampler_timer, "threads", "0.5");
}

/* Seconds sampled in threads of this name, all of process `pid` (0: any). */
static double thread_weight(const struct profile *profile, const char *name, int pid)
{
	double sum = 0;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_thread *thread = &profile->threads[profile->samples[i].thread];
		cr_assert_eq(thread->run, RUN_TIMED);
		if ((!name || strcmp(thread->name, name) == 0) && (!pid || thread->pid == pid))
			sum += 1e-9 * (double)profile->samples[i].weight_ns;
	}
	return sum;
}

/* Each thread burned 0.4 s; one blocks all signals. */
static void check_threads(const struct sampler_ops *ops)
{
	static const char *const names[] = {"first", "second", "blocked"};
	struct run run;
	need(ops);
	run_mode(ops, "threads", "0.4", &run);
	for (size_t i = 0; i < 3; i++) {
		double seconds = thread_weight(run.profile, names[i], run.pid);
		cr_assert(seconds > 0.3 && seconds < 0.5, "%s, %s: %f s", ops->name, names[i],
			  seconds);
	}
	profile_destroy(run.profile);
}

Test(sampler, perf_sees_threads, .timeout = 100)
{
	check_threads(&sampler_perf);
}

Test(sampler, timer_sees_threads, .timeout = 100)
{
	check_threads(&sampler_timer);
}

/* One child forked, one forked and executed; their code is found in the right module. */
static void check_children(const struct sampler_ops *ops)
{
	struct run run;
	int pids[2];
	size_t n;
	need(ops);
	run_mode(ops, "children", "0.4", &run);
	/* The first line may be there twice: it was in the buffer of the forked child. */
	cr_assert_eq(sscanf(run.output, "%d %d", &pids[0], &pids[1]), 2);
	for (int i = 0; i < 2; i++) {
		double seconds = thread_weight(run.profile, NULL, pids[i]);
		cr_assert(seconds > 0.3 && seconds < 0.5, "%s, child %d: %f s", ops->name, i,
			  seconds);
	}
	double inside = weight_in(run.profile, "sampler_program", 0, UINT64_MAX, &n);
	cr_assert(inside > 0.95 * total_weight(run.profile), "%f", inside);
	profile_destroy(run.profile);
}

Test(sampler, perf_sees_children, .timeout = 100)
{
	check_children(&sampler_perf);
}

Test(sampler, timer_sees_children, .timeout = 100)
{
	check_children(&sampler_timer);
}

static void copy_program(const char *to)
{
	char command[9000];
	snprintf(command, sizeof(command), "cp '%s' '%s'", program_path(), to);
	cr_assert_eq(system(command), 0);
}

/* The program removes its own file at once: offsets are still those of the file. */
static void check_deleted(const struct sampler_ops *ops)
{
	struct run run;
	char path[] = "/tmp/sampler_testXXXXXX";
	need(ops);
	int fd = mkstemp(path);
	close(fd);
	copy_program(path);
	chmod(path, 0755);
	char *const argv[] = {path, "delete", "0.3", NULL};
	run_program(ops, argv, &run);
	cr_assert(access(path, F_OK) != 0);
	struct shares shares = read_shares(&run, path + 5);
	cr_assert(shares.n >= 40, "%s: %zu samples", ops->name, shares.n);
	profile_destroy(run.profile);
}

Test(sampler, perf_keeps_deleted_programs, .timeout = 100)
{
	check_deleted(&sampler_perf);
}

Test(sampler, timer_keeps_deleted_programs, .timeout = 100)
{
	check_deleted(&sampler_timer);
}

/* Stacks reach from the burner to main and on. */
static void check_stacks(const struct sampler_ops *ops)
{
	struct run run;
	size_t n_deep = 0;
	need(ops);
	run_mode(ops, "burn", "0.3", &run);
	const struct profile *profile = run.profile;
	for (size_t i = 0; i < profile->n_samples; i++) {
		uint32_t depth = 0;
		for (uint32_t f = profile->samples[i].frame; f != PROFILE_NONE;
		     f = profile->frames[f].parent)
			depth++;
		n_deep += depth >= 4; /* burn_a, burn_for, main, libc's start */
	}
	cr_assert(n_deep >= 0.9 * (double)profile->n_samples, "%zu of %zu", n_deep,
		  profile->n_samples);
	profile_destroy(run.profile);
}

Test(sampler, perf_unwinds, .timeout = 100)
{
	check_stacks(&sampler_perf);
}

Test(sampler, timer_unwinds, .timeout = 100)
{
	check_stacks(&sampler_timer);
}

/* --- the shim is not to be noticed --- */

static void check_output(char *const argv[])
{
	struct run with, without;
	need(&sampler_timer);
	run_program(NULL, argv, &without);
	run_program(&sampler_timer, argv, &with);
	cr_assert_str_eq(with.output, without.output);
	cr_assert_eq(with.status, without.status);
	profile_destroy(with.profile);
	profile_destroy(without.profile);
}

Test(shim, environment_is_the_same, .timeout = 100)
{
	char *const plain[] = {"env", NULL};
	char *const nested[] = {"sh", "-c", "env; exec env -i A=1 env", NULL};
	check_output(plain);
	setenv("LD_PRELOAD", "libm.so.6", 1);
	check_output(plain);
	check_output(nested);
	setenv("LD_PRELOAD", "", 1);
	check_output(plain);
}

Test(shim, no_descriptor_stays_open, .timeout = 100)
{
	char *const argv[] = {"ls", "/proc/self/fd", NULL};
	check_output(argv);
}

/* A program that uses our signal: its handler runs, or it dies of it. */
Test(shim, signal_is_shared, .timeout = 100)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", SIGRTMAX - 3);
	char *const uses[] = {(char *)program_path(), "signal", number, NULL};
	char *const dies[] = {(char *)program_path(), "die", number, NULL};
	check_output(uses);
	check_output(dies);
}

Test(shim, calls_are_not_interrupted, .timeout = 100)
{
	char *const argv[] = {(char *)program_path(), "interruptible", "0.5", NULL};
	check_output(argv);
}

/* --- why perf_event_open is refused --- */

/* From here on the system call fails with `errnum`. */
static void refuse_perf(int errnum)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
	cr_assert_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	cr_assert_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void check_refused(int errnum, const char *part)
{
	refuse_perf(errnum);
	struct rf_error *error = sampler_perf.probe();
	cr_assert_not_null(error);
	cr_assert_eq(error->code, RF_EUNAVAILABLE);
	cr_assert_eq(error->errnum, errnum);
	cr_assert_not_null(strstr(error->message, part), "%s", error->message);
	cr_assert_not_null(error->hint);
	rf_error_destroy(error);
}

Test(sampler, seccomp_is_named)
{
	check_refused(EPERM, "seccomp");
}

Test(sampler, missing_event_is_named)
{
	check_refused(ENOSYS, "no cpu-clock event");
}

/* --- the kernel's limit of the rate --- */

static const char limit_path[] = "/proc/sys/kernel/perf_event_max_sample_rate";

static unsigned long sample_rate(void)
{
	unsigned long rate = 0;
	FILE *file = fopen(limit_path, "r");
	cr_assert(file && fscanf(file, "%lu", &rate) == 1);
	fclose(file);
	return rate;
}

static bool set_sample_rate(unsigned long rate)
{
	FILE *file = fopen(limit_path, "w");
	return file && fprintf(file, "%lu\n", rate) > 0 && fclose(file) == 0;
}

/* Sets the limit back when this process ends, however it ends. */
static void restore_at_the_end(unsigned long rate)
{
	int ends[2];
	char byte;
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	if (fork() != 0) {
		close(ends[0]);
		return;
	}
	close(ends[1]);
	setsid();
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	_exit(!set_sample_rate(rate));
}

/* Lowers the limit from before the run or amid it (after 50 ms). */
static double ratio_with_limit(unsigned long rate, bool amid, const char *mode)
{
	struct run run;
	cr_assert(set_sample_rate(amid ? 100000 : rate));
	const pid_t later = amid ? fork() : -1;
	if (later == 0) {
		usleep(50000);
		_exit(!set_sample_rate(rate));
	}
	run_mode(&sampler_perf, mode, "0.5", &run);
	if (amid)
		cr_assert(waitpid(later, NULL, 0) == later);
	const double ratio = total_weight(run.profile) / run.user;
	profile_destroy(run.profile);
	return ratio;
}

static void check_limit(unsigned long rate, bool amid, const char *mode)
{
	double ratio = 0;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		ratio = ratio_with_limit(rate, amid, mode);
		/* at 250 each sample is followed by a stop, in which other programs' time is taken
		 * for this one's; and there are some 40 in a run */
		if (fabs(ratio - 1) <= (rate == 250 ? 0.3 : 0.1))
			return;
	}
	cr_assert(false, "%s, %lu samples a second%s: sampled %.3f of the user time", mode, rate,
		  amid ? " after 50 ms" : "", ratio);
}

/* A kernel that throttles gives fewer samples, not less time. */
Test(sampler, weights_sum_to_user_time_under_any_limit, .timeout = 200)
{
	static const unsigned long rates[] = {250, 500, 1000, 3000};
	need(&sampler_perf);
	if (access(limit_path, W_OK) != 0)
		cr_skip_test("only root can lower kernel.perf_event_max_sample_rate");
	restore_at_the_end(sample_rate());
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		check_limit(rates[i], false, "burn");
		check_limit(rates[i], true, "burn");
		check_limit(rates[i], i % 2, "threads");
	}
}

Test(sampler, no_period_is_shorter_than_the_limit_allows)
{
	static const uint64_t ticks[] = {1000000, 4000000, 10000000};
	cr_assert_eq(sampler_event_period(249989, 0, 4000000), 249989);
	cr_assert_eq(sampler_event_period(249989, 100000, 4000000), 249989);
	for (uint64_t rate = 1; rate < 1000000; rate = rate * 3 / 2 + 1)
		for (size_t i = 0; i < 3; i++) {
			const uint64_t tick = ticks[i],
				       period = sampler_event_period(249989, rate, tick),
				       allowed = (rate * tick + 999999999) / 1000000000;
			cr_assert(period >= 249989 &&
				  period * (allowed - 1) >= tick * (allowed > 1));
			cr_assert(period == 249989 || period * (allowed - 1) <= tick * 11 / 10);
		}
}

/* Samples that a run of so many seconds of user time has at least. */
static size_t samples_of(double seconds)
{
	const double of_limit =
		1e9 * seconds / (double)sampler_event_period(1, sample_rate(), 4000000);
	return (size_t)fmin(200, 0.8 * of_limit);
}

Test(sampler, short_run_has_200_samples, .timeout = 100)
{
	struct run run;
	need(&sampler_perf);
	run_mode(&sampler_perf, "burn", "0.2", &run);
	cr_assert(run.profile->n_samples >= samples_of(0.2), "%zu samples", run.profile->n_samples);
	for (size_t i = 0; i < run.profile->n_samples; i++)
		cr_assert(run.profile->samples[i].time_ns < 60000000000u);
	profile_destroy(run.profile);
}

/* Memory for the rings and access to the child, without any privilege. */
Test(sampler, plain_user, .timeout = 100)
{
	struct run run;
	if (geteuid() == 0) {
		cr_assert(setresgid(65534, 65534, 65534) == 0 &&
			  setresuid(65534, 65534, 65534) == 0);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		struct rlimit none = {0, 0};
		setrlimit(RLIMIT_MEMLOCK, &none);
	}
	if (access(program_path(), X_OK) != 0)
		cr_skip_test("other users cannot run %s", program_path());
	need(&sampler_perf);
	run_mode(&sampler_perf, "burn", "0.2", &run);
	cr_assert(run.profile->n_samples >= samples_of(0.2), "%zu", run.profile->n_samples);
	profile_destroy(run.profile);
}
