/* A line that two threads write in turns. */
#pragma once

#include <stdint.h>

/* Of a line of its own; 0 at first. */
struct turn_line {
	_Alignas(128) uint64_t turn; /* with the neighbour that processors fetch along */
};

/* One of two threads, 0 and 1, that call this at the same time: `count` times each waits until the
 * other one has stored to the line, and then stores to it itself.  So the line moves 2 · count
 * times.  The line's turn is an even number before and behind it. */
void line_turns(struct turn_line *line, int thread, uint64_t count);
