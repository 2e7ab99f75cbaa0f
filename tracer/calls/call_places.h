/* Where breakpoints show the calls of kernels: at the entries of their functions, and at each
 * instruction that returns from one. */
#pragma once

#include "base/error.h"
#include "tracer/calls/call_pairs.h"
#include "tracer/kernel/kernel_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MOST_CALL_PLACES 4 /* the processor has so many breakpoints */

struct call_place {
	uint64_t address;
	uint32_t kernel; /* a number below n_kernels of call_places */
	bool is_return;
};

struct call_places {
	struct call_place items[MOST_CALL_PLACES];
	size_t n;
	uint32_t kernels[MOST_TIMED_KERNELS]; /* their rows in the profile */
	size_t n_kernels;
	char missing[512]; /* names of kernels that are not watched, with commas between them; "" */
	const char *why;   /* of the last of them; static text, or NULL */
};

/* Of a process that stands at its entry point; `list`: as --kernel has it.  Kernels are taken in
 * its order, each with all functions of its name, as long as there are breakpoints.  Errors: its
 * memory cannot be read, or memory is short. */
struct rf_error *call_places_find(pid_t pid, const char *list, struct call_places *places);

/* The addresses of the instructions that return, of a function whose code is at `bytes` and begins
 * at `address`; up to `most`, and how many there are. */
size_t call_places_returns(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *returns,
			   size_t most);
