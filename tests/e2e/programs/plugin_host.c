/* Opens libraries while it runs, calls the kernel in each of them, and times each call itself.
 * Usage: plugin_host HOW CALLS TURNS PAUSE_MS LIBRARY [LIBRARY...]
 *
 * Each library (plugin_kernel.c) is opened, its kernel is called CALLS times, PAUSE_MS later, and it
 * is closed; the next one comes to other addresses, also where it is the same.  HOW: plain: one
 * thread calls.  threads: three threads that were there before do, at once.  fork: a child that is
 * forked behind the opening does, too.
 *
 * Writes to standard error: "calls N sum S median M", in s, by clock_gettime(2), and "at ADDRESS"
 * for each kernel. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3 };

static int calls, turns;
static double (*kernel)(int turns);
static double *times;
static size_t n_times;
static pthread_barrier_t opened, called;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest(int ms)
{
	const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
	nanosleep(&time, NULL);
}

static void call_all(void)
{
	for (int i = 0; i < calls; i++) {
		const double begin = now();
		(void)kernel(turns);
		const double time = now() - begin;
		pthread_mutex_lock(&lock);
		times[n_times++] = time;
		pthread_mutex_unlock(&lock);
	}
}

static void *thread(void *context)
{
	for (int i = *(const int *)context; i > 0; i--) {
		pthread_barrier_wait(&opened);
		call_all();
		pthread_barrier_wait(&called);
	}
	return NULL;
}

/* Where a library was, nothing else comes. */
static void close_for_ever(void *library, const char *path)
{
	struct {
		unsigned long start, end;
	} pieces[32];
	int n = 0;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && n < 32 && fgets(line, sizeof(line), maps))
		n += strstr(line, path) && sscanf(line, "%lx-%lx", &pieces[n].start, &pieces[n].end) == 2;
	if (maps)
		fclose(maps);
	dlclose(library);
	for (int i = 0; i < n; i++)
		mmap((void *)pieces[i].start, pieces[i].end - pieces[i].start, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void use(const char *how, int pause, const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	if (!library)
		exit(3);
	kernel = (double (*)(int))dlsym(library, "kernel_plugged");
	fprintf(stderr, "at %p\n", (void *)kernel);
	rest(pause);
	if (!strcmp(how, "threads")) {
		pthread_barrier_wait(&opened);
		pthread_barrier_wait(&called);
	} else {
		const pid_t child = strcmp(how, "fork") ? -1 : fork();
		call_all();
		if (!child)
			_exit(0);
		if (child > 0)
			waitpid(child, NULL, 0);
	}
	close_for_ever(library, path);
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	const char *how = argv[1];
	int n_libraries = argc - 5;
	calls = atoi(argv[2]);
	turns = atoi(argv[3]);
	times = calloc((size_t)(calls * n_libraries * THREADS), sizeof(double));
	pthread_t ids[THREADS];
	pthread_barrier_init(&opened, NULL, THREADS + 1);
	pthread_barrier_init(&called, NULL, THREADS + 1);
	for (int i = 0; !strcmp(how, "threads") && i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, thread, &n_libraries))
			return 1;
	for (int i = 0; i < n_libraries; i++)
		use(how, atoi(argv[4]), argv[5 + i]);
	for (int i = 0; !strcmp(how, "threads") && i < THREADS; i++)
		pthread_join(ids[i], NULL);
	double sum = 0;
	for (size_t i = 0; i < n_times; i++)
		sum += times[i];
	qsort(times, n_times, sizeof(double), compare);
	fprintf(stderr, "calls %zu sum %.9f median %.9f\n", n_times, sum, n_times ? times[n_times / 2] : 0);
	return 0;
}
