/* Thread counts as a user writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* As many hardware threads as Linux can be built for on x86-64 (NR_CPUS). */
#define THREAD_LIST_MOST 8192

/* Reads "1,2,4-8": numbers and ranges from 1 to THREAD_LIST_MOST, in any order, once or often.
 * *counts gets them ascending, each once, heap.  False, with *counts untouched, for anything else
 * and when memory is short. */
bool thread_list_parse(const char *text, int **counts, size_t *n);
