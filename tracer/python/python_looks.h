/* What looks at threads have seen, kept so that little memory is enough: stacks are branches of one
 * tree, and looks that follow each other and see the same are one row. */
#pragma once

#include "tracer/python/python_frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sure look may be so many times as far from a sample as another one.  Where others want the
 * processors too, most looks see a thread wait for one, and sure ones are some 100 ms apart: they
 * are older, but tell the shares of functions right. */
#define PYTHON_SURE_FACTOR 20

struct python_looks;
struct python_looks *python_looks_create(void);
void python_looks_destroy(struct python_looks *looks);

/* A look at a thread at `time` (CLOCK_MONOTONIC, ns), which saw these frames, the innermost first;
 * times ascend.  What is beyond the limits, or of what memory is short, is left out. */
void python_looks_add(struct python_looks *looks, uint32_t pid, uint32_t tid, uint64_t time,
		      const struct python_frame *frames, size_t n, bool holds_gil);
/* The thread was on a processor from `from` to `to` without a break: looks at that time are sure,
 * others may have seen it wait for one. */
void python_looks_ran(struct python_looks *looks, uint32_t pid, uint32_t tid, uint64_t from,
		      uint64_t to);
/* Forgets what is before `time`, but for the last of each thread. */
void python_looks_forget(struct python_looks *looks, uint64_t time);

/* The look nearest to `time`, not farther than `within_ns`, or PYTHON_SURE_FACTOR times that of
 * sure ones, which are taken before others: puts its frames, the innermost first, and returns how
 * many; 0: there is none, or it saw none. */
size_t python_looks_find(const struct python_looks *looks, uint32_t pid, uint32_t tid,
			 uint64_t time, uint64_t within_ns,
			 struct python_frame frames[PYTHON_MAX_FRAMES], bool *holds_gil);
