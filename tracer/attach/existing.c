/* From /proc (proc(5)). */
#include "tracer/attach/existing.h"

#include "base/small_file.h"
#include "profile/profile.h"
#include "tracer/process/program_memory.h"
#include "tracer/timed/sample_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COMMAND = 1 << 21 }; /* ARG_MAX */

static struct perf_record record_of(uint32_t type, pid_t pid, pid_t tid, uint64_t time)
{
	return (struct perf_record){
		.type = type, .pid = (uint32_t)pid, .tid = (uint32_t)tid, .time = time};
}

static void tell_name(struct sampler *sampler, pid_t pid, pid_t tid, uint64_t time)
{
	char directory[64], name[64];
	struct perf_record record = record_of(PERF_RECORD_COMM, pid, tid, time);
	snprintf(directory, sizeof(directory), "/proc/%d/task/%d", (int)pid, (int)tid);
	(void)small_file_line(directory, "comm", name, sizeof(name));
	record.path = name;
	if (pid == tid) /* it begins here, as far as is known */
		record.misc = PERF_RECORD_MISC_COMM_EXEC;
	sample_log_record(sampler, &record);
}

/* Field 3 of its stat: behind the last parenthesis, since a name may have some. */
static bool sleeps(pid_t pid, pid_t tid)
{
	char directory[64], line[1024];
	snprintf(directory, sizeof(directory), "/proc/%d/task/%d", (int)pid, (int)tid);
	(void)small_file_line(directory, "stat", line, sizeof(line));
	const char *end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] != 'R';
}

static void tell_thread(struct sampler *sampler, pid_t pid, pid_t tid, uint64_t time)
{
	if (tid != pid) {
		struct perf_record born = record_of(PERF_RECORD_FORK, pid, tid, time);
		born.parent_pid = born.parent_tid = (uint32_t)pid;
		sample_log_record(sampler, &born);
	}
	tell_name(sampler, pid, tid, time);
	struct perf_record state = record_of(PERF_RECORD_SWITCH, pid, tid, time);
	state.misc = sleeps(pid, tid) ? PERF_RECORD_MISC_SWITCH_OUT : 0;
	sample_log_record(sampler, &state);
}

static void tell_mappings(struct sampler *sampler, pid_t pid, uint64_t time)
{
	struct program_memory memory;
	program_memory_init_regions(&memory, pid, NULL, NULL);
	for (size_t i = 0; i < memory.n_regions; i++) {
		const struct memory_region *region = &memory.regions[i];
		struct perf_record record = record_of(PERF_RECORD_MMAP2, pid, pid, time);
		record.start = region->start;
		record.length = region->end - region->start;
		record.file_offset = region->file_offset;
		record.path = *region->path ? region->path : "//anon";
		record.has_inode = true;
		record.major = region->major;
		record.minor = region->minor;
		record.inode = region->inode;
		if (region->executable)
			sample_log_record(sampler, &record);
	}
	program_memory_deinit(&memory);
}

void existing_tell(struct sampler *sampler, pid_t pid, const pid_t *tids, size_t n, uint64_t time)
{
	tell_thread(sampler, pid, pid, time);
	tell_mappings(sampler, pid, time);
	for (size_t i = 0; i < n; i++)
		if (tids[i] != pid)
			tell_thread(sampler, pid, tids[i], time);
}

/* ---- the command ---- */

static char *read_command(pid_t pid, size_t *size)
{
	char path[64], *text = malloc(MOST_COMMAND);
	ssize_t n = 0;
	*size = 0;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (text && fd >= 0 && *size < MOST_COMMAND - 1 &&
	       (n = read(fd, text + *size, MOST_COMMAND - 1 - *size)) > 0)
		*size += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (text)
		text[*size] = '\0';
	return text;
}

char **existing_command(pid_t pid)
{
	size_t size, n = 0;
	char *text = read_command(pid, &size);
	if (!text || !size) {
		free(text);
		return NULL;
	}
	for (size_t i = 0; i <= size; i++)
		n += !text[i];
	char **words = malloc((n + 1) * sizeof(*words) + size + 1);
	char *copy = words ? (char *)(words + n + 1) : NULL;
	size_t k = 0;
	if (words)
		memcpy(copy, text, size + 1);
	for (size_t i = 0; words && i < size; i += strlen(copy + i) + 1)
		words[k++] = copy + i;
	if (words)
		words[k] = NULL;
	free(text);
	return words;
}
