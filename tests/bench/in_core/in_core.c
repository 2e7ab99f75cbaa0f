/* Validates the in-core model: small loops with their data in L1 are timed on this machine, as they
 * are and replayed (machine/replay/replay.h), and predicted from their code by
 * report/in_core/in_core.h, from the facts that are measured on it.
 *
 *     in_core [name]      prints a table; the last lines have median and worst errors
 *     in_core FILE.rfp    prints what the model says of the loops that a profile has
 */
#include "report/in_core/in_core.h"
#include "base/array.h"
#include "machine/core/core_measure.h"
#include "machine/kernels/clock_kernels.h"
#include "machine/replay/replay.h"
#include "machine/topology/cpu_features.h"
#include "report/in_core/function_code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

struct loop {
	const char *name;
	void (*run)(uint64_t turns, void *a, void *b, void *c, void *cell);
	const uint8_t *start, *end;
	uint64_t bytes;
};
extern const struct loop in_core_loops[], in_core_loops_end[], in_core_loops_avx_end[],
	in_core_loops_avx512_end[];

#define BUFFER 65536
#define FITS 30000   /* bytes of all arrays together that are touched: L1 has 32 KiB at least */
#define LONGEST 4000 /* turns */
#define CALLS 8      /* that are timed together */
#define BATCHES 25

static _Alignas(4096) uint8_t buffer[BUFFER];

/* ---- measured ---- */

static void fill(void)
{
	for (size_t i = 0; i + 8 <= BUFFER; i += 8)
		memcpy(buffer + i, &(double){1.0001}, 8);
}

static uint64_t ticks(const struct loop *loop, uint64_t turns, uint64_t clock)
{
	static void *cell = &cell;
	_mm_lfence();
	const uint64_t start = __rdtsc();
	_mm_lfence();
	for (int i = 0; i < CALLS && !clock; i++) {
		loop->run(turns, buffer + 64, buffer + 16384 + 320, buffer + 32768 + 576, cell);
		if (cpu_has(CPU_AVX))
			__asm__ volatile("vzeroupper" ::: "memory");
	}
	if (clock)
		clock_adds(clock);
	_mm_lfence();
	return __rdtsc() - start;
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Cycles of a turn: by calls of one length and of three times that. */
static double measured(const struct loop *loop)
{
	const uint64_t most = loop->bytes ? FITS / loop->bytes / 3 : LONGEST;
	const uint64_t turns = most < LONGEST ? most : LONGEST;
	double cycles[BATCHES];
	fill();
	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t once = UINT64_MAX, thrice = UINT64_MAX, short_clock = UINT64_MAX,
			 long_clock = UINT64_MAX;
		for (int i = 0; i < 5; i++) {
			once = least(once, ticks(loop, turns, 0));
			thrice = least(thrice, ticks(loop, 3 * turns, 0));
			short_clock = least(short_clock, ticks(loop, 0, 40));
			long_clock = least(long_clock, ticks(loop, 0, 120));
		}
		cycles[batch] = (double)(thrice - once) / (2.0 * CALLS * (double)turns) * 80 *
				CLOCK_CYCLES_PER_COUNT / (double)(long_clock - short_clock);
	}
	qsort(cycles, BATCHES, sizeof(*cycles), compare);
	return cycles[BATCHES / 2];
}

/* ---- predicted ---- */

#define TURNS 1000000

/* Adds the loop's code as blocks, each executed once a turn; jumps forward are followed, and
 * conditional branches but for the last one are not taken. */
static void add_blocks(const struct loop *loop, struct profile *profile, struct flow_graph *graph)
{
	const uint64_t size = (uint64_t)(loop->end - loop->start);
	uint64_t start = 0, at = 0;
	while (at < size) {
		const struct branch branch =
			branch_of_bytes(loop->start + at, size - at, 0x1000 + at);
		at += branch.length;
		if (branch.kind == BRANCH_NONE && at < size)
			continue;
		const uint32_t length = (uint32_t)(at - start);
		const struct profile_block block = {0, 0x1000 + start, length,
						    memcpy(malloc(length), loop->start + start,
							   length)};
		if (!rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks,
				   block) ||
		    flow_graph_add(graph, profile, (uint32_t)profile->n_blocks - 1, 0, length,
				   TURNS))
			exit(1);
		if (branch.kind == BRANCH_JUMP)
			at = branch.target - 0x1000;
		start = at;
	}
}

#define MOST_STEPS 256

static struct rf_error *replay(const struct profile *profile, const struct flow_graph *graph,
			       const struct model_function *function, struct replay *out)
{
	struct way_step steps[MOST_STEPS];
	const size_t n = loop_way(profile, graph, function, 0, steps, MOST_STEPS);
	struct rf_error *error = NULL;
	for (int i = 0; i < REPLAY_VARIANTS && !error; i++)
		error = replay_measure(steps, n, (enum replay_variant)i, &out[i]);
	return error;
}

static struct in_core predicted(const struct loop *loop, const struct core_facts *facts,
				struct replay replayed[REPLAY_VARIANTS])
{
	struct profile *profile = profile_create();
	struct flow_graph graph = {0};
	struct model_function function = {.time_ns = 1};
	struct in_core found = {.unknown = 1};
	const struct profile_function row = {.start = 0x1000,
					     .end = 0x1000 + (uint64_t)(loop->end - loop->start)};
	struct insn_cache *insns = insn_cache_create();
	profile_module(profile, "/x", "");
	add_blocks(loop, profile, &graph);
	struct rf_error *error = flow_graph_find_loops(&graph, &row, &function);
	const struct in_core_code code = {profile, insns, &graph, &row, &function};
	if (!error && function.n_loops == 1) {
		function.loops[0].entries = 1;
		function.loops[0].turns = TURNS;
		error = in_core_of_loop(facts, &code, 0, &found)
				?: replay(profile, &graph, &function, replayed);
	} else {
		fprintf(stderr, "%s: %zu loops\n", loop->name, function.n_loops);
	}
	if (error)
		exit(1);
	free(function.loops);
	flow_graph_deinit(&graph);
	insn_cache_destroy(insns);
	profile_destroy(profile);
	return found;
}

static enum in_core_part longest(const struct in_core *found)
{
	int most = 0;
	for (int i = 1; i < IN_CORE_PARTS; i++)
		if (found->part[i] > found->part[most])
			most = i;
	return (enum in_core_part)most;
}

static const struct loop *end_of_loops(void)
{
	if (cpu_has(CPU_AVX512F))
		return in_core_loops_avx512_end;
	return cpu_has(CPU_AVX2 | CPU_FMA) ? in_core_loops_avx_end : in_core_loops_end;
}

/* ---- a profile ---- */

#define HOT_TURNS 100000 /* of loops that are shown */

static void print_loops(const struct core_facts *facts, const struct function_code *all,
			struct insn_cache *insns, uint32_t row)
{
	const struct profile_function *of = &all->profile->functions[row];
	struct flow_graph graph = {0};
	struct model_function function = {.time_ns = 1};
	if (function_code_graph(all, row, &graph, &function))
		exit(1);
	const struct in_core_code code = {all->profile, insns, &graph, of, &function};
	for (uint32_t i = 0; i < function.n_loops; i++) {
		const struct model_loop *loop = &function.loops[i];
		struct in_core found;
		if (loop->turns < HOT_TURNS || in_core_of_loop(facts, &code, i, &found))
			continue;
		printf("%-40.40s %6llx %12lld turns, %10lld entries: OL %.2f nOL %.2f chain %.2f "
		       "(%.0f %% unknown), %s\n",
		       of->name, (unsigned long long)loop->header, (long long)loop->turns,
		       (long long)loop->entries, found.t_ol, found.t_nol, found.lcd,
		       100 * found.unknown, in_core_part_name(longest(&found)));
	}
	free(function.loops);
	flow_graph_clear(&graph);
	flow_graph_deinit(&graph);
}

static int print_profile(const char *path)
{
	struct profile *profile = NULL;
	struct core_facts facts;
	struct function_code all;
	struct insn_cache *insns = insn_cache_create();
	struct rf_error *error = profile_load(path, &profile);
	error = error ?: in_core_facts(profile, &facts) ?: function_code_init(profile, &all);
	if (error) {
		rf_error_print(error, stderr);
		return 1;
	}
	for (uint32_t i = 0; i < profile->n_functions; i++)
		print_loops(&facts, &all, insns, i);
	function_code_deinit(&all);
	core_facts_deinit(&facts);
	insn_cache_destroy(insns);
	profile_destroy(profile);
	return 0;
}

/* ---- all loops ---- */

struct errors {
	const char *of;
	double all[256], most;
	size_t n, n_unknown;
	const char *worst;
};

/* NAN: there is none. */
static void add_error(struct errors *errors, double off, const char *name)
{
	if (isnan(off)) {
		errors->n_unknown++;
		return;
	}
	errors->all[errors->n++] = fabs(off);
	if (fabs(off) >= errors->most) {
		errors->most = fabs(off);
		errors->worst = name;
	}
}

static void print_errors(struct errors *errors)
{
	qsort(errors->all, errors->n, sizeof(*errors->all), compare);
	if (errors->n)
		printf("%s: %zu loops: median error %.1f %%, worst %.1f %% (%s); %zu without\n",
		       errors->of, errors->n, 100 * errors->all[errors->n / 2], 100 * errors->most,
		       errors->worst, errors->n_unknown);
}

static void print_loop(const struct loop *loop, double cycles, const struct in_core *found,
		       const struct replay replayed[REPLAY_VARIANTS])
{
	const double model = fmax(found->t_ol, found->t_nol), again = replayed[0].cycles;
	printf("%-26s %8.2f %8.2f %6.1f%%  %8.2f %6.1f%%  %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f |",
	       loop->name, cycles, model, 100 * (model / cycles - 1), again,
	       100 * (model / again - 1), found->part[0], found->part[1], found->part[2],
	       found->part[3], found->part[4], found->t_nol);
	for (int i = 1; i < REPLAY_VARIANTS; i++)
		printf(" %6.2f", replayed[i].cycles);
	printf("  %s%s%s%s\n",
	       found->t_nol > found->t_ol ? "loads and stores" : in_core_part_name(longest(found)),
	       found->unknown > 0 ? " (unknown forms)" : "",
	       replayed[0].why == REPLAY_DONE ? "" : ", not replayed: ",
	       replayed[0].why == REPLAY_DONE ? "" : replay_why_words(replayed[0].why));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strstr(argv[1], ".rfp"))
		return print_profile(argv[1]);

	struct core_facts facts;
	struct errors of_model = {.of = "model against measured"},
		      of_replay = {.of = "replay against measured"},
		      between = {.of = "model against replay"};
	struct rf_error *error = core_measure(20000000000u, &facts);
	if (error || !core_facts_known(&facts))
		return 1;
	printf("taken %.2f, load %.2f %.2f, forward %.2f %.2f, still %.2f %.2f, fuse %d %d\n",
	       facts.taken, facts.load[0], facts.load[1], facts.forward[0], facts.forward[1],
	       facts.forward_still[0], facts.forward_still[1], facts.compares_fuse,
	       facts.steps_fuse);
	printf("%-26s %8s %8s %7s  %8s %7s  %6s %6s %6s %6s %6s %6s | %6s %6s %6s  %s\n", "loop",
	       "measured", "model", "error", "replay", "error", "issue", "units", "div", "taken",
	       "chain", "nOL", "memory", "arith", "1 line", "held by");
	for (const struct loop *loop = in_core_loops; loop < end_of_loops(); loop++) {
		if (argc > 1 && !strstr(loop->name, argv[1]))
			continue;
		struct replay replayed[REPLAY_VARIANTS] = {{.why = REPLAY_CHILD, .cycles = NAN}};
		const double cycles = measured(loop);
		const struct in_core found = predicted(loop, &facts, replayed);
		const double model = fmax(found.t_ol, found.t_nol), again = replayed[0].cycles;
		print_loop(loop, cycles, &found, replayed);
		add_error(&of_model, model / cycles - 1, loop->name);
		add_error(&of_replay, again / cycles - 1, loop->name);
		add_error(&between, model / again - 1, loop->name);
	}
	print_errors(&of_model);
	print_errors(&of_replay);
	print_errors(&between);
	core_facts_deinit(&facts);
	return 0;
}
