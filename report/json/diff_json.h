/* The comparison as JSON; docs/exports.md is its description. */
#pragma once

#include "report/diff/diff.h"

#include <stdio.h>

/* names: how A and B are called.  Fails only when memory is short. */
struct rf_error *diff_json(const struct diff *diff, const char *const names[2], FILE *stream);
