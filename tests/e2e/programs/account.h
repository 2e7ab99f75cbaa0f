/* What account.c knows of its own time: pieces that are measured from inside, by clocks that are exact (the clock of the
 * thread's processor time, and the time that it stood in the run queue, of its schedstat), and whose kind is known by
 * construction.  getrusage cannot tell user from kernel here: many kernels only sample that split, every 4 ms. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* A function that stays one, with this name: it is what a report has to name. */
#define OWN static __attribute__((noipa))

enum { MAX_THREADS = 64, MAX_DEPTH = 4, MAX_PARTS = 32, MAX_PROCESSES = 64, MAX_ROWS = 8 };

/* What the processor time of a piece is; EITHER: a mixture that is not known. */
enum kind { USER, KERNEL, EITHER };

struct call {
	const char *name, *function;
	long n, failed, bytes;
	bool moves; /* it is of read's or write's kin */
};

struct wait {
	const char *cause, *function;
	long n;
	double time;
};

/* Of one thread in one part, or of many. */
struct truth {
	double life, cpu[3], waiting, runnable;
	long faults;
	struct call calls[MAX_ROWS];
	struct wait waits[MAX_ROWS];
};

struct part {
	const char *text; /* as it was asked for */
	char what[64];
	long amount, apart;
	int threads;
	double wall;
	struct truth workers[MAX_THREADS];
	struct truth helpers[MAX_THREADS]; /* threads that do but what the workers wait for */
	struct truth mains[MAX_DEPTH];	   /* the first thread of each process that waits for workers */
};

/* A process from its main() or fork on; of its first thread alone: life, waiting, runnable. */
struct process {
	double life, cpu, waiting, runnable, cpu_before;
	struct rusage usage;
};

/* In memory that all processes share. */
struct book {
	atomic_int processes_n, next_process;
	int parts_n;
	struct process processes[MAX_PROCESSES];
	struct part parts[MAX_PARTS];
};

struct meter {
	double wall, cpu, ready;
	long faults;
};

static void need(bool holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "account: %s: %s\n", what, strerror(errno));
		exit(2);
	}
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

/* The calling thread's schedstat; a thread opens its own, and so does a child's first one. */
static __thread int schedstat;

OWN void open_schedstat(void)
{
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

OWN void close_schedstat(void)
{
	close(schedstat);
}

/* Seconds that the thread was ready and did not run. */
OWN double time_ready(void)
{
	char text[80] = "";
	unsigned long long ran, ready = 0;

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &ready) != 2) {
		fprintf(stderr, "account: this kernel has no schedstat\n");
		exit(77);
	}
	return 1e-9 * (double) ready;
}

/* All clocks at one moment: anew where the thread has lost its processor between them. */
static struct meter start(void)
{
	struct rusage usage;
	struct meter meter;

	getrusage(RUSAGE_THREAD, &usage);
	for (int i = 0; i < 20; i++) {
		meter.ready = time_ready();
		meter.wall = now(CLOCK_MONOTONIC);
		meter.cpu = now(CLOCK_THREAD_CPUTIME_ID);
		if (time_ready() - meter.ready < 20e-6)
			break;
	}
	meter.faults = usage.ru_minflt;
	return meter;
}

/* The same from when the thread was made: until now it has run or stood in the run queue. */
static struct meter start_of_life(void)
{
	struct meter meter = start();

	meter.wall -= meter.cpu + meter.ready;
	meter.cpu = meter.ready = 0;
	return meter;
}

/* What went by since the start. */
static struct meter stop(const struct meter *started)
{
	struct meter meter = start();

	meter.cpu -= started->cpu;
	meter.wall -= started->wall;
	meter.ready -= started->ready;
	meter.faults -= started->faults;
	return meter;
}

static double blocked(const struct meter *meter)
{
	double time = meter->wall - meter->cpu - meter->ready;

	return time > 0 ? time : 0;
}

static void add_piece(struct truth *truth, enum kind kind, const struct meter *started)
{
	struct meter piece = stop(started);

	truth->cpu[kind] += piece.cpu;
	truth->faults += piece.faults;
}

/* A piece that is a call which may block. */
static void add_wait(struct truth *truth, const char *cause, const char *function,
		     const struct meter *started)
{
	struct meter piece = stop(started);
	struct wait *wait = truth->waits;

	truth->cpu[KERNEL] += piece.cpu;
	truth->faults += piece.faults;
	while (wait->function && (strcmp(wait->function, function) || strcmp(wait->cause, cause)))
		wait++;
	wait->cause = cause;
	wait->function = function;
	wait->n++;
	wait->time += blocked(&piece);
}

/* n calls, all with this result (failed: negative). */
static void add_calls(struct truth *truth, const char *name, const char *function, long n,
		      long result)
{
	struct call *call = truth->calls;

	while (call->function && (strcmp(call->function, function) || strcmp(call->name, name)))
		call++;
	call->name = name;
	call->function = function;
	call->n += n;
	if (result < 0)
		call->failed += n;
	else
		call->bytes += n * result;
	call->moves = strstr(name, "read") || strstr(name, "write");
}

/* The whole life of a thread, which is more than its pieces. */
static void add_life(struct truth *truth, const struct meter *started)
{
	struct meter life = stop(started);

	truth->life += life.wall;
	truth->waiting += blocked(&life);
	truth->runnable += life.ready;
}

static void add_truth(struct truth *sum, const struct truth *part)
{
	sum->life += part->life;
	for (int kind = USER; kind <= EITHER; kind++)
		sum->cpu[kind] += part->cpu[kind];
	sum->waiting += part->waiting;
	sum->runnable += part->runnable;
	sum->faults += part->faults;
	for (const struct call *call = part->calls; call->function; call++) {
		add_calls(sum, call->name, call->function, call->n - call->failed,
			  call->n > call->failed ? call->bytes / (call->n - call->failed) : 0);
		if (call->failed)
			add_calls(sum, call->name, call->function, call->failed, -1);
	}
	for (const struct wait *wait = part->waits; wait->function; wait++) {
		struct wait *row = sum->waits;

		while (row->function &&
		       (strcmp(row->function, wait->function) || strcmp(row->cause, wait->cause)))
			row++;
		row->cause = wait->cause;
		row->function = wait->function;
		row->n += wait->n;
		row->time += wait->time;
	}
}

static struct truth truth_of(const struct part *part)
{
	struct truth sum = {0};

	for (int i = 0; i < MAX_THREADS; i++) {
		add_truth(&sum, &part->workers[i]);
		add_truth(&sum, &part->helpers[i]);
	}
	for (int i = 0; i < MAX_DEPTH; i++)
		add_truth(&sum, &part->mains[i]);
	return sum;
}

static void end_process(struct process *process, const struct meter *started)
{
	struct meter life = stop(started);

	process->life = life.wall;
	process->waiting = blocked(&life);
	process->runnable = life.ready;
	process->cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &process->usage);
}

static void print_times(const struct truth *truth)
{
	printf("\"user_s\": %.6f, \"kernel_s\": %.6f, \"either_s\": %.6f, \"minor_faults\": %ld",
	       truth->cpu[USER], truth->cpu[KERNEL], truth->cpu[EITHER], truth->faults);
}

static void print_part(const struct part *part)
{
	struct truth truth = truth_of(part);
	const char *comma = "";

	printf("{\"part\": \"%s\", \"what\": \"%s\", \"amount\": %ld, \"threads\": %d, ", part->text,
	       part->what, part->amount, part->threads);
	printf("\"wall_s\": %.6f, ", part->wall);
	print_times(&truth);
	printf(", \"calls\": [");
	for (const struct call *call = truth.calls; call->function; call++, comma = ", ") {
		printf("%s{\"name\": \"%s\", \"function\": \"%s\", \"n\": %ld, ", comma, call->name,
		       call->function, call->n);
		printf("\"failed\": %ld, \"bytes\": ", call->failed);
		printf(call->moves ? "%ld}" : "null}", call->bytes);
	}
	printf("], \"waits\": [");
	comma = "";
	for (const struct wait *wait = truth.waits; wait->function; wait++, comma = ", ")
		printf("%s{\"cause\": \"%s\", \"function\": \"%s\", \"n\": %ld, \"time_s\": %.6f}",
		       comma, wait->cause, wait->function, wait->n, wait->time);
	printf("]}");
}

/* Sums over all threads of all processes.  user_s and kernel_s are the pieces whose kind is known; cpu_s is all, with
 * the start of the program, its threads' starts and ends. */
static void print_total(const struct book *book)
{
	struct truth sum = {0};
	struct process all = {0};
	long faults = 0, voluntary = 0, involuntary = 0;

	for (int i = 0; i < book->parts_n; i++) {
		struct truth truth = truth_of(&book->parts[i]);

		memset(truth.calls, 0, sizeof(truth.calls));
		memset(truth.waits, 0, sizeof(truth.waits));
		add_truth(&sum, &truth);
	}
	for (int i = 0; i < book->processes_n; i++) {
		const struct process *process = &book->processes[i];

		all.life += process->life;
		all.cpu += process->cpu;
		all.waiting += process->waiting;
		all.runnable += process->runnable;
		faults += process->usage.ru_minflt;
		voluntary += process->usage.ru_nvcsw;
		involuntary += process->usage.ru_nivcsw;
	}
	printf("{");
	print_times(&sum);
	printf(", \"cpu_s\": %.6f, \"cpu_before_main_s\": %.6f, \"wall_s\": %.6f, \"lives_s\": %.6f, ",
	       all.cpu, book->processes[0].cpu_before, book->processes[0].life, sum.life + all.life);
	printf("\"waiting_s\": %.6f, \"runnable_s\": %.6f, ", sum.waiting + all.waiting,
	       sum.runnable + all.runnable);
	printf("\"all_minor_faults\": %ld, \"voluntary_switches\": %ld, \"involuntary_switches\": %ld, ",
	       faults, voluntary, involuntary);
	printf("\"processes\": %d}", book->processes_n);
}

static void print_book(const struct book *book)
{
	printf("{\"parts\": [");
	for (int i = 0; i < book->parts_n; i++) {
		print_part(&book->parts[i]);
		printf(i + 1 < book->parts_n ? ", " : "], \"total\": ");
	}
	print_total(book);
	printf("}\n");
}
