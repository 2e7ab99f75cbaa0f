#include "base/array.h"
#include "names/resolve.h"
#include "symbols/elf_file.h"

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

/* As the reader of a module does. */
static struct rf_error *open_module(const char *path, struct symbol_module **out)
{
	int fd;
	return elf_file_descriptor(path, &fd) ?: symbol_module_read(path, fd, NULL, out);
}

static struct symbol_module *open_path(const char *path)
{
	struct symbol_module *module = NULL;
	cr_assert_null(open_module(path, &module));
	return module;
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static uint32_t add_module(struct profile *profile, const char *path, const char *build_id)
{
	const char *slash = strrchr(path, '/');
	struct profile_module module = {strdup(path), strdup(slash ? slash + 1 : path),
					strdup(build_id)};
	cr_assert(
		rf_array_push(profile->modules, profile->n_modules, profile->cap_modules, module));
	return profile->n_modules - 1;
}

static void add_block(struct profile *profile, uint32_t module, uint64_t start)
{
	struct profile_block block = {module, start, 1, NULL};
	cr_assert(rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks, block));
}

static void add_frame(struct profile *profile, uint32_t module, uint64_t offset)
{
	struct profile_frame frame = {PROFILE_NONE, module, offset};
	cr_assert(rf_array_push(profile->frames, profile->n_frames, profile->cap_frames, frame));
}

static size_t functions_with(const struct profile *profile, uint32_t module, uint64_t offset,
			     const struct profile_function **found)
{
	size_t n = 0;
	for (size_t i = 0; i < profile->n_functions; i++) {
		const struct profile_function *function = &profile->functions[i];
		if (function->module == module && offset >= function->start &&
		    offset < function->end) {
			n++;
			*found = function;
		}
	}
	return n;
}

Test(resolve, gives_each_place_one_function)
{
	struct profile *profile = profile_create();
	const char *libm = "/lib/x86_64-linux-gnu/libm.so.6";
	uint32_t good = add_module(profile, libm, "");
	uint32_t changed = add_module(profile, libm, "00112233");
	uint32_t gone = add_module(profile, "/nonexistent/libgone.so", "");
	uint32_t jit = add_module(profile, "[jit]", "");
	struct symbol_module *symbols = open_path(libm);
	uint64_t text = 0;
	struct symbol symbol;
	while (!symbol_find(symbols, text, &symbol))
		text += 4096;
	for (uint64_t at = text; symbol_find(symbols, at, &symbol); at += 37)
		add_block(profile, good, at);
	add_frame(profile, good, text + 5);
	add_frame(profile, good, 1); /* outside every executable segment */
	add_block(profile, changed, 0x12345);
	add_frame(profile, gone, 0x2fff);
	add_block(profile, gone, 0x2000);
	add_block(profile, gone, 0x3000);
	add_block(profile, jit, 0x7f0000001234);
	cr_assert_null(names_resolve(profile, &(struct resolve_options){0}));

	const struct profile_function *function;
	for (size_t i = 0; i < profile->n_blocks; i++) {
		uint64_t start = profile->blocks[i].start;
		cr_assert_eq(functions_with(profile, profile->blocks[i].module, start, &function),
			     1);
		if (profile->blocks[i].module != good)
			continue;
		cr_assert(symbol_find(symbols, start, &symbol));
		cr_expect_eq(function->start, symbol.start);
		cr_expect_eq(function->end, symbol.end);
		cr_expect_str_eq(function->name, symbol.name);
	}
	for (size_t i = 1; i < profile->n_functions; i++) {
		const struct profile_function *pair = &profile->functions[i - 1];
		cr_expect(pair[0].module != pair[1].module || pair[0].end <= pair[1].start);
	}
	cr_assert_eq(functions_with(profile, good, 1, &function), 1);
	cr_expect_str_eq(function->name, "[libm.so.6]+0x0");
	cr_assert_eq(functions_with(profile, changed, 0x12345, &function), 1);
	cr_expect_str_eq(function->name, "[libm.so.6]+0x12000");
	cr_assert_eq(functions_with(profile, gone, 0x2fff, &function), 1);
	cr_expect_str_eq(function->name, "[libgone.so]+0x2000");
	cr_expect_eq(function->end, 0x3000);
	cr_assert_eq(functions_with(profile, jit, 0x7f0000001234, &function), 1);
	cr_expect_str_eq(function->name, "[jit]+0x7f0000001000");
	symbol_module_close(symbols);
	profile_destroy(profile);
}

Test(resolve, finds_the_vdso_wherever_it_was)
{
	const void *image;
	size_t size;
	struct symbol_module *symbols;
	if (!vdso_image(&image, &size))
		cr_skip_test("no vdso here");
	cr_assert_null(symbol_module_open_image("[vdso]", image, size, &symbols));
	struct symbol wanted = {0};
	for (uint64_t at = 0; at < size; at++)
		if (symbol_find(symbols, at, &wanted) && strstr(wanted.name, "clock_gettime"))
			break;
	cr_assert(strstr(wanted.name, "clock_gettime"));

	struct profile *profile = profile_create();
	uint32_t module = add_module(profile, "[vdso]", "");
	static const uint64_t bases[] = {0x7ffd12345000, 0x7ffeabcde000};
	for (int i = 0; i < 2; i++)
		for (uint64_t at = wanted.start; at < wanted.end; at += 8) {
			add_block(profile, module, bases[i] + at);
			profile->blocks[profile->n_blocks - 1].bytes = (uint8_t *)image + at;
		}
	cr_assert_null(names_resolve(profile, &(struct resolve_options){0}));
	for (int i = 0; i < 2; i++) {
		const struct profile_function *function;
		cr_assert_eq(functions_with(profile, module, bases[i] + wanted.start, &function),
			     1);
		cr_expect_str_eq(function->name, wanted.name);
		cr_expect_eq(function->start, bases[i] + wanted.start);
		cr_expect_eq(function->end, bases[i] + wanted.end);
	}
	cr_expect_eq(profile->n_functions, 2);
	for (size_t i = 0; i < profile->n_blocks; i++)
		profile->blocks[i].bytes = NULL; /* of the image */
	symbol_module_close(symbols);
	profile_destroy(profile);
}

Test(resolve, is_fast)
{
	struct profile *profile = profile_create();
	uint32_t module = add_module(profile, "/usr/bin/python3", "");
	struct symbol_module *symbols = open_path("/usr/bin/python3");
	struct symbol symbol;
	uint64_t text = 0;
	while (!symbol_find(symbols, text, &symbol))
		text += 4096;
	symbol_module_close(symbols);
	for (int i = 0; i < 200000; i++)
		add_block(profile, module, text + 2000003ull * i % 2800000);
	double start = now();
	cr_assert_null(names_resolve(profile, &(struct resolve_options){0}));
	double seconds = now() - start;
	cr_expect_gt(profile->n_functions, 5000);
	/* 0.1 s on a 2-core guest; the bound leaves room for sanitizers and a busy machine. */
	cr_expect_lt(seconds, 2.0);
	profile_destroy(profile);
}
