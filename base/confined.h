/* Reading what may have been made to harm its reader: in a child that has no rights and little
 * time, and answers through a pipe.  Whatever becomes of the child, rfprof goes on.
 *
 * The child is a copy of this process, so that what it is asked need not be told.  An answer is a
 * row of items, each with a tag and then numbers and texts, as both sides agree.  It may be a lie:
 * who takes it checks each number. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The descriptor of what is read, in the child. */
#define CONFINED_FD 1

/* The tag behind the last item of a whole answer. */
#define CONFINED_END 0

struct confined_job {
	int fd; /* what is read; the child becomes its owner, else nobody; -1: none */
	/* In the child, with all rights: opens what else is read; or NULL.  All descriptors of this
	 * process are closed there; /proc/PID/fd leads to their files. */
	void (*prepare)(void *context);
	/* In the child, without rights: reads and answers. */
	void (*read)(void *context, FILE *answer);
	void *context;
	unsigned seconds; /* that it may take */
};

struct confined;
/* Starts the child.  Errors: no process, descriptor or memory for it. */
struct rf_error *confined_create(const struct confined_job *job, struct confined **out);
/* An answer of before without a child: `size` bytes that live as long as it, ended by
 * CONFINED_END. */
struct rf_error *confined_replay(const void *bytes, size_t size, struct confined **out);
/* Ends the child; NULL is allowed. */
void confined_destroy(struct confined *child);

/* ---- in the child ---- */

/* Begins an item; tags are 1 to 255. */
void confined_put_tag(FILE *answer, uint8_t tag);
void confined_put_number(FILE *answer, uint64_t number);
/* Of a longer text the first CONFINED_MAX_TEXT bytes. */
#define CONFINED_MAX_TEXT ((size_t)1 << 20)
void confined_put_text(FILE *answer, const char *text);
/* Ends the child there and then, with what it has answered as the whole answer. */
void confined_finish(FILE *answer) __attribute__((noreturn));

/* ---- in rfprof ---- */

/* The tag of the next item; 0: that was all, or the child has failed. */
uint8_t confined_next(struct confined *child);
/* What is not there is 0, and confined_next gives 0 from then on. */
uint64_t confined_number(struct confined *child);
/* The next `size` bytes as the child wrote them to `answer`; false: they are not there. */
bool confined_bytes(struct confined *child, void *to, size_t size);
/* To be freed; NULL: not there, or memory is short. */
char *confined_text(struct confined *child);
/* From now on what is taken is recorded, in place of what was before. */
void confined_record(struct confined *child);
/* What was recorded, up to what is taken next; false: memory was short. */
bool confined_recorded(const struct confined *child, const void **bytes, size_t *size);
/* Why the answer is not whole, in words such as "its reader ended by signal 11 (Segmentation
 * fault)", kept in `child`; NULL: it is.  Asked once confined_next has given 0. */
const char *confined_failure(struct confined *child);
