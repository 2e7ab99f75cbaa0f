/* Arithmetic formulas of named values, as command lines give them: 5*n*log2(n). */
#pragma once

#include "base/error.h"

#include <stdbool.h>

/* Sets *value to that of a name; false: there is none of that name. */
typedef bool formula_names(void *context, const char *name, double *value);

/* The value of a formula: numbers, names, + - * / ^ (to the right), brackets, and the functions
 * log2, log10, ln, sqrt, ceil, floor of one value, min and max of two.  Division by zero and the
 * like give what IEEE 754 says.  RF_EINPUT: it is no formula, or has a name that there is not;
 * *out is then untouched. */
struct rf_error *formula_value(const char *text, formula_names *names, void *context, double *out);
