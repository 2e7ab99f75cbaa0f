/* Single values as JSON. */
#include "report/json/json_values.h"

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

json_t *report_json_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *report_json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

json_t *report_json_string(const char *text)
{
	char *clean = text ? text_clean(text) : NULL;
	json_t *value = clean ? json_string(clean) : text ? NULL : json_null();
	free(clean);
	return value;
}
