/* Threads that carry a standard stream between the program's pipe and ours, and the hash of what
 * they carried. */
#pragma once

#include "base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64-bit FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv) of a stream and its length; and of its words
 * alone, without blanks and signs, each number as one digit: what programs that print times write
 * alike in each run. */
struct stream_hash {
	uint64_t hash, bytes;
	uint64_t words;
	bool in_number; /* the last byte was part of one */
};
#define STREAM_HASH_INIT                                                              \
	{                                                                             \
		.hash = 0xcbf29ce484222325u, .bytes = 0, .words = 0xcbf29ce484222325u \
	}
void stream_hash_add(struct stream_hash *hash, const void *data, size_t size);

/* Input that was read in run 1: in memory, and once it is large in a file that has no name. */
struct kept_input {
	int fd; /* or -1 */
	uint64_t bytes;
	char folder[256]; /* of the file; "": in memory */
	int errnum;       /* not all of it could be kept: why, else 0 */
};

enum { RELAY_BUFFER = 1 << 16 };

struct relay {
	int in, out;    /* owned by the relay while it runs; -1: nowhere */
	int watch;      /* standard output itself, not owned, or -1: the relay ends when its reader
			 * has gone */
	int stop;       /* eventfd */
	uint64_t limit; /* ends after this many bytes */
	struct stream_hash hash;
	bool reader_gone;
	struct kept_input *keep;
	uint8_t buffer[RELAY_BUFFER];
	size_t from, to; /* what of the buffer was read and is not yet written */
	bool plain; /* rfprof has failed: bytes are carried, and nothing else is done with them */
	bool ended; /* the thread has nothing to carry any more */
	void *(*run)(void *);
	pthread_t thread;
	bool running;
};

#define RELAY_INIT                                                                 \
	{                                                                          \
		.in = -1, .out = -1, .watch = -1, .stop = -1, .limit = UINT64_MAX, \
		.hash = STREAM_HASH_INIT                                           \
	}

/* Bodies for `run`, which go on in their thread when rfprof fails (base/crash.h).  relay_output: in
 * → hash → watch (or nowhere).  relay_input: standard input → keep → out, never reading more than
 * the program's pipe has room for.  relay_replay: keep → out.
 */
void *relay_output(void *relay);
void *relay_input(void *relay);
void *relay_replay(void *relay);

/* Starts the thread with all signals blocked: a broken pipe is an error number here. */
struct rf_error *relay_start(struct relay *relay);
/* Waits for the end of the stream, at most `milliseconds` (negative: for ever), then stops it. */
void relay_join(struct relay *relay, int milliseconds);
