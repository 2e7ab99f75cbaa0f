/* Samples by the preloaded shim, for systems that refuse perf_event_open: see
 * preload/shim_protocol.h for the shared file and preload/shim_timer.c for the timers. */
#include "base/clock.h"
#include "preload/shim_protocol.h"
#include "tracer/perf/perf_ring.h"
#include "tracer/process/own_file.h"
#include "tracer/timed/sample_log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Shorter than a tick of any usual kernel (CONFIG_HZ up to 1000): one sample a tick. */
enum { INTERVAL_NS = 250000 };
enum { STACK_BYTES = 4096 };

/* A ring holds some 60 samples with full stacks: 60 ms at 1,000 ticks a second. */
enum { POLL_MS = 10, ROUNDS_PER_REAP = 50 };

/* Real-time signals are given out from SIGRTMIN up; one near the other end is seldom taken.  Where
 * the program uses it nevertheless the shim keeps both apart. */
enum { SIGNAL_BELOW_MAX = 3 };

struct timer_sampler {
	struct sampler base;
	int file;    /* memfd, open until the end: programs open it by its path in /proc */
	int library; /* so is the library where LD_PRELOAD cannot have its name; else -1 */
	struct shim_header *header;
	char **environment;
	char *preload, *variable;
	uint64_t lost_seen[SHIM_SLOTS];
	struct perf_ring ring;
};

/* --- the shared file --- */

static int choose_signal(void)
{
	const char *given = getenv("RFPROF_TIMER_SIGNAL");
	int number = given ? atoi(given) : 0;
	return number >= SIGRTMIN && number <= SIGRTMAX ? number : SIGRTMAX - SIGNAL_BELOW_MAX;
}

static struct rf_error *make_file(struct timer_sampler *sampler)
{
	sampler->file = memfd_create("rfprof-samples", MFD_CLOEXEC);
	if (sampler->file < 0 || ftruncate(sampler->file, (off_t)SHIM_FILE_SIZE) != 0)
		return rf_error_errno(RF_EUNAVAILABLE, errno, NULL,
				      "cannot make a file in memory for samples");
	void *mapping =
		mmap(NULL, SHIM_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, sampler->file, 0);
	if (mapping == MAP_FAILED)
		return rf_error_errno(RF_EUNAVAILABLE, errno, "see ulimit -v",
				      "cannot map the file for samples");
	sampler->header = mapping;
	*sampler->header = (struct shim_header){
		.version = SHIM_PROTOCOL_VERSION,
		.signal = (uint32_t)choose_signal(),
		.interval_ns = INTERVAL_NS,
		.stack_bytes = STACK_BYTES,
	};
	return NULL;
}

static struct shim_slot *slot_at(const struct timer_sampler *sampler, unsigned number)
{
	return (struct shim_slot *)((uint8_t *)sampler->header + SHIM_PAGE +
				    (size_t)number * SHIM_SLOT_SIZE);
}

/* --- reading --- */

static void take_record(void *opaque, const void *bytes, size_t size)
{
	struct timer_sampler *sampler = opaque;
	struct perf_record record;
	if (perf_record_parse(bytes, size, &record))
		sample_log_record(&sampler->base, &record);
	else
		sample_log_lost(sampler->base.log, 1);
}

static void read_slot(struct timer_sampler *sampler, unsigned number)
{
	struct shim_slot *slot = slot_at(sampler, number);
	struct perf_ring *ring = &sampler->ring;
	ring->head = &slot->head;
	ring->tail = &slot->tail;
	ring->data = (const uint8_t *)slot + SHIM_PAGE;
	ring->size = SHIM_RING_SIZE;
	ring->shared = true;
	perf_ring_read(ring, take_record, sampler);
	uint64_t lost = __atomic_load_n(&slot->lost, __ATOMIC_RELAXED);
	sample_log_lost(sampler->base.log, lost - sampler->lost_seen[number]);
	sampler->lost_seen[number] = lost;
}

static void free_slot(struct shim_slot *slot)
{
	/* A process that lives after all must not write any more. */
	__atomic_fetch_add(&slot->generation, 1, __ATOMIC_ACQ_REL);
	__atomic_store_n(&slot->state, SHIM_SLOT_FREE, __ATOMIC_RELEASE);
}

/* Reads all rings.  `reap`: look for slots whose process has ended without a word. */
static void read_slots(struct timer_sampler *sampler, bool reap)
{
	/* Slots are given out from the first up: behind one that was never used there is none. */
	for (unsigned i = 0; i < SHIM_SLOTS; i++) {
		struct shim_slot *slot = slot_at(sampler, i);
		uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
		uint32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);
		if (state == SHIM_SLOT_FREE && !pid)
			return;
		if (state == SHIM_SLOT_FREE)
			continue;
		bool dead = reap && pid && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
		read_slot(sampler, i);
		if (state == SHIM_SLOT_CLOSED || dead)
			free_slot(slot);
	}
}

static void *read_rings(void *opaque)
{
	struct timer_sampler *sampler = opaque;
	struct pollfd stop = {sampler->base.stop, POLLIN, 0};
	for (unsigned round = 1; !(stop.revents & POLLIN); round++) {
		poll(&stop, 1, POLL_MS);
		uint64_t before = clock_now_ns();
		read_slots(sampler, round % ROUNDS_PER_REAP == 0);
		sample_log_complete_until(&sampler->base, before);
	}
	return NULL;
}

/* --- the library to preload --- */

static struct rf_error *found(const char *candidate, char **path)
{
	*path = strdup(candidate);
	return *path ? NULL : rf_error_no_memory();
}

/* Looks for `name` in the folder of this program and the two above. */
static bool find_above(const char *name, char *candidate, size_t size)
{
	char folder[PATH_MAX];
	if (!realpath(own_file(), folder))
		return false;
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(folder, '/');
		if (!slash)
			return false;
		*slash = '\0';
		snprintf(candidate, size, "%s/%s", folder, name);
		if (access(candidate, R_OK) == 0)
			return true;
	}
	return false;
}

/* Finds librfprof_shim.so: $RFPROF_SHIM, else in this program's build folder (preload/ in one of
 * the folders above it), else where both are installed, which may have been moved.  *path is for
 * free(). */
static struct rf_error *find_shim(char **path)
{
	char candidate[4200];
	const char *given = getenv("RFPROF_SHIM");
	if (given && *given)
		return found(given, path);
	if (find_above("preload/librfprof_shim.so", candidate, sizeof(candidate)) ||
	    find_above(SHIM_BELOW_PREFIX, candidate, sizeof(candidate)))
		return found(candidate, path);
	return rf_error_create(RF_EUNAVAILABLE, "set RFPROF_SHIM to its path",
			       "there is no " SHIM_BELOW_PREFIX " beside rfprof");
}

/* --- the environment --- */

static size_t find_variable(char **environment, const char *prefix)
{
	size_t i = 0;
	while (environment[i] && strncmp(environment[i], prefix, strlen(prefix)) != 0)
		i++;
	return i;
}

/* The name to preload the library by.  Blanks and colons would end it (ld.so(8)): such a library is
 * opened by its descriptor's path.  NULL: it cannot be opened. */
static const char *preloadable(struct timer_sampler *sampler, const char *shim,
			       char buffer[static PATH_MAX])
{
	if (!strpbrk(shim, " :"))
		return shim;
	if (sampler->library < 0)
		sampler->library = open(shim, O_RDONLY | O_CLOEXEC);
	snprintf(buffer, PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), sampler->library);
	return sampler->library < 0 ? NULL : buffer;
}

/* The entries LD_PRELOAD (ours first, then the user's) and RFPROF_TIMER. */
static bool make_variables(struct timer_sampler *sampler, const char *shim, const char *users)
{
	char buffer[PATH_MAX];
	const char *name = preloadable(sampler, shim, buffer);
	if (!name || asprintf(&sampler->preload, "LD_PRELOAD=%s%s%s", name, users ? ":" : "",
			      users ? users : "") < 0)
		sampler->preload = NULL;
	if (asprintf(&sampler->variable, SHIM_ENVIRONMENT "=%d:/proc/%d/fd/%d", users != NULL,
		     (int)getpid(), sampler->file) < 0)
		sampler->variable = NULL;
	return sampler->preload && sampler->variable;
}

static char **timer_environment(struct sampler *base, char **envp)
{
	static const char PRELOAD[] = "LD_PRELOAD=";
	struct timer_sampler *sampler = (struct timer_sampler *)base;
	size_t n = 0, at = find_variable(envp, PRELOAD);
	while (envp[n])
		n++;
	char *shim = NULL;
	struct rf_error *error = find_shim(&shim);
	if (error) { /* probe has said so */
		rf_error_destroy(error);
		return NULL;
	}
	bool done = make_variables(sampler, shim, at < n ? envp[at] + strlen(PRELOAD) : NULL);
	free(shim);
	sampler->environment = done ? calloc(n + 3, sizeof(char *)) : NULL;
	if (!sampler->environment)
		return NULL;
	memcpy(sampler->environment, envp, n * sizeof(char *));
	sampler->environment[at] = sampler->preload;
	sampler->environment[at == n ? n + 1 : n] = sampler->variable;
	return sampler->environment;
}

/* --- the table of functions --- */

static struct rf_error *timer_probe(void)
{
	char *path;
	struct rf_error *error = find_shim(&path);
	if (!error)
		free(path);
	return error;
}

static void timer_destroy(struct sampler *base);

static struct sampler *timer_create_sampler(struct profile *profile, struct kept_store *kept)
{
	struct timer_sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return NULL;
	sampler->file = sampler->library = -1;
	const bool made = sampler_init(&sampler->base, profile, kept);
	struct rf_error *error = make_file(sampler);
	if (made && !error)
		return &sampler->base;
	rf_error_destroy(error);
	timer_destroy(&sampler->base);
	return NULL;
}

/* Children still load the library, and with first_only are not listened to. */
static struct rf_error *timer_start(struct sampler *base, pid_t pid)
{
	return sampler_start_reader(base, pid, read_rings);
}

static struct rf_error *timer_finish(struct sampler *base)
{
	struct timer_sampler *sampler = (struct timer_sampler *)base;
	sampler_stop_reader(base);
	read_slots(sampler, false);
	sample_log_lost(sampler->base.log, sampler->ring.broken);
	struct rf_error *error = sample_log_finish(base, sampler_timer.name, 0);
	const uint32_t unsampled = __atomic_load_n(&sampler->header->unsampled, __ATOMIC_RELAXED);
	if (!error) /* the program can write anything there */
		profile_set_fact(base->profile, "unsampled_threads", "%u",
				 unsampled < INT_MAX ? unsampled : INT_MAX);
	return error;
}

static void timer_destroy(struct sampler *base)
{
	struct timer_sampler *sampler = (struct timer_sampler *)base;
	if (!sampler)
		return;
	sampler_deinit(base);
	if (sampler->header)
		munmap(sampler->header, SHIM_FILE_SIZE);
	if (sampler->file >= 0)
		close(sampler->file);
	if (sampler->library >= 0)
		close(sampler->library);
	free(sampler->environment);
	free(sampler->preload);
	free(sampler->variable);
	free(sampler);
}

const struct sampler_ops sampler_timer = {
	.name = "shim timer",
	.probe = timer_probe,
	.environment = timer_environment,
	.start = timer_start,
	.finish = timer_finish,
	.destroy = timer_destroy,
	.create = timer_create_sampler,
};
