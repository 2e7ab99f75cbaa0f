/* What stands in the cells of several tables. */
#include "report/text/cells.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

const char *report_put_time(char *cell, double seconds, double longest)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}};
	const int unit = longest >= 1 || longest == 0 ? 0 : longest >= 1e-3 ? 1 : 2;
	const double value = seconds / units[unit].seconds;
	char number[TEXT_NUMBER];
	if (isnan(seconds))
		snprintf(cell, 64, "–");
	/* no more than three decimals: finer is finer than the clock */
	else if (value != 0 && value < 0.0995)
		snprintf(cell, 64, "%.3f %s", value, units[unit].name);
	else
		snprintf(cell, 64, "%s %s", value == 0 ? "0" : text_number(number, value),
			 units[unit].name);
	return cell;
}

const char *report_put_share(char *cell, double share)
{
	snprintf(cell, 64, share >= 0.0995 || share == 0 ? "%.0f %%" : "%.1f %%", 100 * share);
	return cell;
}

enum style report_bound_style(const struct model_place *place)
{
	static const enum style styles[] = {
		[BOUND_UNKNOWN] = STYLE_DIM,       [BOUND_UNCOUNTED] = STYLE_DIM,
		[BOUND_MEMORY] = STYLE_MEMORY,     [BOUND_COMPUTE] = STYLE_COMPUTE,
		[BOUND_BALANCED] = STYLE_BALANCED, [BOUND_ISSUE] = STYLE_ISSUE,
		[BOUND_LATENCY] = STYLE_LATENCY,   [BOUND_WAITING] = STYLE_DIM,
		[BOUND_KERNEL] = STYLE_DIM,
	};
	return place->above ? STYLE_FAULT : styles[place->bound];
}

char report_plot_key(size_t rank)
{
	static const char keys[] = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	return rank < sizeof(keys) - 1 ? keys[rank] : '\0';
}
