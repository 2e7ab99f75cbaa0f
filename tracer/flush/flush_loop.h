/* Labels of flush_loop.S, which says what lies there. */
#pragma once

#include <stdint.h>

/* The code is copied from the first of them to the last. */
extern const uint8_t flush_loop[], flush_line[], flush_skip[], flush_leave[], flush_left[],
	flush_kept[];
