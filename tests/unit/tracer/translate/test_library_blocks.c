/* Lockstep over code cut at random from the libraries and programs of this machine.
 *
 * RFPROF_SEED=N repeats a run: each cut (place, state, options) follows from it.  A cut counts when
 * at least one whole block of it ran and was compared; what did not count is listed by reason. */
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_reference.h"

#include <Zydis/Zydis.h>
#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_FILES 64
#define MAX_REASONS 24
#define CUTS 2000 /* in the default suite */
#define CUTS_SLOW 50000
#define MAX_STATES 3   /* for one place */
#define MAX_FAILURES 5 /* to be shown of a run */

static struct lockstep lockstep;
static struct lockstep_state state;

static const char *const layout_names[LAYOUTS] = {"near", "far", "low", "low and far"};

/* Numeric and string code for several processors, interpreters, compilers, tables, allocators;
 * hand-written assembly and what GCC, Clang and other compilers make. */
static const char *const patterns[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libmvec.so.1",
	"/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
	"/usr/lib/x86_64-linux-gnu/libfftw3.so.3",
	"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	"/usr/lib/x86_64-linux-gnu/libgmp.so.10",
	"/usr/lib/x86_64-linux-gnu/libz.so.1",
	"/usr/lib/x86_64-linux-gnu/liblzma.so.5",
	"/usr/lib/x86_64-linux-gnu/libzstd.so.1",
	"/usr/lib/x86_64-linux-gnu/libgomp.so.1",
	"/usr/lib/x86_64-linux-gnu/libgfortran.so.5",
	"/usr/lib/x86_64-linux-gnu/libgnutls.so.30",
	"/usr/lib/x86_64-linux-gnu/libx264.so.*",
	"/usr/lib/x86_64-linux-gnu/libavcodec.so.[0-9][0-9]",
	"/usr/lib/x86_64-linux-gnu/libLLVM-1[0-9].so.1",
	"/usr/lib/gcc/x86_64-linux-gnu/*/cc1",
	"/usr/bin/python3",
	"/usr/bin/perl",
	"/usr/bin/bash",
	"/usr/bin/gdb",
	"/usr/bin/node",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct summary {
	struct lockstep_tally tally;
	uint64_t cuts; /* that count */
	uint64_t tried;
	struct {
		const char *why;
		uint64_t n;
	} reasons[MAX_REASONS]; /* of those that do not */
	size_t n_reasons;
	unsigned failures;
};

static void add_tally(struct lockstep_tally *sum, const struct lockstep_tally *tally)
{
	sum->runs += tally->runs;
	sum->blocks += tally->blocks;
	sum->whole_blocks += tally->whole_blocks;
	sum->insns += tally->insns;
	sum->unit_insns += tally->unit_insns;
	sum->loops += tally->loops;
	for (int i = 0; i < EXITS; i++)
		sum->exits[i] += tally->exits[i];
}

static struct lockstep_options random_options(void)
{
	const uint64_t random = lockstep_random(&lockstep);
	return (struct lockstep_options){
		.batch_insns = random % 4 ? 1 + (random >> 8) % 12 : 200,
		.max_steps = 8 + (random >> 16) % 150,
		.is_random = true,
		.busy = random >> 32 & 1,
		.link_indirect = random >> 33 & 1,
		.is_hot = random >> 34 & 1,
	};
}

/* Why no whole block of the last run was compared. */
static const char *reason(const struct lockstep_options *options)
{
	if (lockstep.refused)
		return lockstep.refused;
	if (reference.fault)
		return "a fault in the first block";
	return reference.n == options->max_steps ? "a block or loop beyond the limit of steps"
						 : "an instruction that cannot be compared";
}

static void note_reason(struct summary *summary, const char *why)
{
	size_t i = 0;
	while (i < summary->n_reasons && strcmp(summary->reasons[i].why, why) != 0)
		i++;
	if (i == MAX_REASONS)
		return;
	summary->n_reasons += i == summary->n_reasons;
	summary->reasons[i].why = why;
	summary->reasons[i].n++;
}

/* A place from which control is transferred within `limit` instructions, where one follows at all:
 * of long straight code only the end can be run without a fault, and it is run three times in four.
 */
static uint64_t choose_place(void)
{
	const uint64_t chosen = lockstep_random_pc(&lockstep), random = lockstep_random(&lockstep);
	const size_t limit = random % 4 ? 1 + (random >> 8) % 40 : MAX_STEPS;
	uint64_t behind[MAX_STEPS], pc = chosen;
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn = {0};
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	size_t n = 0;
	for (; n < MAX_STEPS && insn.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE;
	     n++, pc += insn.length) {
		behind[n] = pc;
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
			    &decoder, NULL, (void *)pc, lockstep_code_at(&lockstep, pc), &insn)))
			return chosen;
	}
	return n > limit ? behind[n - limit] : chosen;
}

/* Runs with up to three states; the later ones are less peculiar and have more time. */
static bool run(uint64_t pc, struct lockstep_options *options)
{
	const uint64_t before = lockstep.tally.whole_blocks;
	bool ok = true;
	for (int tries = 0; ok && lockstep.tally.whole_blocks == before && tries < MAX_STATES;
	     tries++) {
		if (tries == 0)
			lockstep_edge_state(&lockstep, pc, &state);
		else
			lockstep_random_state(&lockstep, pc, &state);
		options->max_steps <<= tries;
		ok = lockstep_aim(&lockstep, &state, options->max_steps / 2) &&
		     lockstep_run(&lockstep, &state, options);
		if (lockstep.refused)
			break;
	}
	return ok;
}

static void try_cut(struct summary *summary, const char *path)
{
	const uint64_t before = lockstep.tally.whole_blocks, at = lockstep.random;
	struct lockstep_options options = random_options();
	const bool ok = run(choose_place(), &options);
	summary->failures += !ok;
	cr_expect(ok, "%s, %s, state %#" PRIx64 " of the generator: %s", path,
		  layout_names[lockstep.layout], at, lockstep.failure);
	summary->tried++;
	if (lockstep.tally.whole_blocks > before)
		summary->cuts++;
	else
		note_reason(summary, reason(&options));
}

/* Until `wanted` more cuts of this file count.  Returns false when it cannot be loaded. */
static bool try_file(struct summary *summary, const char *path, enum lockstep_layout layout,
		     uint64_t seed, uint64_t wanted)
{
	const uint64_t goal = summary->cuts + wanted, limit = summary->tried + 3 * wanted;
	const bool loaded = lockstep_open_file(&lockstep, path, layout, seed);
	while (loaded && summary->cuts < goal && summary->tried < limit &&
	       summary->failures < MAX_FAILURES)
		try_cut(summary, path);
	add_tally(&summary->tally, &lockstep.tally);
	lockstep_close(&lockstep);
	return loaded;
}

static void print_summary(const struct summary *summary, uint64_t seed, size_t n_files)
{
	const struct lockstep_tally *tally = &summary->tally;
	cr_log_info("seed %" PRIu64 ": %" PRIu64 " cuts of %zu files compared; %" PRIu64
		    " blocks, %" PRIu64 " of them whole, %" PRIu64 " instructions",
		    seed, summary->cuts, n_files, tally->blocks, tally->whole_blocks, tally->insns);
	cr_log_info("exits: %" PRIu64 " miss, %" PRIu64 " indirect, %" PRIu64 " collide, %" PRIu64
		    " system call, %" PRIu64 " fault; %" PRIu64 " instructions with units, %" PRIu64
		    " faults in loops",
		    tally->exits[EXIT_MISS], tally->exits[EXIT_INDIRECT],
		    tally->exits[EXIT_COLLIDE], tally->exits[EXIT_SYSCALL],
		    tally->exits[EXIT_FAULT], tally->unit_insns, tally->loops);
	cr_log_info("left out: %" PRIu64 " of %" PRIu64 " cuts (%.1f %%)",
		    summary->tried - summary->cuts, summary->tried,
		    100. * (double)(summary->tried - summary->cuts) / (double)summary->tried);
	for (size_t i = 0; i < summary->n_reasons; i++)
		cr_log_info("  %6" PRIu64 ": %s", summary->reasons[i].n, summary->reasons[i].why);
}

Test(library_blocks, run_translated_as_natively)
{
	const uint64_t seed = lockstep_seed(), total = lockstep_is_slow_run() ? CUTS_SLOW : CUTS;
	static struct summary summary;
	glob_t files = {0};
	size_t n_files = 0;
	for (size_t i = 0; i < COUNT(patterns); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &files);
	if (!files.gl_pathc)
		cr_skip_test("no library to cut from");
	/* each file in one layout, or in all; then again, should some not have given their share */
	const size_t n = files.gl_pathc, planned = n * (lockstep_is_slow_run() ? LAYOUTS : 1);
	for (size_t i = 0;
	     i < 2 * planned && summary.cuts < total && summary.failures < MAX_FAILURES; i++) {
		const uint64_t left = i < planned ? planned - i : 1;
		const enum lockstep_layout layout =
			(enum lockstep_layout)((i + i / n + seed) % LAYOUTS);
		const bool loaded =
			try_file(&summary, files.gl_pathv[i % n], layout, seed * 1000003 + i,
				 (total - summary.cuts + left - 1) / left);
		n_files += loaded && i < n;
	}
	globfree(&files);
	print_summary(&summary, seed, n_files);
	cr_expect_geq(summary.cuts, summary.failures ? 0 : total, "too few cuts ran");
	cr_expect_leq(summary.tried - summary.cuts, summary.tried / 5,
		      "too many cuts were left out");
	for (int i = 0; i < EXITS; i++)
		cr_expect(i == EXIT_COLLIDE || summary.tally.exits[i], "no exit of kind %d", i);
	cr_expect_gt(summary.tally.unit_insns, 0);
}
