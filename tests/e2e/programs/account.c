/* A program that knows its own account: what it spends in user code, in the kernel, blocked and ready.
 *
 *     account WHAT=AMOUNT[:THREADS] ...
 *
 * does the parts one after the other, each by that many threads at once, and prints what it measured as one line of
 * JSON.  child/WHAT=... does the part in a forked child, child/child/WHAT=... in a grandchild.  Of pipe and feed the
 * second number is not of threads: it says how many ms lie between messages. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "account.h"
#include "account_waits.h"

enum { PAGE = 4096, BATCH = 4096, BLOCK = 1 << 20 };

static struct book *book;
static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
static struct {
	_Alignas(64) volatile long counts[8];
} line;
static volatile unsigned long result;

/* ---- user code and kernel ---- */

/* Some 100 µs of work lie between two looks at the clock, which is a system call. */
static inline __attribute__((always_inline)) void burn(long ms)
{
	double end = now(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * (double) ms;
	unsigned long x = 1;

	do {
		for (int i = 0; i < 75000; i++)
			x = x * 6364136223846793005 + 1442695040888963407;
		result = x;
	} while (now(CLOCK_THREAD_CPUTIME_ID) < end);
}

OWN void spin(struct part *part, struct truth *truth)
{
	struct meter meter = start();

	burn(part->amount);
	add_piece(truth, USER, &meter);
}

/* The kernel fills 1 MiB in a call, beside which a call's user code is nothing. */
OWN void read_blocks(struct part *part, struct truth *truth)
{
	char *block = malloc(BLOCK);
	int zero = open("/dev/zero", O_RDONLY);
	struct meter meter = start();
	double end = now(CLOCK_THREAD_CPUTIME_ID) + 1e-3 * (double) part->amount;
	long n = 0;

	for (; n % 2 || now(CLOCK_THREAD_CPUTIME_ID) < end; n++)
		need(read(zero, block, BLOCK) == BLOCK, "/dev/zero");
	add_piece(truth, KERNEL, &meter);
	add_calls(truth, "read", __func__, n, BLOCK); /* as many as the clock let pass */
	close(zero);
	free(block);
}

/* One store for each page that is new, and one more when it is there: the second says what the first takes by itself. */
OWN void touch_pages(struct part *part, struct truth *truth)
{
	struct meter meter = start();
	double own = 0;

	for (long done = 0, pages; done < part->amount; done += pages) {
		pages = part->amount - done < BATCH ? part->amount - done : BATCH;
		volatile char *memory = mmap(NULL, (size_t) pages * PAGE, PROT_READ | PROT_WRITE,
					     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		need(memory != MAP_FAILED, "mmap");
		madvise((void *) memory, (size_t) pages * PAGE, MADV_NOHUGEPAGE);
		for (long i = 0; i < pages; i++)
			memory[i * PAGE] = 1;
		own -= now(CLOCK_THREAD_CPUTIME_ID);
		for (long i = 0; i < pages; i++) {
			memory[i * PAGE] = 1;
			__builtin_ia32_lfence(); /* none begins before the last one has ended, as behind a fault */
		}
		own += now(CLOCK_THREAD_CPUTIME_ID);
		munmap((void *) memory, (size_t) pages * PAGE);
	}
	add_piece(truth, KERNEL, &meter);
	truth->cpu[KERNEL] -= 2 * own;
	truth->cpu[USER] += 2 * own;
	long batches = (part->amount + BATCH - 1) / BATCH;

	add_calls(truth, "mmap", __func__, batches, 0);
	add_calls(truth, "madvise", __func__, batches, 0);
	add_calls(truth, "munmap", __func__, batches, 0);
}

/* Small calls: how much of one is user code is not known. */
OWN void read_little(struct part *part, struct truth *truth)
{
	char data[MESSAGE];
	int zero = open("/dev/zero", O_RDONLY);
	struct meter meter = start();

	for (long i = 0; i < part->amount; i++)
		need(read(zero, data, sizeof(data)) == MESSAGE, "/dev/zero");
	add_piece(truth, EITHER, &meter);
	add_calls(truth, "read", __func__, part->amount, MESSAGE);
	close(zero);
}

OWN void write_little(struct part *part, struct truth *truth)
{
	char data[MESSAGE] = "";
	int null = open("/dev/null", O_WRONLY);
	struct meter meter = start();

	for (long i = 0; i < part->amount; i++)
		need(write(null, data, sizeof(data)) == MESSAGE, "/dev/null");
	add_piece(truth, EITHER, &meter);
	add_calls(truth, "write", __func__, part->amount, MESSAGE);
	close(null);
}

OWN void look_for_nothing(struct part *part, struct truth *truth)
{
	struct meter meter = start();

	for (long i = 0; i < part->amount; i++)
		need(access("/nonexistent/file", R_OK) < 0, "/nonexistent/file");
	add_piece(truth, EITHER, &meter);
	add_calls(truth, "access", __func__, part->amount, -1);
}

OWN void write_line(struct part *part, struct truth *truth)
{
	volatile long *count = &line.counts[(truth - part->workers) % 8];
	struct meter meter = start();

	for (long i = 0; i < part->amount; i++)
		++*count;
	add_piece(truth, USER, &meter);
}

/* ---- waiting for nobody, for a lock, for a disk ---- */

static void sleep_once(struct part *part, struct truth *truth)
{
	sleep_ms(truth, part->amount);
}

OWN void hold_lock(struct part *part, struct truth *truth)
{
	struct meter meter = start();

	burn(part->amount);
	add_piece(truth, USER, &meter);
}

OWN void take_lock(struct part *part, struct truth *truth)
{
	if (pthread_mutex_trylock(&common)) {
		struct meter meter = start();

		pthread_mutex_lock(&common);
		add_wait(truth, "lock", __func__, &meter);
	}
	hold_lock(part, truth);
	pthread_mutex_unlock(&common);
}

OWN void sync_records(struct part *part, struct truth *truth)
{
	static const char record[PAGE];
	int file = open(".", O_TMPFILE | O_RDWR, 0600);

	need(file >= 0, "a file in this directory");
	for (long i = 0; i < part->amount; i++) {
		struct meter meter = start();

		need(pwrite(file, record, PAGE, i * PAGE) == PAGE && fsync(file) == 0, "fsync");
		add_wait(truth, "disk", __func__, &meter);
	}
	add_calls(truth, "pwrite64", __func__, part->amount, PAGE);
	add_calls(truth, "fsync", __func__, part->amount, 0);
	close(file);
}

/* ---- processes ---- */

/* In the child: what it does from its fork on is a process of its own in the book. */
static struct meter begin_child(void)
{
	open_schedstat();
	return start_of_life();
}

static void end_child(const struct meter *life)
{
	int number = atomic_fetch_add(&book->next_process, 1);

	need(number < MAX_PROCESSES, "too many processes");
	end_process(&book->processes[number], life);
	_exit(0);
}

OWN void wait_child(struct truth *truth, pid_t child)
{
	struct meter meter = start();
	int status;

	need(waitpid(child, &status, 0) == child && status == 0, "a child");
	add_wait(truth, "child", __func__, &meter);
}

static void pipe_of_process(struct part *part, struct truth *truth)
{
	struct errand errand = errand_for(part, truth, write_message);

	errand.times = part->amount;
	errand.apart = part->apart;
	open_pipe(&errand);
	pid_t child = fork();

	if (child == 0) {
		struct meter life = begin_child();

		run_errand(&errand);
		end_child(&life);
	}
	need(child > 0, "fork");
	read_pipe(truth, &errand);
	wait_child(truth, child);
	close_both(&errand);
}

static void spin_in_children(struct part *part, int depth)
{
	pid_t children[MAX_THREADS];

	for (int i = 0; i < part->threads; i++) {
		children[i] = fork();
		if (children[i] == 0) {
			struct meter life = begin_child();

			spin(part, &part->workers[i]);
			end_child(&life);
		}
		need(children[i] > 0, "fork");
	}
	for (int i = 0; i < part->threads; i++)
		wait_child(&part->mains[depth], children[i]);
}

/* ---- parts ---- */

static const struct {
	const char *what;
	void (*run)(struct part *part, struct truth *truth);
} kinds[] = {
	{"spin", spin},
	{"join", spin}, /* in a thread of its own even if it is one only */
	{"kernel", read_blocks},
	{"faults", touch_pages},
	{"read", read_little},
	{"write", write_little},
	{"access", look_for_nothing},
	{"line", write_line},
	{"sleep", sleep_once},
	{"lock", take_lock},
	{"fsync", sync_records},
	{"pipe", pipe_of_thread},
	{"feed", pipe_of_process},
	{"socket", wait_socket},
	{"terminal", wait_terminal},
	{"poll", wait_poll},
	{"event", wait_event},
	{"signal", wait_signal},
	{"condition", wait_condition},
	{"barrier", wait_barrier},
	{"semaphore", wait_semaphore},
};

struct work {
	struct part *part;
	struct truth *truth;
	void (*run)(struct part *part, struct truth *truth);
};

static void *worker(void *argument)
{
	struct work *work = argument;

	open_schedstat();
	struct meter life = start_of_life();

	work->run(work->part, work->truth);
	add_life(work->truth, &life);
	close_schedstat();
	return NULL;
}

static void run_workers(struct part *part, const char *what, int depth)
{
	struct work work[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	size_t kind = 0;

	while (kind < sizeof(kinds) / sizeof(*kinds) && strcmp(kinds[kind].what, what) != 0)
		kind++;
	errno = EINVAL;
	need(kind < sizeof(kinds) / sizeof(*kinds), what);
	if (part->threads == 1 && strcmp(what, "join") != 0) {
		kinds[kind].run(part, &part->workers[0]);
		return;
	}
	for (int i = 0; i < part->threads; i++) {
		work[i] = (struct work){part, &part->workers[i], kinds[kind].run};
		need(pthread_create(&threads[i], NULL, worker, &work[i]) == 0, "pthread_create");
	}
	for (int i = 0; i < part->threads; i++)
		join_thread(&part->mains[depth], threads[i]);
}

static void run_part(struct part *part, const char *what, int depth)
{
	if (strcmp(what, "child") == 0) {
		spin_in_children(part, depth);
	} else if (strncmp(what, "child/", 6) == 0 && depth + 1 < MAX_DEPTH) {
		pid_t child = fork();

		if (child == 0) {
			struct meter life = begin_child();

			run_part(part, what + 6, depth + 1);
			end_child(&life);
		}
		need(child > 0, "fork");
		wait_child(&part->mains[depth], child);
	} else {
		run_workers(part, what, depth);
	}
}

static void parse(struct part *part, const char *text)
{
	long second = 1;

	part->text = text;
	errno = EINVAL;
	need(sscanf(text, "%63[^=]=%ld:%ld", part->what, &part->amount, &second) >= 2, text);
	if (strstr(part->what, "pipe") || strstr(part->what, "feed")) {
		part->apart = second;
		second = 1;
	}
	need(second >= 1 && second <= MAX_THREADS, text);
	part->threads = (int) second;
}

int main(int argc, char **argv)
{
	double before = now(CLOCK_PROCESS_CPUTIME_ID);

	book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(book != MAP_FAILED && argc - 1 <= MAX_PARTS, "too many parts");
	open_schedstat();
	struct meter life = start();

	book->next_process = 1;
	for (int i = 1; i < argc; i++) {
		struct part *part = &book->parts[book->parts_n++];

		parse(part, argv[i]);
		double started = now(CLOCK_MONOTONIC);

		run_part(part, part->what, 0);
		part->wall = now(CLOCK_MONOTONIC) - started;
	}
	end_process(&book->processes[0], &life);
	book->processes[0].cpu_before = before;
	book->processes_n = book->next_process;
	print_book(book);
	return 0;
}
