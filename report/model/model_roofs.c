/* Looking up measured roofs, and rates along their mixes of reads and writes.
 *
 * A roof has to be an upper bound, or good code would lie above it, and it has to be close, or poor
 * code would look good.  Where a function's mix of bytes lies between two measured ones the rate is
 * interpolated linearly.  While the same unit limits both, time per byte is linear between them:
 * the true rate is convex and lies below the chord, never above it. */
#include "report/model/model_roofs.h"

#include <math.h>

enum roof_precision model_roof_precision(enum flop_precision precision)
{
	static const enum roof_precision precisions[FLOP_PRECISIONS] = {
		[PRECISION_HALF] = ROOF_PRECISION_HALF,
		[PRECISION_BFLOAT16] = ROOF_PRECISION_BFLOAT16,
		[PRECISION_SINGLE] = ROOF_PRECISION_SINGLE,
		[PRECISION_DOUBLE] = ROOF_PRECISION_DOUBLE,
		[PRECISION_X87] = ROOF_PRECISION_X87,
	};
	return precisions[precision];
}

struct roof_run model_roof_run(const struct profile *profile, struct roof_key key)
{
	return roof_index_find(profile->roof_index, profile->roofs, profile->n_roofs, key);
}

double model_roof(const struct profile *profile, struct roof_key key, double threads)
{
	const struct roof_run run = model_roof_run(profile, key);
	return machine_roof(run.roofs, run.n, key, threads);
}

static struct roof_key key_of(const struct roof_rows *rows, enum roof_op op)
{
	struct roof_key key = rows->key;
	key.op = op;
	return key;
}

/* Does machine_roof() take this row?  It takes the best of the nearest count on each side. */
static bool is_taken(struct roof_key key, double threads, const struct roof_run *run,
		     const struct roof *row)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct roof *other = &run->roofs[i];
		if (!roof_matches(other, key))
			continue;
		if (other->threads == row->threads  ? other->best > row->best
		    : row->threads < other->threads ? other->threads <= threads
						    : other->threads >= threads)
			return false;
	}
	return true;
}

static const struct roof *noisy_row(const struct roof_rows *rows, enum roof_op op)
{
	const struct roof_key key = key_of(rows, op);
	const struct roof_run run = model_roof_run(rows->profile, key);
	for (size_t i = 0; i < run.n; i++) {
		const struct roof *row = &run.roofs[i];
		if (row->noisy && roof_matches(row, key) && is_taken(key, rows->threads, &run, row))
			return &rows->profile->roofs[run.rows ? run.rows[i] : i];
	}
	return NULL;
}

double model_rate_of(const struct roof_rows *rows, enum roof_op op)
{
	return model_roof(rows->profile, key_of(rows, op), rows->threads);
}

struct model_rate model_take(const struct roof_rows *rows, enum roof_op op)
{
	double value = model_rate_of(rows, op);
	return (struct model_rate){value, value > 0 ? noisy_row(rows, op) : NULL};
}

/* ---- rates of mixes ---- */

struct model_rate model_on_curve(const struct roof_rows *rows, const struct roof_mix *curve,
				 double x)
{
	struct model_rate below = {0}, above = {0};
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < ROOF_CURVE && curve[i].op; i++) {
		if (curve[i].at > x && above.value > 0)
			break;
		struct model_rate rate = model_take(rows, curve[i].op);
		rate.value *= curve[i].factor > 0 ? curve[i].factor : 1;
		if (rate.value > 0 && curve[i].at <= x)
			below = rate, at_below = curve[i].at;
		else if (rate.value > 0)
			above = rate, at_above = curve[i].at;
	}
	if (below.value <= 0 || above.value <= 0 || at_below == x)
		return below.value > 0 ? below : above;
	double share = (x - at_below) / (at_above - at_below);
	return (struct model_rate){below.value + (above.value - below.value) * share,
				   below.noisy ? below.noisy : above.noisy};
}

/* ---- the best of a precision ---- */

/* Sums of products: what one kind of instruction reaches alone.  Named one by one, so that no mix,
 * division or integer row is ever taken for a peak. */
static const enum roof_op peak_ops[] = {ROOF_OP_FMA, ROOF_OP_DOT, ROOF_OP_ADD, ROOF_OP_MUL};
#define N_PEAK_OPS (sizeof(peak_ops) / sizeof(*peak_ops))

static struct roof_rows compute_rows(const struct profile *profile, enum roof_isa isa,
				     enum roof_precision precision, double threads)
{
	return (struct roof_rows){profile, roof_compute(isa, precision, ROOF_OP_NONE), threads};
}

static struct model_rate peak(const struct roof_rows *rows)
{
	enum roof_op best = peak_ops[0];
	for (size_t i = 1; i < N_PEAK_OPS; i++)
		if (model_rate_of(rows, peak_ops[i]) > model_rate_of(rows, best))
			best = peak_ops[i];
	return model_take(rows, best);
}

double model_peak(const struct profile *profile, enum roof_precision precision, double threads)
{
	struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, precision, threads);
	return peak(&rows).value;
}

const struct roof *model_peak_row(const struct profile *profile, enum roof_precision precision,
				  int threads)
{
	struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, precision, threads);
	const struct roof *best = NULL;
	for (size_t i = 0; i < profile->n_roofs; i++)
		for (size_t op = 0; op < N_PEAK_OPS; op++)
			if (profile->roofs[i].threads == threads && profile->roofs[i].best > 0 &&
			    roof_matches(&profile->roofs[i], key_of(&rows, peak_ops[op])) &&
			    (!best || profile->roofs[i].best > best->best))
				best = &profile->roofs[i];
	return best;
}

double model_best(const struct profile *profile, enum roof_precision precision, double threads)
{
	const struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, precision, threads);
	double best = 0;
	for (enum roof_op op = ROOF_OP_FMA; op < ROOF_OP_LOGIC; op++)
		best = fmax(best, model_rate_of(&rows, op));
	return best;
}

/* ---- lines that are waited for ---- */

/* The rate of lines of a pattern at a level.  Where `usual` asks for it and none was measured, by
 * latencies of 14 and 50 cycles at 4 GHz and of 90 ns, of ten lines at once where they do not wait
 * for each other. */
static struct model_rate line_rate(const struct profile *profile, enum model_pattern pattern,
				   enum roof_level level, double threads, bool usual)
{
	const double latency_ns = level == ROOF_LEVEL_L2 ? 3.5 : level == ROOF_LEVEL_L3 ? 12 : 90;
	const enum roof_op op = pattern == PATTERN_CHASE ? ROOF_OP_CHASE : ROOF_OP_RANDOM;
	const struct roof_rows rows = {profile, roof_bandwidth(op, level), threads};
	struct model_rate rate = model_take(&rows, op);
	if (!(rate.value > 0) && usual)
		rate.value =
			CACHE_LINE / latency_ns * (pattern == PATTERN_CHASE ? 1 : 10) * threads;
	return rate;
}

struct model_wait model_wait_for(const struct profile *profile, const double lines[MODEL_LEVELS],
				 enum model_pattern pattern, double threads, bool usual)
{
	struct model_wait wait = {.pattern = pattern};
	double most = 0;
	for (int i = 0; i < MODEL_LEVELS; i++) {
		const enum roof_level level = (enum roof_level)((int)ROOF_LEVEL_L1 + i);
		if (!(lines[i] > 0))
			continue;
		const struct model_rate rate = line_rate(profile, pattern, level, threads, usual);
		if (rate.value <= 0)
			return (struct model_wait){0};
		const double seconds = lines[i] * CACHE_LINE * 1e-9 / rate.value;
		wait.seconds += seconds;
		if (seconds > most)
			most = seconds, wait.level = level, wait.noisy = rate.noisy;
	}
	return wait;
}
