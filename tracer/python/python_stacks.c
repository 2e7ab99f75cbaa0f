/* Which processes have interpreters, and looking at their threads. */
#include "tracer/python/python_stacks.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/u64_map.h"
#include "tracer/python/python_looks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Files of a process that may have an interpreter: the executable and its library. */
enum { MAX_FILES = 4, MAX_WATCHED = 1024 };
/* Of lists that are followed. */
enum { MAX_INTERPRETERS = 16, MAX_THREADS = 256 };
/* While a program starts its memory cannot be read, or is not yet what it will be. */
enum { MAX_ATTEMPTS = 300 };
/* Of all time, what looking takes at most is one part in so many. */
enum { TIME_PART = 10 };

struct candidate {
	uint64_t image, time;
	unsigned attempts;
	char name[64]; /* its base name, or the beginning of it */
};

struct watched {
	uint32_t pid;
	struct candidate files[MAX_FILES];
	size_t n_files;
	uint64_t found_at; /* the time of the file that has the runtime; 0: none was found yet */
	struct python_runtime runtime;
};

struct python_stacks {
	struct watched *items;
	size_t n_items, cap_items;
	struct python_codes *codes;
	struct python_looks *looks;
	struct python_walker walker;
	struct u64_map hint_of; /* by the address of a thread's state, and its process */
	struct python_thread_hint *hints;
	size_t n_hints, cap_hints;
	uint64_t not_before; /* the next look */
	uint64_t n_looks, n_torn;
	bool not_permitted, is_prompt;
	struct python_frame found[PYTHON_MAX_FRAMES];
};

struct python_stacks *python_stacks_create(void)
{
	struct python_stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return NULL;
	stacks->codes = python_codes_create();
	stacks->looks = python_looks_create();
	if (stacks->codes && stacks->looks)
		return stacks;
	python_stacks_destroy(stacks);
	return NULL;
}

void python_stacks_destroy(struct python_stacks *stacks)
{
	if (!stacks)
		return;
	python_codes_destroy(stacks->codes);
	python_looks_destroy(stacks->looks);
	u64_map_deinit(&stacks->hint_of);
	free(stacks->hints);
	free(stacks->items);
	free(stacks);
}

/* --- which processes --- */

static struct watched *find(const struct python_stacks *stacks, uint32_t pid)
{
	for (size_t i = 0; i < stacks->n_items; i++)
		if (stacks->items[i].pid == pid)
			return &stacks->items[i];
	return NULL;
}

static struct watched *get(struct python_stacks *stacks, uint32_t pid)
{
	struct watched *known = find(stacks, pid);
	const struct watched fresh = {.pid = pid};
	if (known)
		return known;
	if (stacks->n_items == MAX_WATCHED ||
	    !rf_array_push(stacks->items, stacks->n_items, stacks->cap_items, fresh))
		return NULL;
	return &stacks->items[stacks->n_items - 1];
}

/* Its last row takes its place. */
static void drop(struct python_stacks *stacks, struct watched *item)
{
	*item = stacks->items[--stacks->n_items];
}

/* Modules written in C ("math.cpython-311-x86_64-linux-gnu.so") have no interpreter. */
static bool may_have_interpreter(const char *name)
{
	return strstr(name, "python") && !strstr(name, ".cpython-");
}

void python_stacks_watch(struct python_stacks *stacks, uint32_t pid, const char *path,
			 uint64_t image, uint64_t time)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	struct candidate file = {.image = image, .time = time};
	struct watched *item = may_have_interpreter(name) ? get(stacks, pid) : NULL;
	if (!item || item->found_at)
		return;
	for (size_t i = 0; i < item->n_files; i++)
		if (item->files[i].image == image)
			return;
	snprintf(file.name, sizeof(file.name), "%s", name);
	if (item->n_files < MAX_FILES)
		item->files[item->n_files++] = file;
}

void python_stacks_fork(struct python_stacks *stacks, uint32_t parent, uint32_t pid, uint64_t time)
{
	const struct watched *from = find(stacks, parent);
	if (!from || pid == parent)
		return;
	struct watched copy = *from;
	copy.pid = pid;
	if (copy.found_at)
		copy.found_at = time;
	for (size_t i = 0; i < copy.n_files; i++) {
		copy.files[i].time = time;
		copy.files[i].attempts = 0;
	}
	struct watched *item = get(stacks, pid);
	if (item && !item->n_files && !item->found_at)
		*item = copy;
}

/* Records of several processors come out of order: what was mapped since then stays. */
void python_stacks_exec(struct python_stacks *stacks, uint32_t pid, uint64_t time)
{
	struct watched *item = find(stacks, pid);
	size_t n = 0;
	if (!item)
		return;
	for (size_t i = 0; i < item->n_files; i++)
		if (item->files[i].time > time)
			item->files[n++] = item->files[i];
	item->n_files = n;
	if (item->found_at <= time)
		item->found_at = 0;
	if (!n && !item->found_at)
		drop(stacks, item);
}

bool python_stacks_watches(const struct python_stacks *stacks)
{
	return stacks->n_items > 0 && !stacks->not_permitted;
}

/* Tries the files; false: the process is gone, or has no interpreter. */
static bool find_runtime(struct python_stacks *stacks, struct watched *item)
{
	size_t n = 0;
	for (size_t i = 0; i < item->n_files; i++) {
		struct candidate *file = &item->files[i];
		const enum python_runtime_result result =
			python_runtime_find((pid_t)item->pid, file->image, file->name,
					    &item->runtime);
		if (result == RUNTIME_FOUND) {
			item->found_at = file->time;
			item->n_files = 0;
			return true;
		}
		if (result == RUNTIME_UNREADABLE && errno == ESRCH)
			return false;
		stacks->not_permitted |=
			result == RUNTIME_UNREADABLE && (errno == EPERM || errno == ENOSYS);
		/* a library that the dynamic linker has yet to relocate has no symbols, either */
		if (++file->attempts < MAX_ATTEMPTS)
			item->files[n++] = *file;
	}
	item->n_files = n;
	return n > 0;
}

/* --- looking --- */

static struct python_thread_hint *get_hint(struct python_stacks *stacks, uint32_t pid,
					   uint64_t thread)
{
	const uint64_t key = (thread ^ (uint64_t)pid << 40) | 1;
	const uint32_t *found = u64_map_find(&stacks->hint_of, key);
	const struct python_thread_hint fresh = {0};
	if (found)
		return &stacks->hints[*found];
	if (stacks->n_hints > MAX_WATCHED * 16) { /* of processes that are gone, most */
		stacks->n_hints = 0;
		u64_map_deinit(&stacks->hint_of);
		stacks->hint_of = (struct u64_map){0};
	}
	if (!u64_map_set(&stacks->hint_of, key, (uint32_t)stacks->n_hints) ||
	    !rf_array_push(stacks->hints, stacks->n_hints, stacks->cap_hints, fresh)) {
		u64_map_remove(&stacks->hint_of, key);
		return NULL;
	}
	return &stacks->hints[stacks->n_hints - 1];
}

/* Whether a thread runs, or waits for nothing but a processor; what sleeps has no samples, which
 * those of the same thread before and after are to be kept from. */
static bool wants_processor(uint32_t pid, uint32_t tid)
{
	static const char running[] = "running";
	char path[64], text[sizeof(running)] = "";
	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", pid, tid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true; /* nobody knows */
	const ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	errno = 0;
	return n <= 0 || strcmp(text, running) == 0;
}

/* Looks at one thread; returns the next one's state, 0 at the end. */
static uint64_t look_at_thread(struct python_stacks *stacks, const struct watched *item,
			       uint64_t thread, uint64_t gil_holder)
{
	struct python_walker *walker = &stacks->walker;
	const struct python_layout *layout = &item->runtime.layout;
	struct python_thread_hint *hint = get_hint(stacks, item->pid, thread);
	size_t n;
	if (!hint)
		return 0;
	const enum python_walk_result result = python_walk(walker, thread, hint, &n);
	if (result == WALK_FAILED)
		return 0;
	const uint64_t tid = python_u64(walker->state, layout->thread_native_id);
	stacks->n_looks++;
	if (result == WALK_TORN)
		stacks->n_torn++;
	else if (tid && tid <= INT32_MAX &&
		 (thread == gil_holder || wants_processor(item->pid, (uint32_t)tid)))
		python_looks_add(stacks->looks, item->pid, (uint32_t)tid, clock_now_ns(),
				 walker->frames, n, thread == gil_holder);
	return python_u64(walker->state, layout->thread_next);
}

/* The state of the thread that has the lock; 0: none has, or it is not known. */
static uint64_t read_gil(const struct watched *item, uint64_t interpreter)
{
	const struct python_layout *layout = &item->runtime.layout;
	const pid_t pid = (pid_t)item->pid;
	uint64_t gil = item->runtime.address + layout->gil, holder = 0;
	int32_t locked = 0;
	struct python_reads reads;
	if (!layout->gil_in_runtime &&
	    !python_read(pid, interpreter + layout->gil, &gil, sizeof(gil)))
		return 0;
	python_reads_begin(&reads);
	python_reads_add(&reads, &holder, gil + layout->gil_holder, sizeof(holder));
	python_reads_add(&reads, &locked, gil + layout->gil_locked, sizeof(locked));
	return python_reads_run(&reads, pid) == 2 && locked == 1 ? holder : 0;
}

static void look_at_process(struct python_stacks *stacks, const struct watched *item)
{
	const struct python_layout *layout = &item->runtime.layout;
	const pid_t pid = (pid_t)item->pid;
	uint64_t interpreter, next, thread;
	struct python_reads reads;
	stacks->walker.pid = pid;
	stacks->walker.runtime = &item->runtime;
	stacks->walker.codes = stacks->codes;
	if (!python_read(pid, item->runtime.address + layout->runtime_interpreters, &interpreter,
			 sizeof(interpreter)))
		return;
	for (int i = 0; interpreter && i < MAX_INTERPRETERS; i++, interpreter = next) {
		python_reads_begin(&reads);
		python_reads_add(&reads, &next, interpreter + layout->interpreter_next,
				 sizeof(next));
		python_reads_add(&reads, &thread, interpreter + layout->interpreter_threads,
				 sizeof(thread));
		if (python_reads_run(&reads, pid) != 2)
			return;
		const uint64_t holder = read_gil(item, interpreter);
		for (int t = 0; thread && t < MAX_THREADS; t++)
			thread = look_at_thread(stacks, item, thread, holder);
	}
}

void python_stacks_look(struct python_stacks *stacks)
{
	if (!stacks->is_prompt && stacks->n_items)
		thread_wake_promptly();
	stacks->is_prompt |= stacks->n_items > 0;
	const uint64_t begin = clock_thread_ns();
	if (clock_now_ns() < stacks->not_before || stacks->not_permitted)
		return;
	for (size_t i = stacks->n_items; i-- > 0;) {
		struct watched *item = &stacks->items[i];
		errno = 0;
		if (!item->found_at && !find_runtime(stacks, item)) {
			drop(stacks, item);
			continue;
		}
		errno = 0;
		if (item->found_at)
			look_at_process(stacks, item);
		if (errno == ESRCH)
			drop(stacks, item);
	}
	/* what the looks took, not what they waited for a processor of others */
	stacks->not_before = clock_now_ns() + (TIME_PART - 1) * (clock_thread_ns() - begin);
}

/* --- asking --- */

void python_stacks_forget(struct python_stacks *stacks, uint64_t time)
{
	python_looks_forget(stacks->looks, time);
}

void python_stacks_ran(struct python_stacks *stacks, uint32_t pid, uint32_t tid, uint64_t from,
		       uint64_t to)
{
	python_looks_ran(stacks->looks, pid, tid, from, to);
}

size_t python_stacks_find(struct python_stacks *stacks, uint32_t pid, uint32_t tid, uint64_t time,
			  uint64_t within_ns, const struct python_frame **frames, bool *holds_gil)
{
	*frames = stacks->found;
	return python_looks_find(stacks->looks, pid, tid, time, within_ns, stacks->found,
				 holds_gil);
}

const struct python_function *python_stacks_function(const struct python_stacks *stacks,
						     uint32_t function)
{
	return python_codes_function(stacks->codes, function);
}

void python_stacks_counts(const struct python_stacks *stacks, uint64_t *looks, uint64_t *torn)
{
	*looks = stacks->n_looks;
	*torn = stacks->n_torn;
}

const char *python_stacks_refused(const struct python_stacks *stacks)
{
	return stacks->not_permitted ? "process_vm_readv is not permitted here" : NULL;
}
