/* The child goes through the events as the player does, and answers for each sample. */
#include "tracer/timed/stack_reader.h"

#include "base/confined.h"
#include "symbols/unwind.h"

#include <assert.h>
#include <stdlib.h>

enum { STACK = 1 }; /* number of addresses, addresses */
enum { MAX_FRAMES = 128 };

/* To read the unwind information of the largest programs, and so many samples a second. */
enum { READER_SECONDS = 60, SAMPLES_A_SECOND = 500 };

struct stack_reader {
	struct stack_batch batch;
	struct unwinder *unwinder; /* in the child */
	struct confined *child;
	const char *failure;
	uint8_t stack[UINT16_MAX + 1];
};

struct rf_error *mappings_play(struct mappings *mappings, const struct event *event)
{
	if (event->kind == EVENT_MAPPING)
		return mappings_add(mappings, event->pid, &event->mapping);
	if (event->kind == EVENT_EXEC)
		mappings_exec(mappings, event->pid);
	if (event->kind == EVENT_FORK && event->pid != event->parent.pid)
		return mappings_fork(mappings, event->parent.pid, event->pid);
	return NULL;
}

/* ---- in the child ---- */

static void open_files(void *context)
{
	struct stack_reader *reader = context;
	const struct module_file *file;
	reader->unwinder = unwinder_create();
	for (size_t i = 0; reader->unwinder && (file = module_files_item(reader->batch.files, i));
	     i++)
		if (file->open_path)
			unwinder_open(reader->unwinder, file->open_path);
}

static void answer_sample(struct stack_reader *reader, const struct event *event, FILE *answer)
{
	struct raw_sample raw;
	uint64_t addresses[MAX_FRAMES];
	size_t n_view, n = 0;
	sample_store_get(reader->batch.store, event->sample.number, &raw, reader->stack);
	const struct unwind_mapping *view =
		mappings_view(reader->batch.mappings, event->pid, &n_view);
	if (raw.stack_size && n_view && reader->unwinder)
		n = unwinder_walk(reader->unwinder, &raw.regs, reader->stack, raw.stack_size, view,
				  n_view, addresses, MAX_FRAMES);
	confined_put_tag(answer, STACK);
	confined_put_number(answer, n);
	for (size_t i = 0; i < n; i++)
		confined_put_number(answer, addresses[i]);
}

static void read_stacks(void *context, FILE *answer)
{
	struct stack_reader *reader = context;
	for (size_t i = 0; i < reader->batch.n_events; i++) {
		const struct event *event = &reader->batch.events[i];
		if (event_has_sample(event))
			answer_sample(reader, event, answer);
		else /* without memory stacks end early */
			rf_error_destroy(mappings_play(reader->batch.mappings, event));
	}
	unwinder_destroy(reader->unwinder);
}

/* ---- in rfprof ---- */

struct rf_error *stack_reader_create(const struct stack_batch *batch, struct stack_reader **out)
{
	struct stack_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return rf_error_no_memory();
	reader->batch = *batch;
	const struct confined_job job = {
		.fd = -1,
		.prepare = open_files,
		.read = read_stacks,
		.context = reader,
		.seconds = READER_SECONDS + (unsigned)(batch->n_events / SAMPLES_A_SECOND),
	};
	struct rf_error *error = confined_create(&job, &reader->child);
	if (error)
		free(reader);
	else
		*out = reader;
	return error;
}

static void fail(struct stack_reader *reader, const char *why)
{
	if (!reader->failure)
		reader->failure = why;
}

size_t stack_reader_next(struct stack_reader *reader, uint64_t *addresses, size_t max)
{
	assert(max >= MAX_FRAMES);
	const uint8_t tag = reader->failure ? 0 : confined_next(reader->child);
	const uint64_t n = tag == STACK ? confined_number(reader->child) : 0;
	if (tag != STACK) {
		const char *why = reader->failure ? NULL : confined_failure(reader->child);
		fail(reader, why ? why : "its reader's answer makes no sense");
		return 0;
	}
	if (n > MAX_FRAMES) {
		fail(reader, "its reader's answer makes no sense");
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		addresses[i] = confined_number(reader->child);
	return n;
}

const char *stack_reader_failure(struct stack_reader *reader)
{
	return reader->failure;
}

void stack_reader_destroy(struct stack_reader *reader)
{
	if (!reader)
		return;
	confined_destroy(reader->child);
	free(reader);
}
