/* Formulas against values worked out by hand, and texts that are none. */
#include "sweep/formula.h"

#include "tests/unit/assert_ok.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static bool names(void *context, const char *name, double *value)
{
	if (strcmp(name, "n") == 0)
		*value = 8;
	else if (strcmp(name, "k_2") == 0)
		*value = 3;
	else
		return false;
	return true;
}

Test(formula, values)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"5*n*log2(n)", 120},
		{" 2 * n ^ 3 + 2*n^2 ", 1152},
		{"2^3^2", 512},
		{"-n^2", -64},
		{"2^-1", 0.5},
		{"n/2/2", 2},
		{"n-1-1", 6},
		{"(n+1)*k_2", 27},
		{"min(n,k_2)-max(n, k_2)", -5},
		{"ceil(n/3)+floor(n/3)", 5},
		{"sqrt(2*n)+log10(1000)+ln(1)", 7},
		{"1e3+.5", 1000.5},
		{"--n", 8},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double value = NAN;
		assert_ok(formula_value(cases[i].text, names, NULL, &value));
		cr_expect(fabs(value - cases[i].value) < 1e-12, "%s: %g", cases[i].text, value);
	}
}

Test(formula, texts_that_are_none)
{
	static const char *const texts[] = {"",     "n+",      "(n",     "n)",  "n n", "m",
					    "log2", "min(n)",  "n(2)",   "2n",  "*n",  "log2()",
					    "n,n",  "min(n,)", "sin(n)", "5*n*"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		double value = 42;
		struct rf_error *error = formula_value(texts[i], names, NULL, &value);
		cr_expect(error, "\"%s\" is taken", texts[i]);
		cr_expect(value == 42);
		rf_error_destroy(error);
	}
}

Test(formula, depth_is_bounded)
{
	char text[4000];
	double value;
	memset(text, '(', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct rf_error *error = formula_value(text, names, NULL, &value);
	cr_assert(error);
	rf_error_destroy(error);
	memset(text, '-', sizeof(text) - 1);
	error = formula_value(text, names, NULL, &value);
	cr_assert(error);
	rf_error_destroy(error);
}
