/* What stands in the cells of several tables. */
#include "report/text/cells.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

struct time_unit {
	const char *name;
	double seconds;
};

static struct time_unit choose_unit(double longest)
{
	if (longest >= 1 || longest == 0)
		return (struct time_unit){"s", 1};
	return longest >= 1e-3 ? (struct time_unit){"ms", 1e-3} : (struct time_unit){"µs", 1e-6};
}

/* Three digits, but no more than three decimals: finer is finer than the clock. */
static const char *time_number(char number[static TEXT_NUMBER], double value)
{
	if (value == 0)
		snprintf(number, TEXT_NUMBER, "0");
	else if (value < 0.0995)
		snprintf(number, TEXT_NUMBER, "%.3f", value);
	else
		text_number(number, value);
	return number;
}

void report_put_time(char *cell, double seconds, double longest)
{
	const struct time_unit unit = choose_unit(longest);
	char number[TEXT_NUMBER];
	if (isnan(seconds))
		snprintf(cell, 64, "–");
	else
		snprintf(cell, 64, "%s %s", time_number(number, seconds / unit.seconds), unit.name);
}

void report_put_share(char *cell, double share)
{
	snprintf(cell, 64, share >= 0.0995 || share == 0 ? "%.0f %%" : "%.1f %%", 100 * share);
}

enum style report_bound_style(const struct model_place *place)
{
	static const enum style styles[] = {
		[BOUND_UNKNOWN] = STYLE_DIM,       [BOUND_UNCOUNTED] = STYLE_DIM,
		[BOUND_MEMORY] = STYLE_MEMORY,     [BOUND_COMPUTE] = STYLE_COMPUTE,
		[BOUND_BALANCED] = STYLE_BALANCED, [BOUND_ISSUE] = STYLE_ISSUE,
		[BOUND_LATENCY] = STYLE_LATENCY,
	};
	return place->above ? STYLE_FAULT : styles[place->bound];
}

char report_plot_key(size_t rank)
{
	static const char keys[] = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	return rank < sizeof(keys) - 1 ? keys[rank] : '\0';
}
