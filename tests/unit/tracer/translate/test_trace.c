/* Traced blocks do what untraced ones do, and record the addresses that their instructions access.
 */
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_reference.h"
#include "tests/unit/tracer/translate/lockstep_snippets.h"

#include "insn/operands.h"
#include "tracer/gate/protocol.h"
#include "tracer/traffic/trace_expand.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What is recorded in the block that a fault ends is not compared.  A snippet that ends in hlt is
 * one such block as a whole, so here each hlt stands in a block of its own. */
__asm__(".macro hlt\n jmp 77f\n77: .byte 0xf4\n.endm\n");
SNIPPETS(SNIPPET_CODE)
SNIPPETS_AVX2(SNIPPET_CODE)
SNIPPETS_AVX512(SNIPPET_CODE)
__asm__(".purgem hlt\n");

static const struct snippet snippets[] = {SNIPPETS(SNIPPET_ROW)};
static const struct snippet snippets_avx2[] = {SNIPPETS_AVX2(SNIPPET_ROW)};
static const struct snippet snippets_avx512[] = {SNIPPETS_AVX512(SNIPPET_ROW)};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct lockstep lockstep;
static struct lockstep_state state;

/* All classes, every second one, and few, as in a real run. */
static uint64_t choose_classes(uint64_t random)
{
	switch (random % 4) {
	case 0:
		return ~0ull;
	case 1:
		return 0x5555555555555555;
	case 2:
		return 1ull << (random >> 8) % 64 | 1ull << (random >> 16) % 64;
	default:
		return random >> 2;
	}
}

static void try_snippet(const struct snippet *snippet, enum lockstep_layout layout)
{
	static const struct lockstep_options ways[] = {
		{.batch_insns = 1000, .max_steps = 1000, .link_indirect = true},
		{.batch_insns = 2, .max_steps = 1000},
	};
	const size_t size = (size_t)(snippet->end - snippet->begin);
	for (size_t i = 0; i < 2 * COUNT(ways); i++) {
		cr_assert(lockstep_open_code(&lockstep, snippet->begin, size, layout));
		lockstep.random = i;
		lockstep.trace_classes = i % 2 ? choose_classes(lockstep_random(&lockstep)) : ~0ull;
		lockstep_random_state(&lockstep, lockstep.image.start, &state);
		if (strcmp(snippet->name, "rep_faults") == 0)
			state.regs.rsp = STACK_ADDRESS + STACK_SIZE - 64;
		cr_expect(lockstep_run(&lockstep, &state, &ways[i / 2]), "%s, layout %d: %s",
			  snippet->name, layout, lockstep.failure);
		lockstep_close(&lockstep);
	}
}

static void try_all(const struct snippet *rows, size_t n)
{
	for (int layout = 0; layout < LAYOUTS; layout++)
		for (size_t i = 0; i < n; i++)
			try_snippet(&rows[i], (enum lockstep_layout)layout);
}

Test(trace, pieces_of_code)
{
	try_all(snippets, COUNT(snippets));
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		try_all(snippets_avx2, COUNT(snippets_avx2));
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		try_all(snippets_avx512, COUNT(snippets_avx512));
}

/* ---- code of libraries ---- */

static const char *const patterns[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libmvec.so.1",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
	"/usr/lib/x86_64-linux-gnu/libfftw3.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/lib/x86_64-linux-gnu/libz.so.1",
	"/usr/lib/x86_64-linux-gnu/libx264.so.*",
	"/usr/bin/python3",
	"/usr/bin/perl",
};

#define CUTS 1200 /* in the default suite */
#define CUTS_SLOW 40000
#define MAX_FAILURES 5

struct summary {
	uint64_t cuts, tried, traced;
	unsigned failures;
};

static void try_cut(struct summary *summary, const char *path)
{
	const uint64_t before = lockstep.tally.whole_blocks, random = lockstep_random(&lockstep),
		       at = lockstep.random;
	const struct lockstep_options options = {
		.batch_insns = random % 4 ? 1 + (random >> 8) % 12 : 200,
		.max_steps = 8 + (random >> 16) % 250,
		.is_random = true,
		.link_indirect = random >> 33 & 1,
	};
	const uint64_t pc = lockstep_random_pc(&lockstep);
	lockstep_random_state(&lockstep, pc, &state);
	const bool ok = lockstep_aim(&lockstep, &state, options.max_steps / 2) &&
			lockstep_run(&lockstep, &state, &options);
	cr_expect(ok, "%s, layout %d, state %#" PRIx64 " of the generator: %s", path,
		  (int)lockstep.layout, at, lockstep.failure);
	summary->failures += !ok;
	summary->tried++;
	summary->cuts += lockstep.tally.whole_blocks > before;
}

static void try_file(struct summary *summary, const char *path, enum lockstep_layout layout,
		     uint64_t seed, uint64_t wanted)
{
	const uint64_t goal = summary->cuts + wanted, limit = summary->tried + 6 * wanted;
	if (!lockstep_open_file(&lockstep, path, layout, seed)) {
		lockstep_close(&lockstep);
		return;
	}
	lockstep.trace_classes = choose_classes(lockstep_random(&lockstep));
	while (summary->cuts < goal && summary->tried < limit && summary->failures < MAX_FAILURES)
		try_cut(summary, path);
	summary->traced += lockstep.traced;
	lockstep_close(&lockstep);
}

/* Each file in parts, so that each part has classes of its own. */
Test(trace, code_of_libraries)
{
	const uint64_t seed = lockstep_seed(), total = lockstep_is_slow_run() ? CUTS_SLOW : CUTS;
	struct summary summary = {0};
	glob_t files = {0};
	for (size_t i = 0; i < COUNT(patterns); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &files);
	if (!files.gl_pathc)
		cr_skip_test("no library to cut from");
	const size_t parts = 4 * files.gl_pathc;
	for (size_t i = 0; i < 2 * parts && summary.cuts < total && summary.failures < MAX_FAILURES;
	     i++)
		try_file(&summary, files.gl_pathv[i % files.gl_pathc],
			 (enum lockstep_layout)((i + i / files.gl_pathc + seed) % LAYOUTS),
			 seed * 1000003 + i, (total + parts - 1) / parts);
	globfree(&files);
	cr_log_info("seed %" PRIu64 ": %" PRIu64 " of %" PRIu64 " cuts, %" PRIu64
		    " accesses compared",
		    seed, summary.cuts, summary.tried, summary.traced);
	cr_expect_geq(summary.cuts, summary.failures ? 0 : 500);
	cr_expect_gt(summary.traced, summary.failures ? 0 : 5000);
}
