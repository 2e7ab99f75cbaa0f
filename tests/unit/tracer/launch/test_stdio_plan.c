#include "tracer/launch/stdio_plan.h"
#include "tracer/launch/stdio_relay.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define assert_ok(call)                                                      \
	do {                                                                 \
		struct rf_error *error_ = (call);                            \
		cr_assert_null(error_, "%s", error_ ? error_->message : ""); \
	} while (0)

static void exec_shell(const char *script)
{
	execl("/bin/sh", "sh", "-c", script, (char *)NULL);
	_exit(127);
}

/* Both runs of a program as rfprof does them. */
struct outcome {
	int status[2];
	enum stdio_same same;
	bool replayed;
	const char *why_not_same, *why_not_replayed;
};

typedef void program_fn(const void *argument);

static int run_once(struct stdio_plan *plan, int run, program_fn *program, const void *argument)
{
	int status;
	assert_ok(stdio_plan_prepare(plan, run));
	pid_t pid = fork();
	if (pid == 0) {
		stdio_plan_child(plan);
		signal(SIGPIPE, SIG_DFL);
		alarm(60);
		program(argument);
		_exit(0);
	}
	assert_ok(stdio_plan_start(plan));
	cr_assert(waitpid(pid, &status, 0) == pid);
	stdio_plan_finish(plan);
	return status;
}

static struct outcome run_twice(program_fn *program, const void *argument)
{
	struct stdio_plan *plan;
	struct outcome outcome;
	assert_ok(stdio_plan_create(&plan));
	for (int run = 1; run <= 2; run++)
		outcome.status[run - 1] = run_once(plan, run, program, argument);
	outcome.same = stdio_plan_compare(plan, &outcome.why_not_same);
	outcome.replayed = stdio_plan_input_replayed(plan, &outcome.why_not_replayed);
	stdio_plan_destroy(plan);
	return outcome;
}

static void shell(const void *script)
{
	exec_shell(script);
}

/* The other end of a stream, read to its end (or `limit`) by a thread. */
struct sink {
	int fd;
	size_t limit;
	char *bytes;
	size_t size;
	pthread_t thread;
};

static void *read_sink(void *opaque)
{
	struct sink *sink = opaque;
	sink->bytes = malloc(sink->limit + 1);
	ssize_t n = 1;
	while (n > 0 && sink->size < sink->limit) {
		n = read(sink->fd, sink->bytes + sink->size, sink->limit - sink->size);
		if (n > 0)
			sink->size += (size_t)n;
	}
	sink->bytes[sink->size] = '\0';
	close(sink->fd);
	return NULL;
}

static void sink_start(struct sink *sink, int fd, size_t limit)
{
	*sink = (struct sink){.fd = fd, .limit = limit};
	pthread_create(&sink->thread, NULL, read_sink, sink);
}

static void move_fd(int from, int to)
{
	dup2(from, to);
	close(from);
}

/* Standard output becomes a pipe whose other end fills `sink`. */
static void pipe_output(struct sink *sink, size_t limit)
{
	int ends[2];
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	move_fd(ends[1], 1);
	sink_start(sink, ends[0], limit);
}

static void sink_finish(struct sink *sink)
{
	close(1);
	pthread_join(sink->thread, NULL);
}

static int temporary(const char *content)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	cr_assert(fd >= 0);
	cr_assert(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
	return fd;
}

Test(stdio_plan, hash_is_fnv1a)
{
	/* Test vectors of draft-eastlake-fnv-17, appendix C. */
	static const struct {
		const char *text;
		uint64_t hash;
	} vectors[] = {
		{"", 0xcbf29ce484222325u},
		{"a", 0xaf63dc4c8601ec8cu},
		{"foobar", 0x85944171f73967e8u},
	};
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		struct stream_hash hash = STREAM_HASH_INIT;
		stream_hash_add(&hash, vectors[i].text, strlen(vectors[i].text));
		cr_assert_eq(hash.hash, vectors[i].hash);
		cr_assert_eq(hash.bytes, strlen(vectors[i].text));
	}
}

Test(stdio_plan, piped_output_passes_once_and_is_compared)
{
	static struct sink sink;
	pipe_output(&sink, 1000);
	struct outcome outcome = run_twice(shell, "echo one; echo two");
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "one\ntwo\n");
	cr_assert(outcome.same == STDIO_SAME);
	cr_assert(outcome.status[0] == 0 && outcome.status[1] == 0);
}

Test(stdio_plan, different_output_is_seen)
{
	static struct sink sink;
	pipe_output(&sink, 1000);
	struct outcome outcome = run_twice(shell, "echo $$; head -c 9 /dev/urandom | base64");
	sink_finish(&sink);
	cr_assert(outcome.same == STDIO_DIFFERENT);
}

static enum stdio_same same_of(const char *a, const char *b)
{
	struct stream_hash x = STREAM_HASH_INIT, y = STREAM_HASH_INIT;
	for (size_t i = 0; a[i]; i++) /* byte by byte and at once */
		stream_hash_add(&x, a + i, 1);
	stream_hash_add(&y, b, strlen(b));
	return x.hash == y.hash && x.bytes == y.bytes ? STDIO_SAME
	       : x.words == y.words                   ? STDIO_NUMBERS
						      : STDIO_DIFFERENT;
}

Test(stdio_plan, numbers_are_told_from_words)
{
	static const struct {
		const char *a, *b;
		enum stdio_same same;
	} cases[] = {
		{"", "", STDIO_SAME},
		{"time 1.5 s\n", "time 1.5 s\n", STDIO_SAME},
		{"time 1.5 s\n", "time 12.25 s\n", STDIO_NUMBERS},
		{"time   1.5 s\n", "time 112.5 s\n", STDIO_NUMBERS},
		{"x = -3e-7, 12:30:01", "x = 3.25e+10, 09:00:59", STDIO_NUMBERS},
		{"1,234 rows", "7 rows", STDIO_NUMBERS},
		{"time 1.5 s\n", "time 1.5 s", STDIO_DIFFERENT},
		{"1 2", "1", STDIO_DIFFERENT},
		{"12 rows", "rows", STDIO_DIFFERENT},
		{"converged in 12 steps", "diverged in 12 steps", STDIO_DIFFERENT},
		{"1\n2\n", "1\n2\n3\n", STDIO_DIFFERENT},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect(same_of(cases[i].a, cases[i].b) == cases[i].same, "%s | %s", cases[i].a,
			  cases[i].b);
}

enum { LARGE = 64 << 20 };

static void *feed_pattern(void *opaque)
{
	const int *fd = opaque;
	uint32_t block[4096], next = 1;
	for (size_t done = 0; done < LARGE; done += sizeof(block)) {
		for (size_t i = 0; i < 4096; i++)
			block[i] = next = next * 1664525 + 1013904223;
		for (size_t at = 0; at < sizeof(block);) {
			ssize_t n = write(*fd, (char *)block + at, sizeof(block) - at);
			if (n <= 0)
				return NULL;
			at += (size_t)n;
		}
	}
	close(*fd);
	return NULL;
}

/* 64 MiB through both relays: what comes out is what went in, and run 2 gets it again. */
Test(stdio_plan, large_input_is_replayed_and_large_output_unchanged, .timeout = 100)
{
	static struct sink sink;
	int ends[2];
	pthread_t feeder;
	pipe_output(&sink, LARGE + 10);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	move_fd(ends[0], 0);
	pthread_create(&feeder, NULL, feed_pattern, &ends[1]);
	struct outcome outcome = run_twice(shell, "cat");
	pthread_join(feeder, NULL);
	sink_finish(&sink);
	cr_assert_eq(sink.size, LARGE);
	uint32_t next = 1, value;
	for (size_t at = 0; at < LARGE; at += sizeof(value)) {
		memcpy(&value, sink.bytes + at, sizeof(value));
		next = next * 1664525 + 1013904223;
		cr_assert(value == next, "byte %zu differs", at);
	}
	cr_assert(outcome.same == STDIO_SAME);
	cr_assert(outcome.replayed);
	free(sink.bytes);
}

/* The program leaves its input unread: we have taken what fits into its pipe at most. */
Test(stdio_plan, input_is_not_read_far_ahead)
{
	enum { FULL = 1 << 20, PIPE = 1 << 16 };
	int pair[2], left = 0, size = FULL;
	char *bytes = calloc(1, FULL);
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ssize_t sent = send(pair[0], bytes, FULL, MSG_DONTWAIT);
	free(bytes);
	cr_assert(sent > 2 * PIPE);
	move_fd(pair[1], 0);
	struct outcome outcome = run_twice(shell, "sleep 0.3; exit 3");
	cr_assert(WEXITSTATUS(outcome.status[0]) == 3 && WEXITSTATUS(outcome.status[1]) == 3);
	cr_assert(ioctl(0, FIONREAD, &left) == 0);
	cr_assert_eq(sent - left, PIPE);
}

Test(stdio_plan, file_input_shares_its_offset_in_run_1_only)
{
	static struct sink sink;
	move_fd(temporary("skipped\nfirst\nsecond\n"), 0);
	lseek(0, 8, SEEK_SET);
	pipe_output(&sink, 1000);
	struct outcome outcome = run_twice(shell, "dd bs=6 count=1 status=none");
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "first\n");
	cr_assert(outcome.same == STDIO_SAME && outcome.replayed);
	cr_assert_eq(lseek(0, 0, SEEK_CUR), 14);
}

/* `yes | head`: the program dies of SIGPIPE in both runs, and we do not. */
Test(stdio_plan, broken_pipe_reaches_the_program, .timeout = 100)
{
	static struct sink sink;
	pipe_output(&sink, 5000);
	struct outcome outcome = run_twice(shell, "exec yes");
	sink_finish(&sink);
	for (int run = 0; run < 2; run++)
		cr_assert(WIFSIGNALED(outcome.status[run]) &&
				  WTERMSIG(outcome.status[run]) == SIGPIPE,
			  "run %d: status %x", run + 1, outcome.status[run]);
	cr_assert(outcome.same == STDIO_SAME);
}

/* Nobody reads at all, and the program has nothing to say for a while. */
Test(stdio_plan, reader_that_is_gone_from_the_start, .timeout = 100)
{
	int ends[2];
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	close(ends[0]);
	move_fd(ends[1], 1);
	struct outcome outcome = run_twice(shell, "exec yes");
	for (int run = 0; run < 2; run++)
		cr_assert(WIFSIGNALED(outcome.status[run]) &&
			  WTERMSIG(outcome.status[run]) == SIGPIPE);
}

Test(stdio_plan, closed_descriptors_stay_closed)
{
	static const char *const tests[] = {"test -e /proc/self/fd/0", "test -e /proc/self/fd/1",
					    "test -e /proc/self/fd/2"};
	for (int fd = 0; fd < 3; fd++) {
		int saved = dup(fd);
		close(fd);
		struct outcome closed = run_twice(shell, tests[fd]);
		close(fd); /* the placeholder */
		move_fd(saved, fd);
		struct outcome open_again = run_twice(shell, tests[fd]);
		for (int run = 0; run < 2; run++) {
			cr_assert(WEXITSTATUS(closed.status[run]) == 1, "%d in run %d", fd, run);
			cr_assert(WEXITSTATUS(open_again.status[run]) == 0, "%d in run %d", fd,
				  run);
		}
	}
}

/* Through relays on all three streams the program has the descriptors 0, 1, 2 and no more (3 is
 * ls's own). */
Test(stdio_plan, program_has_no_further_descriptors)
{
	static struct sink sink;
	int ends[2];
	/* The test runner's own descriptors are not ours to judge. */
	for (int fd = 3; fd < 256; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	move_fd(ends[0], 0);
	close(ends[1]);
	pipe_output(&sink, 1000);
	struct outcome outcome = run_twice(shell, "exec ls /proc/self/fd");
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "0\n1\n2\n3\n");
	cr_assert(outcome.same == STDIO_SAME);
}

static void check_file(int flags)
{
	char content[100] = "";
	char path[] = "/tmp/stdio_planXXXXXX";
	int fd = mkstemp(path);
	cr_assert(write(fd, "before\n", 7) == 7);
	close(fd);
	int saved = dup(1);
	move_fd(open(path, O_WRONLY | O_CLOEXEC | flags), 1);
	lseek(1, 7, SEEK_SET);
	/* A regular file of the same size in both runs. */
	struct outcome outcome = run_twice(shell, "echo first; stat -L -c '%F %s' /proc/self/fd/1");
	cr_assert_eq(lseek(1, 0, SEEK_CUR), 7 + 6 + 16);
	move_fd(saved, 1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(read(fd, content, sizeof(content) - 1) > 0);
	close(fd);
	unlink(path);
	cr_assert_str_eq(content, "before\nfirst\nregular file 13\n");
	cr_assert(outcome.same == STDIO_SAME);
}

Test(stdio_plan, file_output_is_written_in_run_1_only)
{
	check_file(0);
	check_file(O_APPEND);
}

Test(stdio_plan, different_file_output_is_seen)
{
	move_fd(temporary(""), 1);
	cr_assert(run_twice(shell, "echo $$").same == STDIO_NUMBERS);
}

Test(stdio_plan, output_and_errors_in_one_pipe_keep_their_order)
{
	static struct sink sink;
	pipe_output(&sink, 100000);
	int saved = dup(2);
	dup2(1, 2);
	run_twice(shell, "for i in 0 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done");
	move_fd(saved, 2);
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "o0\ne0\no1\ne1\no2\ne2\no3\ne3\no4\ne4\n"
				     "o5\ne5\no6\ne6\no7\ne7\no8\ne8\no9\ne9\n");
}

Test(stdio_plan, output_and_errors_in_one_file_keep_their_order)
{
	char content[200] = "";
	int file = temporary(""), saved[2] = {dup(1), dup(2)};
	dup2(file, 1);
	dup2(file, 2);
	struct outcome outcome = run_twice(shell, "echo a; echo b >&2; echo c");
	move_fd(saved[0], 1);
	move_fd(saved[1], 2);
	cr_assert(pread(file, content, sizeof(content) - 1, 0) > 0);
	cr_assert_str_eq(content, "a\nb\nc\n");
	cr_assert(outcome.same == STDIO_SAME);
}

/* Errors of run 2 are not shown again. */
Test(stdio_plan, errors_are_seen_once)
{
	char content[200] = "";
	int file = temporary(""), saved = dup(2);
	dup2(file, 2);
	run_twice(shell, "echo problem >&2");
	move_fd(saved, 2);
	cr_assert(pread(file, content, sizeof(content) - 1, 0) > 0);
	cr_assert_str_eq(content, "problem\n");
}

static int open_terminal(int *master)
{
	struct winsize size = {.ws_row = 33, .ws_col = 77};
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert(*master >= 0 && grantpt(*master) == 0 && unlockpt(*master) == 0);
	int slave = open(ptsname(*master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	ioctl(slave, TIOCSWINSZ, &size);
	return slave;
}

static void check_terminal(const void *unused)
{
	struct winsize size = {0};
	ioctl(1, TIOCGWINSZ, &size);
	bool right = isatty(1) && size.ws_row == 33 && size.ws_col == 77;
	/* More than a terminal buffers: somebody must drain it. */
	for (int i = 0; i < 2000; i++)
		right &= write(1, "0123456789012345678901234567890123456789\n", 41) == 41;
	_exit(right ? 5 : 6);
}

Test(stdio_plan, terminal_is_a_terminal_in_both_runs, .timeout = 100)
{
	static struct sink sink;
	int master;
	move_fd(open_terminal(&master), 1);
	sink_start(&sink, master, 1 << 20);
	struct outcome outcome = run_twice(check_terminal, NULL);
	sink_finish(&sink);
	cr_assert(WEXITSTATUS(outcome.status[0]) == 5 && WEXITSTATUS(outcome.status[1]) == 5);
	cr_assert_eq(sink.size, 2000 * 42); /* once, with \r\n */
	cr_assert(outcome.same == STDIO_UNKNOWN);
	cr_assert_str_eq(outcome.why_not_same, "standard output is a terminal");
}

Test(stdio_plan, terminal_input_is_not_replayed)
{
	int master;
	move_fd(open_terminal(&master), 0);
	struct outcome outcome = run_twice(shell, "test -t 0");
	cr_assert(WEXITSTATUS(outcome.status[0]) == 0 && WEXITSTATUS(outcome.status[1]) == 1);
	cr_assert_not(outcome.replayed);
	cr_assert_str_eq(outcome.why_not_replayed, "standard input is a terminal");
}

Test(stdio_plan, dev_null_stays_dev_null)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), saved = dup(1);
	dup2(null, 0);
	dup2(null, 1);
	struct outcome outcome = run_twice(shell, "test \"$(readlink /proc/$$/fd/0 "
						  "/proc/$$/fd/1 | uniq)\" = /dev/null");
	move_fd(saved, 1);
	cr_assert(outcome.status[0] == 0 && outcome.status[1] == 0);
	cr_assert(outcome.replayed);
	cr_assert(outcome.same == STDIO_UNKNOWN);
}

Test(stdio_plan, sockets_are_relayed)
{
	static struct sink sink;
	int input[2], output[2];
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) == 0);
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, output) == 0);
	cr_assert(write(input[0], "hello\n", 6) == 6);
	close(input[0]);
	move_fd(input[1], 0);
	move_fd(output[1], 1);
	sink_start(&sink, output[0], 100);
	struct outcome outcome = run_twice(shell, "cat; echo done");
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "hello\ndone\n");
	cr_assert(outcome.same == STDIO_SAME && outcome.replayed);
}

/* A child that outlives run 2 and keeps the output open is waited for a second, not for ever; in
 * run 1 all of its output passes. */
Test(stdio_plan, lingering_children, .timeout = 100)
{
	static struct sink sink;
	pipe_output(&sink, 1000);
	struct outcome outcome = run_twice(shell, "(sleep 0.3; echo late) & echo early");
	sink_finish(&sink);
	cr_assert_str_eq(sink.bytes, "early\nlate\n");
	cr_assert(outcome.same == STDIO_SAME);
}
