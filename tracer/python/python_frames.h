/* The frames of one thread, while it runs. */
#pragma once

#include "tracer/python/python_codes.h"
#include "tracer/python/python_memory.h"
#include "tracer/python/python_runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PYTHON_MAX_FRAMES 128

struct python_frame {
	uint32_t function; /* python_stacks_function */
	uint32_t line;     /* 0: not known */
	/* The first frame of a call of the interpreter from C: what is in the C stack's
	 * _PyEval_EvalFrameDefault, from the innermost, are the frames down to the next of these.
	 */
	bool is_entry;
};

/* Memory that was read at once, because frames are next to each other. */
struct python_window {
	uint64_t start;
	size_t size;
	uint8_t bytes[16384]; /* DATA_STACK_CHUNK_SIZE of pycore_frame.h: most stacks have one */
};

#define PYTHON_WINDOWS 4
/* What is known of a thread from the look before: its next look reads in one call what it needs. */
struct python_thread_hint {
	uint64_t cframe, chunk; /* addresses; 0: not known */
};

struct python_walker {
	pid_t pid;
	const struct python_runtime *runtime;
	struct python_codes *codes;
	/* the thread's state, as it was read */
	uint8_t state[PYTHON_MAX_THREAD_STATE];
	/* memory of the walk */
	struct python_reads reads;
	struct python_window windows[PYTHON_WINDOWS];
	size_t n_windows, n_raw;
	struct python_raw_frame {
		uint64_t code, instruction;
		bool is_entry;
	} raw[PYTHON_MAX_FRAMES];
	uint8_t code[PYTHON_MAX_FRAMES][PYTHON_MAX_CODE];
	struct python_frame frames[PYTHON_MAX_FRAMES];
};

enum python_walk_result {
	WALK_DONE,  /* walker->frames has them, none for a thread that runs no Python just now */
	WALK_TORN,  /* it changed under our eyes, too often; walker->state is the last one read */
	WALK_FAILED /* its state cannot be read */
};
/* Reads the thread whose state is at `thread`, the innermost frame first; *n: how many frames.  A
 * thread runs on meanwhile: a chain of frames that does not end as it must was torn, and is read
 * again, a few times.  Of a deeper stack the innermost PYTHON_MAX_FRAMES are given. */
enum python_walk_result python_walk(struct python_walker *walker, uint64_t thread,
				    struct python_thread_hint *hint, size_t *n);
