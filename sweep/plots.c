/* Makes charts of series: which figure of a point is on which axis. */
#include "sweep/plots.h"

#include "sweep/plot_roofs.h"

#include <string.h>

const struct rf_word plot_words[] = {{"roofline", PLOT_ROOFLINE},
				     {"read", PLOT_READ},
				     {"write", PLOT_WRITE},
				     {"cache-aware", PLOT_CACHE_AWARE},
				     {"performance", PLOT_PERFORMANCE},
				     {"intensity", PLOT_INTENSITY},
				     {"traffic", PLOT_TRAFFIC},
				     {"time", PLOT_TIME},
				     {"bandwidth", PLOT_BANDWIDTH},
				     {"distribution", PLOT_DISTRIBUTION},
				     {"walks", PLOT_WALKS},
				     {"other-traffic", PLOT_OTHER},
				     {NULL, 0}};

/* A figure of a point with its spread; all NAN: it is not known. */
static const struct summary unknown = {NAN, NAN, NAN, NAN, NAN};

static struct summary of(const struct series_point *point, enum sweep_quantity quantity)
{
	return point->result.of[quantity].n ? point->result.of[quantity].per_call : unknown;
}

static struct summary exactly(double value)
{
	return (struct summary){value, value, value, value, value};
}

static struct summary scaled(struct summary s, double factor)
{
	return (struct summary){s.least * factor, s.q1 * factor, s.median * factor, s.q3 * factor,
				s.most * factor};
}

/* amount / s: the most where s is least. */
static struct summary over(double amount, struct summary s)
{
	return (struct summary){amount / s.most, amount / s.q3, amount / s.median, amount / s.q1,
				amount / s.least};
}

/* Flop of the formula, or those that were counted, which do not vary. */
static double work_of(const struct series_point *point)
{
	return isfinite(point->work) ? point->work : of(point, SWEEP_FLOP).median;
}

/* What moved at memory, or was written there, and where that is asked for what is still to be. */
static struct summary moved_of(const struct plot_options *options, const struct series_point *point,
			       enum sweep_quantity quantity)
{
	struct summary s = of(point, quantity);
	if (!options->left || quantity == SWEEP_READ)
		return s;
	const double left = point->metrics.mem_left_bytes / point->result.calls;
	return (struct summary){s.least + left, s.q1 + left, s.median + left, s.q3 + left,
				s.most + left};
}

/* What moves at memory in another machine's caches. */
static struct summary other_of(const struct plot_options *options, const struct series_point *point)
{
	const struct sweep_metrics *metrics = &point->metrics;
	const double by = options->traffic_formula ? point->traffic : 1;
	return exactly((metrics->other_mem_read + metrics->other_mem_written) /
		       point->result.calls / by);
}

static double ls_bytes(const struct series_point *point)
{
	return of(point, SWEEP_LOADED).median + of(point, SWEEP_STORED).median;
}

struct making {
	enum plot_kind kind;
	const struct gathered *gathered;
	const struct machine *machine;
	const struct plot_options *options;
};

/* Of rates per nanosecond: 1, or those in a cycle. */
static double rate_factor(const struct making *m)
{
	return m->options->per_cycle ? 1 / m->machine->clock_ghz : 1;
}

static struct summary x_of(const struct making *m, const struct series_point *point)
{
	const double work = work_of(point);
	switch (m->kind) {
	case PLOT_ROOFLINE:
		return over(work, moved_of(m->options, point, SWEEP_MOVED));
	case PLOT_READ:
		return over(work, moved_of(m->options, point, SWEEP_READ));
	case PLOT_WRITE:
		return over(work, moved_of(m->options, point, SWEEP_WRITTEN));
	case PLOT_CACHE_AWARE:
		return exactly(work / ls_bytes(point));
	default:
		return exactly(m->options->size_formula ? point->size : point->x);
	}
}

/* Above the least of them, in percent. */
static struct summary above_least(struct summary s)
{
	return (struct summary){0, 100 * (s.q1 / s.least - 1), 100 * (s.median / s.least - 1),
				100 * (s.q3 / s.least - 1), 100 * (s.most / s.least - 1)};
}

static struct summary y_of(const struct making *m, const struct series_point *point)
{
	const struct summary time = of(point, SWEEP_TIME),
			     moved = moved_of(m->options, point, SWEEP_MOVED);
	switch (m->kind) {
	case PLOT_INTENSITY:
		return over(work_of(point), moved);
	case PLOT_TRAFFIC:
		return m->options->traffic_formula ? scaled(moved, 1 / point->traffic) : moved;
	case PLOT_TIME:
		return m->options->per_cycle ? scaled(time, m->machine->clock_ghz * 1e9) : time;
	case PLOT_BANDWIDTH:
		return over(ls_bytes(point) * 1e-9 * rate_factor(m), time);
	case PLOT_WALKS:
		return exactly(point->metrics.page_walks / point->result.calls);
	case PLOT_OTHER:
		return other_of(m->options, point);
	case PLOT_DISTRIBUTION:
		return time.least > 0 ? above_least(time) : unknown;
	default:
		return over(work_of(point) * 1e-9 * rate_factor(m), time);
	}
}

static bool is_roofline(enum plot_kind kind)
{
	return kind <= PLOT_CACHE_AWARE;
}

/* ---- series ---- */

static struct rf_error *add_point(const struct making *m, struct chart_series *series,
				  const struct series_point *point)
{
	const struct summary x = x_of(m, point), y = y_of(m, point);
	const bool roofline = is_roofline(m->kind);
	struct chart_point *new =
		chart_add_point(series, x.median, y.median, roofline ? point->label : NULL);
	if (!new)
		return rf_error_no_memory();
	new->join = m->options->joins &&roofline ? point->label : NULL;
	if (x.q1 < x.q3) {
		new->x_q1 = x.q1;
		new->x_q3 = x.q3;
	}
	if (!(y.least < y.most))
		return NULL;
	new->y_q1 = y.q1;
	new->y_q3 = y.q3;
	new->y_least = y.least;
	new->y_most = y.most;
	return NULL;
}

/* All repeats as they are, in their own place. */
static struct rf_error *add_repeats(const struct making *m, struct chart_series *series,
				    const struct series_point *point)
{
	const double least = of(point, SWEEP_TIME).least, x = x_of(m, point).median;
	for (size_t i = 0; least > 0 && i < point->n_times; i++)
		if (!chart_add_point(series, x, 100 * (point->times[i] / least - 1), NULL))
			return rf_error_no_memory();
	return NULL;
}

static struct rf_error *add_series(const struct making *m, const struct series *from,
				   struct chart *chart)
{
	struct chart_series *series = chart_add_series(chart, from->name);
	struct rf_error *error = series ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < from->n; i++) {
		error = add_point(m, series, &from->points[i]);
		if (!error && m->kind == PLOT_DISTRIBUTION)
			error = add_repeats(m, series, &from->points[i]);
	}
	if (series)
		series->scattered = m->kind == PLOT_DISTRIBUTION || !m->gathered->numbers;
	return error;
}

/* ---- axes ---- */

static void name_size_axis(const struct making *m, struct chart_axis *axis)
{
	const struct plot_options *options = m->options;
	const char *parameter = m->gathered->parameter;
	double least = INFINITY, most = 0;
	for (size_t i = 0; i < m->gathered->n; i++)
		for (size_t k = 0; k < m->gathered->series[i].n; k++) {
			const double x = x_of(m, &m->gathered->series[i].points[k]).median;
			least = x < least ? x : least;
			most = x > most ? x : most;
		}
	axis->log = least > 0 && most >= 8 * least;
	if (options->size_formula)
		snprintf(axis->title, sizeof(axis->title), "bytes (%s)", options->size_formula);
	else
		snprintf(axis->title, sizeof(axis->title), "%s%s",
			 parameter && *parameter ? parameter : "first parameter",
			 m->gathered->numbers ? "" : " (place in the list of its values)");
}

static void name_x_axis(const struct making *m, struct chart_axis *axis)
{
	static const char *const bytes[] = {
		[PLOT_ROOFLINE] = "operational intensity (%s per byte read from and written to "
				  "memory)",
		[PLOT_READ] = "read intensity (%s per byte read from memory)",
		[PLOT_WRITE] = "write intensity (%s per byte written to memory)",
		[PLOT_CACHE_AWARE] = "arithmetic intensity (%s per byte loaded or stored)"};
	if (!is_roofline(m->kind)) {
		name_size_axis(m, axis);
		return;
	}
	axis->log = true;
	const char *format = bytes[m->kind], *at = strstr(format, "%s");
	snprintf(axis->title, sizeof(axis->title), "%.*s%s%s", (int)(at - format), format,
		 m->options->work_formula ? "pseudo-flop" : "flop", at + 2);
}

static void name_traffic_axis(const struct making *m, const char *where, struct chart_axis *axis)
{
	const char *formula = m->options->traffic_formula;
	axis->log = !formula;
	axis->from_zero = true;
	snprintf(axis->title, sizeof(axis->title), "bytes at memory%s%s%s%s", where,
		 formula ? " / (" : "", formula ? formula : "", formula ? ")" : "");
}

static void name_y_axis(const struct making *m, struct chart_axis *axis)
{
	const struct plot_options *options = m->options;
	const char *flop = options->work_formula ? "pseudo-flop" : "flop",
		   *per = options->per_cycle ? "per cycle" : "per ns (Gflop/s)";
	axis->log = true;
	switch (m->kind) {
	case PLOT_INTENSITY:
		snprintf(axis->title, sizeof(axis->title), "%s per byte at memory", flop);
		break;
	case PLOT_TRAFFIC:
		name_traffic_axis(m, "", axis);
		break;
	case PLOT_OTHER:
		name_traffic_axis(m, " in another machine's caches", axis);
		break;
	case PLOT_WALKS:
		snprintf(axis->title, sizeof(axis->title), "misses of the TLB in a call");
		break;
	case PLOT_TIME:
		snprintf(axis->title, sizeof(axis->title), "%s of a call",
			 options->per_cycle ? "cycles" : "seconds");
		break;
	case PLOT_BANDWIDTH:
		axis->log = false;
		axis->from_zero = true;
		snprintf(axis->title, sizeof(axis->title), "bytes loaded and stored %s",
			 options->per_cycle ? "per cycle" : "per ns (GB/s)");
		break;
	case PLOT_DISTRIBUTION:
		axis->log = false;
		axis->from_zero = true;
		snprintf(axis->title, sizeof(axis->title),
			 "time of repeats above the least one (%%)");
		break;
	default:
		axis->log = is_roofline(m->kind);
		axis->from_zero = true;
		snprintf(axis->title, sizeof(axis->title), "%s %s", flop, per);
	}
}

static void name_chart(const struct making *m, const char *program, struct chart *chart)
{
	static const char *const spread =
		"points: medians of repeats; boxes: quartiles; lines: least and most";
	const struct plot_options *options = m->options;
	snprintf(chart->title, sizeof(chart->title), "%s", program);
	const bool traffic =
		m->kind <= PLOT_WRITE || m->kind == PLOT_INTENSITY || m->kind == PLOT_TRAFFIC;
	const bool simulated = m->kind == PLOT_WALKS || m->kind == PLOT_OTHER;
	snprintf(chart->subtitle, sizeof(chart->subtitle), "%s%s%s%s%s",
		 simulated ? "of one repeat" : spread, traffic ? "; caches simulated" : "",
		 traffic && options->left ? ", with what is left there" : "",
		 options->work_formula ? "; pseudo-flop: " : "",
		 options->work_formula ? options->work_formula : "");
	if (options->per_cycle) {
		const size_t used = strlen(chart->subtitle);
		snprintf(chart->subtitle + used, sizeof(chart->subtitle) - used,
			 "; cycles of %.2f GHz", m->machine->clock_ghz);
	}
}

struct rf_error *plot_chart(enum plot_kind kind, const struct gathered *gathered,
			    const struct machine *machine, const struct plot_options *options,
			    const char *program, struct chart *chart)
{
	const struct making m = {kind, gathered, machine, options};
	struct rf_error *error = NULL;
	chart_init(chart);
	name_chart(&m, program, chart);
	name_x_axis(&m, &chart->x);
	name_y_axis(&m, &chart->y);
	for (size_t i = 0; !error && i < gathered->n; i++)
		error = add_series(&m, &gathered->series[i], chart);
	if (!error && is_roofline(kind))
		error = plot_roofs(kind, gathered, machine, rate_factor(&m), chart);
	if (!error && kind == PLOT_PERFORMANCE)
		error = plot_peak(gathered, machine, rate_factor(&m), chart);
	if (!error && (kind == PLOT_TRAFFIC || kind == PLOT_OTHER) && options->traffic_formula)
		chart_add_line(chart, CHART_LEVEL, 1);
	if (!error && options->size_formula && !is_roofline(kind))
		plot_caches(machine, chart);
	return error;
}

bool plot_has_points(const struct chart *chart)
{
	for (size_t i = 0; i < chart->n_series; i++)
		for (size_t k = 0; k < chart->series[i].n; k++)
			if (chart_shows(chart, &chart->series[i].points[k]))
				return true;
	return false;
}
