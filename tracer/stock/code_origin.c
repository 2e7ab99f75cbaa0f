/* Finds out what translated code depends on but for the bytes that it was translated from, which
 * are compared where it is used (tracer/translate/inherit.h). */
#include "tracer/stock/code_origin.h"

#include "insn/decode.h"
#include "tracer/process/file_headers.h"
#include "tracer/process/own_file.h"

#include <cpuid.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* ---- rfprof and the processor ---- */

/* rfprof's build id in hex; "" where it was linked without one: then its file must do (kept_store).
 */
static void write_build_id(FILE *to)
{
	struct file_headers headers;
	const int fd = open(own_file(), O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && file_headers_read(fd, &headers)) {
		for (size_t i = 0; i < headers.build_id_size; i++)
			fprintf(to, "%02x", headers.build_id[i]);
		free(headers.segments);
	}
	if (fd >= 0)
		close(fd);
}

/* Model and features, of which the translator looks at a few, and decoded instructions at more. */
static void write_processor(FILE *to)
{
	unsigned eax, ebx, ecx, edx;
	if (__get_cpuid(0, &eax, &ebx, &ecx, &edx))
		fprintf(to, " %x%x%x", ebx, ecx, edx);
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) /* ebx: which processor it is */
		fprintf(to, " %x %x %x", eax, ecx, edx);
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		fprintf(to, " %x %x %x", ebx, ecx, edx);
	fprintf(to, " %lx %d %d %d", getauxval(AT_HWCAP2), !!__builtin_cpu_supports("avx"),
		!!__builtin_cpu_supports("avx512f"), !!__builtin_cpu_supports("avx512bw"));
}

char *code_maker(void)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	if (!to)
		return NULL;
	write_build_id(to);
	fprintf(to, " %" PRIx64, decode_version());
	write_processor(to);
	const bool failed = ferror(to);
	if (fclose(to) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}

/* ---- the program ---- */

/* Heap; NULL where no file of that name is what runs. */
static char *path_of(const char *link, const struct stat *status)
{
	char path[PATH_MAX];
	struct stat there;
	const ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return NULL;
	path[n] = '\0';
	if (stat(path, &there) != 0 || there.st_dev != status->st_dev ||
	    there.st_ino != status->st_ino)
		return NULL;
	return strdup(path);
}

bool code_origin_of_process(struct code_origin *origin, pid_t pid)
{
	char link[64];
	struct stat status;
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	if (stat(link, &status) < 0)
		return false;
	*origin = (struct code_origin){
		.program = (uint64_t)status.st_dev << 40 ^ status.st_ino ?: 1,
		.path = path_of(link, &status),
		.stamp = file_stamp_of(&status),
	};
	return true;
}

void code_origin_deinit(struct code_origin *origin)
{
	free(origin->path);
	*origin = (struct code_origin){0};
}

bool code_origin_key(const struct code_origin *origin, const char *maker, enum kept_kind kind,
		     struct kept_key *key)
{
	if (!origin->path)
		return false;
	*key = (struct kept_key){origin->path, maker, origin->stamp, kind};
	return true;
}
