/* What the model's kinds and data objects are called, the same in all views. */
#pragma once

#include "report/model/model.h"

/* "memory", "compute", "latency", …: the column of the table and the key in JSON and CSV. */
const char *report_bound_name(enum model_bound bound);
/* "memory or latency" where the interval of its distance leaves both, "memory" where it does not.
 */
const char *report_bound_words(const struct model_place *place, char *text, size_t size);
/* The same where there is room for it: "instruction issue", "no roof". */
const char *report_bound_title(enum model_bound bound);
/* "stream", "random", "chase". */
const char *report_pattern_name(enum model_pattern pattern);
/* Unit of a point and its roof: "GFLOP/s", …; "" for none. */
const char *report_point_unit(enum model_axis axis);
/* Where the bytes at memory are from: "traced, caches simulated", … */
const char *report_memory_words(enum model_memory source);
/* "the 96.0 MB that main (mesh.c:88) allocates"; not clean. */
void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size);
