/* Fuzz target: an arbitrary file as a module of a profile.  Whatever it holds, symbols are found
 * without harm, never overlap, and stacks are walked through it without harm.  Built with
 * -fsanitize=fuzzer, or as a plain program with replay.c over a folder of inputs. */
#include "symbols/elf_file.h"
#include "symbols/symbols.h"
#include "symbols/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* As the reader of a module does. */
static struct rf_error *open_module(const char *path, struct symbol_module **out)
{
	int fd;
	return elf_file_descriptor(path, &fd) ?: symbol_module_read(path, fd, NULL, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROBES = 64, STACK_WORDS = 64 };

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* Asks all over the executable segments, forwards; answers are ranges that do not overlap. */
static void probe_symbols(struct symbol_module *module, const struct elf_segment *segment)
{
	for (uint64_t i = 0; i < PROBES && i < segment->memory_size; i++) {
		uint64_t step = segment->memory_size / PROBES;
		uint64_t at = segment->vaddr + i * (step ? step : 1);
		struct symbol symbol, edge;
		require(symbol_find(module, at, &symbol));
		require(symbol.start <= at && at < symbol.end && symbol.name && symbol.file);
		require(symbol_find(module, symbol.start, &edge) && edge.start == symbol.start);
		require(symbol_find(module, symbol.end - 1, &edge) && edge.end == symbol.end);
		uint64_t end;
		(void)symbol_inlined(module, at, &end);
		require(end > at);
	}
}

/* Executable segments that share addresses make no sense, and promise nothing. */
static bool segments_overlap(const struct elf_file *file)
{
	for (size_t i = 0; i < file->n_segments; i++)
		for (size_t j = 0; j < i; j++)
			if (file->segments[i].vaddr <
				    file->segments[j].vaddr + file->segments[j].memory_size &&
			    file->segments[j].vaddr <
				    file->segments[i].vaddr + file->segments[i].memory_size)
				return true;
	return false;
}

/* Walks from everywhere, over a stack that leads back into the file. */
static void probe_unwinding(const char *path, const struct elf_segment *segment)
{
	struct unwinder *unwinder = unwinder_create();
	struct unwind_mapping mapping = {0x10000000, 0x10000000 + segment->memory_size,
					 segment->offset, path};
	uint64_t stack[STACK_WORDS], addresses[32];
	if (!unwinder || segment->memory_size > UINT32_MAX)
		mapping.end = mapping.start + 0x1000;
	uint64_t length = mapping.end - mapping.start;
	for (size_t i = 0; length && i < PROBES; i++) {
		struct unwind_regs regs = {.ip = mapping.start + length / PROBES * i,
					   .sp = 0x7fff0000,
					   .bp = 0x7fff0010};
		for (size_t j = 0; j < STACK_WORDS; j++)
			stack[j] = j % 3 ? mapping.start + (i * j * 37) % length : regs.sp + 8 * j;
		size_t n = unwinder_walk(unwinder, &regs, (const uint8_t *)stack, sizeof(stack),
					 &mapping, 1, addresses, 32);
		require(n >= 1 && n <= 32 && addresses[0] == regs.ip);
	}
	unwinder_destroy(unwinder);
}

static void probe_file(const char *path, struct symbol_module *module)
{
	struct elf_file file;
	require(!elf_file_open(path, &file));
	bool overlap = segments_overlap(&file);
	for (size_t i = 0; i < file.n_segments; i++) {
		const struct elf_segment *segment = &file.segments[i];
		elf_file_vaddr(&file, segment->offset);
		if (!segment->executable || !segment->memory_size)
			continue;
		if (!overlap)
			probe_symbols(module, segment);
		probe_unwinding(path, segment);
	}
	elf_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz_elf", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct symbol_module *module;
	struct rf_error *error = open_module(path, &module);
	if (!error) {
		require(strlen(symbol_module_build_id(module)) % 2 == 0);
		probe_file(path, module);
		symbol_module_close(module);
	}
	rf_error_destroy(error);
	close(fd);
	return 0;
}
