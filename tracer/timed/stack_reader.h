/* Unwinds the stacks of samples in a child that has no rights (base/confined.h), since it reads the
 * unwind information of the program's files.  What the samples and the mappings are the child has
 * as a copy. */
#pragma once

#include "base/error.h"
#include "tracer/process/mappings.h"
#include "tracer/process/module_file.h"
#include "tracer/timed/sample_player.h"
#include "tracer/timed/sample_store.h"

/* Events in the order of their times, all borrowed while the reader lives. */
struct stack_batch {
	const struct event *events;
	size_t n_events;
	const struct sample_store *store;
	struct mappings *mappings;        /* before the first event */
	const struct module_files *files; /* where mappings lead */
};

struct stack_reader;
/* Starts to read.  Errors: there is no child. */
struct rf_error *stack_reader_create(const struct stack_batch *batch, struct stack_reader **out);
/* The stack of the next EVENT_SAMPLE, as unwinder_walk gives it; 0: not known. */
size_t stack_reader_next(struct stack_reader *reader, uint64_t *addresses, size_t max);
/* After the last one: why stacks are not known, or NULL; lives as long as the reader. */
const char *stack_reader_failure(struct stack_reader *reader);
void stack_reader_destroy(struct stack_reader *reader);

/* What an event changes about what is mapped. */
struct rf_error *mappings_play(struct mappings *mappings, const struct event *event);
