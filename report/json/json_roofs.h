/* The roofs as JSON: the rows that were measured, and those that views show by name. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

void report_json_roofs(struct json_writer *out, const char *key, const struct profile *profile);
void report_json_custom_roofs(struct json_writer *out, const char *key,
			      const struct profile *profile);
/* What moves at most at a level, by mix and count of threads: the roofs of all views. */
void report_json_bandwidths(struct json_writer *out, const char *key,
			    const struct profile *profile);
/* The highest rate of each precision, by count of threads. */
void report_json_peaks(struct json_writer *out, const char *key, const struct profile *profile);
