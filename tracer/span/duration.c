/* Numbers with units, the larger ones first. */
#include "tracer/span/duration.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_S (10 * 365.25 * 86400)

/* By length of their names, so that "ms" is not taken for minutes. */
static const struct {
	const char *name;
	double seconds;
} units[] = {{"ms", 1e-3}, {"us", 1e-6}, {"h", 3600}, {"m", 60}, {"s", 1}};

/* The unit at *text, which is moved behind it; 0: there is none. */
static double take_unit(const char **text)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const size_t length = strlen(units[i].name);
		if (strncmp(*text, units[i].name, length) == 0) {
			*text += length;
			return units[i].seconds;
		}
	}
	return 0;
}

bool duration_parse(const char *text, double *seconds)
{
	double sum = 0, last = LONGEST_S;
	bool bare = false;
	do {
		char *end;
		if (!isdigit((unsigned char)*text) && *text != '.')
			return false;
		const double number = strtod(text, &end);
		if (strspn(text, "0123456789.") != (size_t)(end - text))
			return false; /* 0x10, 1e3 */
		text = end;
		double unit = take_unit(&text);
		if (bare || (!unit && *text) || (unit && unit >= last))
			return false;
		bare = !unit;
		unit = unit ? unit : last < LONGEST_S ? 0 : 1;
		if (!unit)
			return false; /* "1m30" could be anything */
		last = unit;
		sum += number * unit;
	} while (*text);
	if (!(sum <= LONGEST_S))
		return false;
	*seconds = sum;
	return true;
}
