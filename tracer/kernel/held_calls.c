/* Keeps what threads record while kernels are called. */
#include "tracer/kernel/held_calls.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void held_calls_init(struct held_calls *held, uint64_t most)
{
	*held = (struct held_calls){.most = most};
}

static void free_records(struct held_calls *held)
{
	for (size_t i = 0; i < held->n_events; i++)
		free(held->events[i].records);
	held->n_events = 0;
	held->bytes = 0;
}

void held_calls_deinit(struct held_calls *held)
{
	free_records(held);
	free(held->events);
	*held = (struct held_calls){0};
}

bool held_calls_add(struct held_calls *held, const struct held_event *event, size_t size)
{
	struct held_event own = *event;
	const uint64_t bytes = event->n * size;
	own.records = NULL;
	if (bytes > held->most - held->bytes)
		return false;
	if (bytes) {
		own.records = malloc(bytes);
		if (!own.records)
			return false;
		memcpy(own.records, event->records, bytes);
	}
	if (!rf_array_push(held->events, held->n_events, held->cap_events, own)) {
		free(own.records);
		return false;
	}
	held->bytes += bytes;
	held->n_open += event->kind == HELD_ENTER;
	held->n_open -= event->kind == HELD_LEAVE;
	held->n_entered += event->kind == HELD_ENTER;
	return true;
}

size_t held_calls_end(const struct held_calls *held, size_t enter)
{
	size_t i = enter + 1;
	while (i < held->n_events && !(held->events[i].kind == HELD_LEAVE &&
				       held->events[i].thread == held->events[enter].thread))
		i++;
	return i;
}

void held_calls_clear(struct held_calls *held)
{
	free_records(held);
	held->n_cut += held->n_open;
	held->n_open = 0;
}
