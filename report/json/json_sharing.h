/* Lines that threads share as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* An array; docs/profile-format.md says what its members are. */
void report_json_sharing(struct json_writer *out, const char *key, const struct report_view *view);
