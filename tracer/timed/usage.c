/* Reads the small files of /proc about a process. */
#include "tracer/timed/usage.h"

#include "base/small_file.h"
#include "tracer/span/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of many processes the last ones are looked at. */
enum { WATCHED = 16 };

/* How long a process that is to wait is waited for. */
enum { MOST_RESTS = 100, REST_US = 500 };

struct usage_memory {
	pid_t pids[WATCHED]; /* 0: none */
	unsigned next;
	uint64_t peak_kib;
};

static bool field(const char *path, const char *name, uint64_t *value)
{
	char text[64], *end;
	if (!small_file_field("", path, name, text, sizeof(text)))
		return false;
	*value = strtoull(text, &end, 10);
	return end != text;
}

/* It has told that it will wait, but may not have come to that: while it stands in the run queue,
 * its sum lacks the time that it does so. */
static void await_rest(pid_t pid)
{
	char state[32];
	for (int i = 0; i < MOST_RESTS; i++) {
		if (!small_file_status(pid, "State", state, sizeof(state)) || *state != 'R')
			return;
		usleep(REST_US);
	}
}

void usage_at_start(pid_t pid, struct usage *usage)
{
	await_rest(pid);
	(void)kernel_sums_of_thread((uint32_t)pid, (uint32_t)pid, &usage->before);
}

void usage_at_end(pid_t pid, struct usage *usage)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	usage->has_bytes = field(path, "rchar", &usage->read_bytes) &&
			   field(path, "wchar", &usage->written_bytes);
	usage->calls = progress_calls(pid);
	usage->has_sums = kernel_sums_of_thread((uint32_t)pid, (uint32_t)pid, &usage->sums);
	usage->process_ns = kernel_sums_ran(pid);
}

struct usage_memory *usage_memory_create(void)
{
	return calloc(1, sizeof(struct usage_memory));
}

void usage_memory_destroy(struct usage_memory *memory)
{
	free(memory);
}

void usage_memory_watch(struct usage_memory *memory, pid_t pid)
{
	for (unsigned i = 0; i < WATCHED; i++)
		if (memory->pids[i] == pid)
			return;
	memory->pids[memory->next++ % WATCHED] = pid;
}

void usage_memory_look(struct usage_memory *memory)
{
	for (unsigned i = 0; i < WATCHED; i++) {
		char value[64];
		if (!memory->pids[i])
			continue;
		const bool lives =
			small_file_status(memory->pids[i], "VmHWM", value, sizeof(value));
		const uint64_t kib = lives ? strtoull(value, NULL, 10) : 0;
		if (!lives)
			memory->pids[i] = 0;
		else if (kib > memory->peak_kib)
			memory->peak_kib = kib;
	}
}

uint64_t usage_memory_peak(const struct usage_memory *memory)
{
	return memory->peak_kib * 1024;
}
