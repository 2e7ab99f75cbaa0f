/* Since when and how often the roofs were measured, and which are not stable, as a text. */
#pragma once

#include "machine/data/machine.h"

#include <stdio.h>

struct rf_error *machine_print_history(const struct machine *machine, FILE *stream);
