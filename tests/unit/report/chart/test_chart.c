/* Scales, ticks, and which part of a line is seen. */
#include "report/chart/chart.h"

#include <criterion/criterion.h>

static void add(struct chart *chart, double x, double y)
{
	struct chart_series *series =
		chart->n_series ? &chart->series[0] : chart_add_series(chart, "one");
	cr_assert(chart_add_point(series, x, y, NULL));
}

Test(chart, logarithmic_axes_are_as_wide_as_the_points)
{
	struct chart chart;
	chart_init(&chart);
	chart.x.log = chart.y.log = true;
	add(&chart, 0.3, 3);
	add(&chart, 30, 700);
	add(&chart, 0, 1e9);      /* cannot be seen */
	add(&chart, INFINITY, 9); /* stands at the edge */
	const struct chart_scale x = chart_x_scale(&chart), y = chart_y_scale(&chart);
	cr_assert(x.low <= 0.3 && x.low >= 0.1 && x.high >= 30 && x.high <= 100);
	cr_assert(y.low <= 3 && y.high >= 700 && y.high <= 2000);
	for (double share = 0; share <= 1; share += 0.125)
		cr_expect(fabs(chart_share(&x, chart_value(&x, share)) - share) < 1e-12);
	chart_deinit(&chart);
}

Test(chart, linear_axes_begin_at_zero_where_asked)
{
	struct chart chart;
	struct chart_tick ticks[CHART_TICKS];
	chart_init(&chart);
	chart.y.from_zero = true;
	add(&chart, 100, 7);
	add(&chart, 300, 9);
	const struct chart_scale x = chart_x_scale(&chart), y = chart_y_scale(&chart);
	cr_assert(y.low == 0 && y.high >= 9 && x.low > 0 && x.low <= 100);
	const size_t n = chart_ticks(&y, ticks);
	cr_assert(n >= 4 && ticks[0].value == 0);
	for (size_t i = 1; i < n; i++)
		cr_expect(ticks[i].value > ticks[i - 1].value);
	chart_deinit(&chart);
}

Test(chart, without_points)
{
	struct chart chart;
	chart_init(&chart);
	chart.x.log = true;
	const struct chart_scale x = chart_x_scale(&chart), y = chart_y_scale(&chart);
	cr_assert(x.low < x.high && y.low < y.high);
	chart_deinit(&chart);
}

Test(chart, lines_are_cut_at_the_edges)
{
	const struct chart_scale x = {0.1, 100, true}, y = {1, 200, true};
	struct chart_line line = {.kind = CHART_SLOPE, .value = 5, .from = NAN, .to = 20};
	double ends[4];
	cr_assert(chart_clip(&line, &x, &y, ends));
	cr_assert(fabs(ends[0] - 0.2) < 1e-12 && fabs(ends[1] - 1) < 1e-12); /* enters below */
	cr_assert(fabs(ends[2] - 20) < 1e-12 && fabs(ends[3] - 100) < 1e-12);
	line = (struct chart_line){.kind = CHART_LEVEL, .value = 300, .from = NAN, .to = NAN};
	cr_assert(!chart_clip(&line, &x, &y, ends));
	line.value = 50;
	line.from = 10;
	cr_assert(chart_clip(&line, &x, &y, ends) && ends[0] == 10 && ends[2] == 100 &&
		  ends[1] == 50 && ends[3] == 50);
	line = (struct chart_line){.kind = CHART_UPRIGHT, .value = 1000, .from = NAN, .to = NAN};
	cr_assert(!chart_clip(&line, &x, &y, ends));
}
