/* Which of the measured bandwidths fit what one function loads and stores: of its LS bytes by how
 * it stores, of what moves at a level by how much of it is written. */
#include "report/model/model_bandwidths.h"

#include <math.h>
#include <string.h>

/* ---- by LS bytes ---- */

/* Along the share of the bytes that are stored.  LS bytes: what is read to be overwritten whole
 * does not count, although it costs time; that is why it matters where stores go. */
static const struct roof_mix apart[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
						  {1.0 / 3, ROOF_OP_TRIAD, 1},
						  {1.0 / 2, ROOF_OP_COPY, 1},
						  {1, ROOF_OP_WRITE, 1}},
			     in_place[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
						     {1.0 / 3, ROOF_OP_DAXPY, 1},
						     {1.0 / 2, ROOF_OP_UPDATE, 1},
						     {1, ROOF_OP_WRITE, 1}},
			     streamed[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
						     {1.0 / 3, ROOF_OP_TRIAD_NT, 1},
						     {1.0 / 2, ROOF_OP_COPY_NT, 1},
						     {1, ROOF_OP_WRITE_NT, 1}},
			     string_moves[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
							 {1.0 / 2, ROOF_OP_COPY_REP, 1},
							 {1, ROOF_OP_WRITE_REP, 1}};

/* The same kernels by what moves between two levels, along the share of it that is written: a store
 * apart from what is loaded reads its line before it writes it.  A processor that does without that
 * read moves less than these factors say, of the function as well as of the kernel: the time that a
 * like function needs at this rate is the kernel's in any case. */
static const struct roof_mix apart_moved[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
							{1.0 / 4, ROOF_OP_TRIAD, 4.0 / 3},
							{1.0 / 3, ROOF_OP_COPY, 3.0 / 2},
							{1.0 / 2, ROOF_OP_WRITE, 2}},
			     in_place_moved[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
							   {1.0 / 3, ROOF_OP_DAXPY, 1},
							   {1.0 / 2, ROOF_OP_UPDATE, 1}},
			     strings_moved[ROOF_CURVE] = {{0, ROOF_OP_READ, 1},
							  {1.0 / 3, ROOF_OP_COPY_REP, 3.0 / 2},
							  {1.0 / 2, ROOF_OP_WRITE_REP, 2}};

static struct roof_rows level_rows(const struct profile *profile, enum roof_level level,
				   double threads)
{
	return (struct roof_rows){profile, roof_bandwidth(ROOF_OP_NONE, level), threads};
}

/* Was anything of the curve measured that is its own, neither reading nor plain writing? */
static bool has_curve(const struct roof_rows *rows, const struct roof_mix *curve)
{
	for (size_t i = 0; i < ROOF_CURVE && curve[i].op; i++)
		if (curve[i].op != ROOF_OP_READ && curve[i].op != ROOF_OP_WRITE &&
		    model_rate_of(rows, curve[i].op) > 0)
			return true;
	return false;
}

static bool level_distinguishable(const struct profile *profile, enum roof_level level)
{
	const struct roof_key key = roof_bandwidth(ROOF_OP_READ, level);
	const struct roof_run run = model_roof_run(profile, key);
	for (size_t i = 0; i < run.n; i++)
		if (roof_matches(&run.roofs[i], key) && run.roofs[i].distinguishable &&
		    run.roofs[i].best > 0)
			return true;
	return false;
}

size_t model_levels(const struct profile *profile, enum roof_level levels[MODEL_LEVELS])
{
	size_t n = 0;
	for (enum roof_level level = ROOF_LEVEL_DRAM; level >= ROOF_LEVEL_L1; level--)
		if (level_distinguishable(profile, level))
			levels[n++] = level;
	return n;
}

/* How a function's bytes are made up; shares of all LS bytes, 0 to 1. */
struct byte_mix {
	double stored, streamed, strings;
};

static struct byte_mix byte_mix(const struct tally *tally)
{
	double bytes = (double)tally->load_bytes + (double)tally->store_bytes;
	struct byte_mix mix = {(double)tally->store_bytes / bytes,
			       (double)tally->nt_store_bytes / bytes,
			       (double)tally->string_bytes / bytes};
	return mix;
}

/* Where most bytes are moved by rep instructions: these at their own rate, the others at `rate`,
 * one after the other, as a repeated instruction lets few others run beside it. */
static struct model_rate with_strings(const struct roof_rows *rows, const struct byte_mix *mix,
				      struct model_rate rate)
{
	struct model_rate strings = model_on_curve(rows, string_moves, mix->stored);
	double seconds = mix->strings / strings.value + (1 - mix->strings) / rate.value;
	return (struct model_rate){1 / seconds, strings.noisy ? strings.noisy : rate.noisy};
}

static struct model_rate curve_rate(const struct roof_rows *rows, const struct byte_mix *mix,
				    const struct roof_mix *curve)
{
	struct model_rate rate = model_on_curve(rows, curve, mix->stored);
	if (mix->strings > 0.5 && has_curve(rows, string_moves))
		return with_strings(rows, mix, rate);
	return rate;
}

static struct model_rate faster(struct model_rate a, struct model_rate b)
{
	return b.value > a.value ? b : a;
}

/* A faster level is never the worse one: a cache that measured below the next has met noise. */
static size_t ordinary_bandwidths(const struct profile *profile, const struct byte_mix *mix,
				  double threads, struct model_bandwidth *out)
{
	enum roof_level levels[MODEL_LEVELS];
	size_t n = 0, n_levels = model_levels(profile, levels);
	struct model_rate best_apart = {0}, best_in_place = {0};
	for (size_t i = 0; i < n_levels; i++) {
		struct roof_rows rows = level_rows(profile, levels[i], threads);
		best_apart = faster(best_apart, curve_rate(&rows, mix, apart));
		const char *how =
			mix->strings > 0.5 && has_curve(&rows, string_moves) ? "string" : "apart";
		out[n++] = (struct model_bandwidth){levels[i], how, best_apart};
		if (has_curve(&rows, in_place))
			best_in_place = faster(best_in_place, curve_rate(&rows, mix, in_place));
		if (best_in_place.value > best_apart.value)
			out[n++] = (struct model_bandwidth){levels[i], "in place", best_in_place};
	}
	return n;
}

/* Streamed stores go to memory, whatever level the loads come from: first all from memory, then the
 * loads from each cache, until the stores alone are the limit. */
static size_t streamed_bandwidths(const struct roof_rows *memory, const struct byte_mix *mix,
				  const struct model_bandwidth *ordinary, size_t n_ordinary,
				  struct model_bandwidth *out)
{
	size_t n = 0;
	struct model_rate stores = model_on_curve(memory, streamed, 1);
	stores.value /= mix->streamed;
	out[n++] = (struct model_bandwidth){ROOF_LEVEL_DRAM, "non-temporal",
					    model_on_curve(memory, streamed, mix->stored)};
	for (size_t i = 0; i < n_ordinary; i++) {
		bool limited = stores.value <= ordinary[i].rate.value;
		struct model_bandwidth next = {limited ? ROOF_LEVEL_DRAM : ordinary[i].level,
					       "non-temporal", limited ? stores : ordinary[i].rate};
		if (ordinary[i].level == ROOF_LEVEL_DRAM ||
		    next.rate.value <= out[n - 1].rate.value)
			continue;
		out[n++] = next;
		if (limited)
			break;
	}
	return n;
}

size_t model_bandwidths(const struct profile *profile, const struct tally *tally, double threads,
			struct model_bandwidth out[MODEL_BANDWIDTHS])
{
	if (tally->load_bytes == 0 && tally->store_bytes == 0)
		return 0;
	struct byte_mix mix = byte_mix(tally);
	struct model_bandwidth ordinary[MODEL_BANDWIDTHS];
	struct roof_rows memory = level_rows(profile, ROOF_LEVEL_DRAM, threads);
	size_t n = ordinary_bandwidths(profile, &mix, threads, ordinary);
	if (n > 0 && mix.streamed > mix.stored / 2 && has_curve(&memory, streamed))
		return streamed_bandwidths(&memory, &mix, ordinary, n, out);
	memcpy(out, ordinary, n * sizeof(*out));
	return n;
}

/* ---- bandwidths of what moves at a level ---- */

/* The fastest of the kernels that move so large a share of writes. */
static struct model_rate moved_rate(const struct roof_rows *rows, const struct model_moves *moves)
{
	struct model_rate rate = model_on_curve(rows, in_place_moved, moves->written);
	if (!has_curve(rows, in_place_moved))
		rate.value = 0;
	if (moves->non_temporal > moves->written / 2 && has_curve(rows, streamed))
		return faster(rate, model_on_curve(rows, streamed, moves->written));
	if (moves->strings > 0.5 && has_curve(rows, strings_moved))
		rate = faster(rate, model_on_curve(rows, strings_moved, moves->written));
	return faster(rate, model_on_curve(rows, apart_moved, moves->written));
}

/* Registers ↔ L1: LS bytes. */
static struct model_rate l1_rate(const struct roof_rows *rows, const struct tally *tally)
{
	struct byte_mix mix = byte_mix(tally);
	struct model_rate rate = curve_rate(rows, &mix, apart);
	return has_curve(rows, in_place) ? faster(rate, curve_rate(rows, &mix, in_place)) : rate;
}

/* Only what is read, or only what is written: the fastest kernel of that kind. */
static struct model_rate one_way_rate(const struct roof_rows *rows,
				      enum traffic_direction direction)
{
	static const enum roof_op writes[] = {ROOF_OP_WRITE, ROOF_OP_WRITE_NT, ROOF_OP_WRITE_REP};
	struct model_rate rate = {0};
	if (direction == DIRECTION_READ)
		return model_take(rows, ROOF_OP_READ);
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
		rate = faster(rate, model_take(rows, writes[i]));
	return rate;
}

struct model_rate model_level_rate(const struct profile *profile, enum roof_level level,
				   const struct tally *tally, double threads,
				   const struct model_moves *moves)
{
	enum roof_level levels[MODEL_LEVELS];
	size_t n = model_levels(profile, levels);
	struct model_rate best = {0};
	if (level == ROOF_LEVEL_L1 && tally->load_bytes == 0 && tally->store_bytes == 0)
		return best;
	for (size_t i = 0; i < n; i++) { /* a cache is never slower than the level below it */
		struct roof_rows rows = level_rows(profile, levels[i], threads);
		bool first = levels[i] == ROOF_LEVEL_L1;
		if (moves->direction != DIRECTION_BOTH)
			best = faster(best, one_way_rate(&rows, moves->direction));
		else if (isnan(moves->written))
			best.value = fmax(best.value, model_level_most(profile, levels[i], threads,
								       DIRECTION_BOTH));
		else /* bytes of L1 there are, else it has returned */
			best = faster(best,
				      first ? l1_rate(&rows, tally) : moved_rate(&rows, moves));
		if (levels[i] == level)
			return best;
	}
	return (struct model_rate){0};
}

/* By what moves, at L1 in LS bytes: the fastest of all kernels. */
static double fastest_of(const struct roof_rows *rows)
{
	static const struct roof_mix *const curves[] = {apart_moved, in_place_moved, strings_moved,
							streamed};
	const bool first = rows->key.level == ROOF_LEVEL_L1;
	double most = 0;
	for (size_t c = 0; c < sizeof(curves) / sizeof(*curves); c++)
		for (size_t i = 0; i < ROOF_CURVE && curves[c][i].op; i++)
			most = fmax(most, model_rate_of(rows, curves[c][i].op) *
						  (first ? 1 : curves[c][i].factor));
	return most;
}

double model_level_most(const struct profile *profile, enum roof_level level, double threads,
			enum traffic_direction direction)
{
	const struct roof_rows rows = level_rows(profile, level, threads);
	return direction == DIRECTION_BOTH ? fastest_of(&rows)
					   : one_way_rate(&rows, direction).value;
}

double model_level_zeros(const struct profile *profile, enum roof_level level, double threads)
{
	struct roof_rows rows = level_rows(profile, level, threads);
	rows.key.kind = ROOF_ZEROS;
	return fastest_of(&rows);
}

double model_level_theory(const struct profile *profile, enum roof_level level, int threads)
{
	const struct roof_key key = roof_bandwidth(ROOF_OP_READ, level);
	const struct roof_run run = model_roof_run(profile, key);
	double theory = 0;
	for (size_t i = 0; i < run.n; i++)
		if (roof_matches(&run.roofs[i], key) && run.roofs[i].threads == threads)
			theory = fmax(theory, run.roofs[i].theory);
	return theory;
}

static struct model_moves moves_of(const struct model_function *function,
				   const struct model_level *level,
				   enum traffic_direction direction)
{
	const struct tally *tally = &function->tally;
	const double all = level->moved[DIRECTION_BOTH].bytes;
	const double past_caches = function->traffic->bytes.events[TRAFFIC_MEM_NON_TEMPORAL].bytes;
	const double ls = (double)tally->load_bytes + (double)tally->store_bytes;
	const bool memory = strcmp(level->name, "DRAM") == 0;
	/* what was read is known alone: under what can be read */
	if (isnan(level->moved[DIRECTION_WRITE].bytes) &&
	    !isnan(level->moved[DIRECTION_READ].bytes))
		direction = DIRECTION_READ;
	return (struct model_moves){
		.written = all > 0 ? level->moved[DIRECTION_WRITE].bytes / all : 0,
		.non_temporal = memory && all > 0 ? past_caches / all : 0,
		.strings = ls > 0 ? (double)tally->string_bytes / ls : 0,
		.direction = direction,
	};
}

struct model_rate model_rate_at(const struct profile *profile,
				const struct model_function *function,
				const struct model_level *level, enum traffic_direction direction)
{
	const struct model_moves moves = moves_of(function, level, direction);
	return model_level_rate(profile, roof_level_find(level->name), &function->tally,
				function->concurrency, &moves);
}
