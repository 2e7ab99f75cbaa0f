/* Takes roofs from the machine by the same functions as reports do. */
#include "sweep/plot_roofs.h"

#include "report/model/model_bandwidths.h"
#include "report/model/model_roofs.h"

#include <string.h>

struct roofs {
	const struct profile *profile; /* that has the machine */
	enum roof_precision precision;
	double factor;
	const char *unit_rate, *unit_bytes;
	struct chart *chart;
};

/* Single where most flop are. */
static enum roof_precision precision_of(const struct gathered *gathered)
{
	double single = 0, all = 0;
	for (size_t i = 0; i < gathered->n; i++)
		for (size_t k = 0; k < gathered->series[i].n; k++) {
			const struct series_point *point = &gathered->series[i].points[k];
			if (!isfinite(point->metrics.single_flop) ||
			    !point->result.of[SWEEP_FLOP].n)
				continue;
			single += point->metrics.single_flop;
			all += point->result.of[SWEEP_FLOP].per_call.median * point->result.calls;
		}
	return single > all / 2 ? ROOF_PRECISION_SINGLE : ROOF_PRECISION_DOUBLE;
}

static const char *threads_words(int threads, char text[static 32])
{
	snprintf(text, 32, "%d thread%s", threads, threads == 1 ? "" : "s");
	return text;
}

static double peak_of(const struct roofs *roofs, int threads)
{
	return model_peak(roofs->profile, roofs->precision, threads) * roofs->factor;
}

static double bandwidth_of(const struct roofs *roofs, enum roof_level level, int threads,
			   enum traffic_direction direction)
{
	return model_level_most(roofs->profile, level, threads, direction) * roofs->factor;
}

static void add_slope(const struct roofs *roofs, double beta, double peak, const char *what,
		      const char *of, bool pale, bool dashed)
{
	struct chart_line *line = beta > 0 ? chart_add_line(roofs->chart, CHART_SLOPE, beta) : NULL;
	if (!line)
		return;
	line->to = peak > 0 ? peak / beta : NAN;
	line->pale = pale;
	line->dashed = dashed;
	snprintf(line->text, sizeof(line->text), "%s %.3g %s, %s", what, beta, roofs->unit_bytes,
		 of);
}

static void add_flat(const struct roofs *roofs, double peak, double beta, const char *of, bool pale)
{
	struct chart_line *line = peak > 0 ? chart_add_line(roofs->chart, CHART_LEVEL, peak) : NULL;
	if (!line)
		return;
	line->from = beta > 0 ? peak / beta : NAN;
	line->pale = pale;
	snprintf(line->text, sizeof(line->text), "%.3g %s, %s precision, %s", peak,
		 roofs->unit_rate, roof_precision_name(roofs->precision), of);
}

static void widen(struct chart_axis *axis, double low, double high)
{
	axis->low = fmin(axis->low, low);
	axis->high = fmax(axis->high, high);
}

/* At memory, for so many threads. */
static void add_memory(const struct roofs *roofs, enum traffic_direction direction, int threads,
		       bool pale)
{
	static const char *const words[] = {[DIRECTION_BOTH] = "memory, fastest mix",
					    [DIRECTION_READ] = "memory, reading",
					    [DIRECTION_WRITE] = "memory, writing"};
	char of[32];
	const double peak = peak_of(roofs, threads),
		     beta = bandwidth_of(roofs, ROOF_LEVEL_DRAM, threads, direction),
		     read = bandwidth_of(roofs, ROOF_LEVEL_DRAM, threads, DIRECTION_READ);
	threads_words(threads, of);
	add_slope(roofs, beta, peak, words[direction], of, pale, false);
	add_flat(roofs, peak, beta, of, pale);
	if (direction == DIRECTION_BOTH && !pale && read < 0.97 * beta)
		add_slope(roofs, read, peak, words[DIRECTION_READ], of, false, true);
	if (beta > 0 && peak > 0) {
		widen(&roofs->chart->x, peak / beta / 8, peak / beta * 4);
		widen(&roofs->chart->y, peak / 50, peak);
	}
}

static void add_levels(const struct roofs *roofs, int threads)
{
	enum roof_level levels[MODEL_LEVELS];
	const size_t n = model_levels(roofs->profile, levels);
	const double peak = peak_of(roofs, threads);
	double steepest = 0;
	char of[32];
	threads_words(threads, of);
	for (size_t i = 0; i < n; i++) {
		const double beta = bandwidth_of(roofs, levels[i], threads, DIRECTION_READ);
		add_slope(roofs, beta, peak, roof_level_name(levels[i]), of, false, false);
		steepest = fmax(steepest, beta);
		if (beta > 0 && peak > 0)
			widen(&roofs->chart->x, peak / beta / 8, peak / beta * 2);
	}
	add_flat(roofs, peak, steepest, of, false);
	widen(&roofs->chart->y, peak / 50, peak);
}

/* Calls `draw` with the machine's roofs. */
static struct rf_error *with_roofs(const struct gathered *gathered, const struct machine *machine,
				   double factor, struct chart *chart, struct roofs *roofs,
				   struct profile **profile)
{
	*profile = profile_create();
	struct rf_error *error =
		*profile ? profile_take_machine(*profile, machine) : rf_error_no_memory();
	*roofs = (struct roofs){.profile = *profile,
				.precision = precision_of(gathered),
				.factor = factor,
				.unit_rate = factor == 1 ? "Gflop/s" : "flop/cycle",
				.unit_bytes = factor == 1 ? "GB/s" : "B/cycle",
				.chart = chart};
	chart->x.low = chart->y.low = INFINITY;
	chart->x.high = chart->y.high = 0;
	return error;
}

/* The most threads that were measured. */
static int most_threads(const struct profile *profile)
{
	int most = 1;
	for (size_t i = 0; i < profile->n_roofs; i++)
		most = profile->roofs[i].threads > most ? profile->roofs[i].threads : most;
	return most;
}

struct rf_error *plot_roofs(enum plot_kind kind, const struct gathered *gathered,
			    const struct machine *machine, double factor, struct chart *chart)
{
	struct profile *profile;
	struct roofs roofs;
	struct rf_error *error = with_roofs(gathered, machine, factor, chart, &roofs, &profile);
	const enum traffic_direction direction = kind == PLOT_READ    ? DIRECTION_READ
						 : kind == PLOT_WRITE ? DIRECTION_WRITE
								      : DIRECTION_BOTH;
	if (!error && kind == PLOT_CACHE_AWARE) {
		add_levels(&roofs, 1);
	} else if (!error) {
		const int most = most_threads(profile);
		add_memory(&roofs, direction, 1, false);
		if (most > 1)
			add_memory(&roofs, direction, most, true);
	}
	profile_destroy(profile);
	return error;
}

struct rf_error *plot_peak(const struct gathered *gathered, const struct machine *machine,
			   double factor, struct chart *chart)
{
	struct profile *profile;
	struct roofs roofs;
	const struct chart_axis x = chart->x;
	struct rf_error *error = with_roofs(gathered, machine, factor, chart, &roofs, &profile);
	chart->x = x;
	const double peak = error ? 0 : peak_of(&roofs, 1);
	chart->y.low = NAN;
	chart->y.high = peak > 0 ? peak : NAN;
	add_flat(&roofs, peak, 0, "1 thread", false);
	profile_destroy(profile);
	return error;
}

void plot_caches(const struct machine *machine, struct chart *chart)
{
	for (size_t i = 0; i < machine->n_caches; i++) {
		struct chart_line *line =
			chart_add_line(chart, CHART_UPRIGHT, (double)machine->caches[i].size_bytes);
		if (!line)
			continue;
		line->pale = line->dashed = true;
		snprintf(line->text, sizeof(line->text), "L%d", machine->caches[i].level);
	}
}
