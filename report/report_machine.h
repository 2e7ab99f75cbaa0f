/* The machine's roofs as a picture, without a run. */
#pragma once

#include "base/error.h"

struct machine;

/* Draws the empty roofline plot of a machine to the file `path`. */
struct rf_error *report_machine_svg(const struct machine *machine, const char *path);
