/* Kernels (--kernel) as JSON. */
#pragma once

#include "profile/profile.h"
#include "report/json/json_writer.h"

/* The list of kernels, in the order of the option. */
void report_json_kernels(struct json_writer *out, const char *key, const struct profile *profile);
