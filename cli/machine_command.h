/* `rfprof machine`: the roofs as a table, as JSON, as a picture, and the custom roofs. */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct machine_command {
	bool refresh, quick, json;
	const char *threads;     /* "1,2,4-8", or NULL */
	const char *svg_path;    /* or NULL */
	const char *import_path; /* a file of roofs to keep, or NULL */
	const char *forget;      /* name of a kept roof, "all", or NULL */
};

/* Does it; the output goes to standard output, warnings and progress to standard error. */
struct rf_error *machine_command(const struct machine_command *command);
