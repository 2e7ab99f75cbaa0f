/* Lengths of time as people write them. */
#pragma once

#include <stdbool.h>

/* "90", "1.5s", "1m30s", "2h", "250ms": seconds, at most ten years; false, and *seconds as it was,
 * for anything else. */
bool duration_parse(const char *text, double *seconds);
