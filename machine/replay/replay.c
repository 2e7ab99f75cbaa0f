/* Has a child run the loop, and takes its answer. */
#include "machine/replay/replay.h"

#include "base/confined.h"
#include "machine/replay/replay_child.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 3 /* that a child has */

static bool take(struct confined *child, struct replay *out)
{
	if (confined_next(child) != REPLAY_ANSWER)
		return false;
	const uint64_t why = confined_number(child), folded = confined_number(child),
		       bits = confined_number(child);
	double cycles;
	memcpy(&cycles, &bits, sizeof(cycles));
	if (confined_next(child) || confined_failure(child) || why >= REPLAY_WHYS)
		return false;
	if (why == REPLAY_DONE && !(cycles > 0 && cycles < 1e7))
		return false;
	out->why = (enum replay_why)why;
	out->folded = folded != 0;
	out->cycles = why == REPLAY_DONE ? cycles : NAN;
	return true;
}

struct rf_error *replay_measure(const struct way_step *steps, size_t n, enum replay_variant variant,
				struct replay *out)
{
	struct replay_code *code = malloc(sizeof(*code));
	struct confined *child = NULL;
	if (!code)
		return rf_error_no_memory();
	*out = (struct replay){.why = replay_code_make(steps, n, variant, code), .cycles = NAN};
	if (out->why == REPLAY_DONE) {
		const struct confined_job job = {.fd = -1,
						 .prepare = replay_child_prepare,
						 .read = replay_child_run,
						 .context = code,
						 .seconds = SECONDS};
		out->why = REPLAY_CHILD;
		rf_error_destroy(confined_create(&job, &child));
		if (child)
			(void)take(child, out);
		confined_destroy(child);
	}
	free(code);
	return NULL;
}

struct rf_error *replay_loop(const struct way_step *steps, size_t n, struct loop_replay *out)
{
	struct rf_error *error = NULL;
	for (int i = 0; i < REPLAY_VARIANTS && !error; i++) {
		struct replay found;
		error = replay_measure(steps, n, (enum replay_variant)i, &found);
		if (error)
			break;
		out->cycles[i] = found.cycles;
		if (i == REPLAY_WHOLE) {
			out->why = found.why;
			out->folded = found.folded;
		}
		if (out->why != REPLAY_DONE)
			break;
	}
	return error;
}
