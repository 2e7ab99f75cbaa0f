/* Has a child run the loop, and takes its answer. */
#include "machine/replay/replay.h"

#include "base/confined.h"
#include "machine/replay/replay_child.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS 3 /* that a child has */

const char *replay_why_words(enum replay_why why)
{
	static const char *const words[REPLAY_WHYS] = {
		[REPLAY_DONE] = "it was replayed",
		[REPLAY_LONG] = "it has too many instructions",
		[REPLAY_UNDECODED] = "it has bytes that are not known as instructions",
		[REPLAY_CALLS] = "it calls, returns or jumps by an address in a register",
		[REPLAY_REFUSED] = "it has an instruction that may do more than compute, or that "
				   "this processor does not have",
		[REPLAY_SEGMENT] = "it uses data of its thread (fs or gs)",
		[REPLAY_SCATTERED] = "it gathers or scatters, by addresses that are not known",
		[REPLAY_NO_VARIANT] = "there is no such variant of it",
		[REPLAY_ADDRESS] = "it makes addresses that cannot be, of registers that do not "
				   "hold what they held in the program",
		[REPLAY_FAULT] = "an instruction failed, such as a division of what is not what it "
				 "was in the program",
		[REPLAY_PAGES] = "it touches too many pages",
		[REPLAY_UNSTEADY] = "its time did not repeat",
		[REPLAY_CHILD] = "the process that ran it ended",
	};
	return why < REPLAY_WHYS ? words[why] : words[REPLAY_CHILD];
}

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
