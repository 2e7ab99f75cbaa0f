/* Two lines are flushed and loaded, with instructions between the loads that wait for neither. */
#include "machine/core/window_size.h"

#include <math.h>
#include <string.h>

#define MOST 640 /* instructions: more than any core has under way */
#define TURNS 20
#define LOOKS 9
/* From both loads at once to one after another: flushes and fences are in both times, so that it
 * was 1.24 on an Emerald Rapids, where the least times of looks differ by a twentieth. */
#define LEAST_STEP 1.12
#define FIRST_LINE 1024 /* from r14 on */
#define SECOND_LINE 3072

/* None of them waits for another one. */
static const struct filler {
	enum core_window window;
	const char *bytes;
	size_t size;
} fillers[] = {
	{WINDOW_GENERAL, "\x49\x8d\x7d\x01", 4},            /* lea rdi, [r13 + 1] */
	{WINDOW_FLAGS, "\x4d\x39\xe5", 3},                  /* cmp r13, r12 */
	{WINDOW_VECTOR, "\x66\x41\x0f\x70\xc5\x00", 6},     /* pshufd xmm0, xmm13, 0 */
	{WINDOW_LOADS, "\x49\x8b\x7e\x40", 4},              /* mov rdi, [r14 + 64] */
	{WINDOW_STORES, "\x4d\x89\xae\x80\x00\x00\x00", 7}, /* mov [r14 + 128], r13 */
};
#define N_FILLERS (sizeof(fillers) / sizeof(*fillers))

static void add_line(struct code *code, const char *bytes, size_t size, int32_t at)
{
	code_add_bytes(code, bytes, size);
	code_add_bytes(code, &at, sizeof(at));
}

static void add_lfence(struct code *code)
{
	code_add_bytes(code, "\x0f\xae\xe8", 3);
}

/* Ticks of a turn with `n` of the fillers; `apart`: the second load waits for the first. */
static double ticks_with(struct form_measure *measure, const struct filler *filler, int n,
			 bool apart)
{
	struct code *code = timed_code_body(measure->timed);
	add_line(code, "\x41\x0f\xae\xbe", 4, FIRST_LINE);  /* clflush [r14 + ...] */
	add_line(code, "\x41\x0f\xae\xbe", 4, SECOND_LINE); /* the same */
	code_add_bytes(code, "\x0f\xae\xf0", 3);            /* mfence */
	add_lfence(code);
	add_line(code, "\x49\x8b\x9e", 3, FIRST_LINE); /* mov rbx, [r14 + ...] */
	for (int i = 0; i < n; i++)
		code_add_bytes(code, filler->bytes, filler->size);
	if (apart)
		add_lfence(code);
	add_line(code, "\x49\x8b\xb6", 3, SECOND_LINE); /* mov rsi, [r14 + ...] */
	add_lfence(code);
	return timed_code_least_ticks(measure->timed, TURNS, LOOKS) / TURNS;
}

double window_size_find(window_ticks *ticks, void *of)
{
	const double together = ticks(of, 1, false), apart = ticks(of, 1, true);
	int least = 1, most = MOST;
	if (!(apart > LEAST_STEP * together))
		return NAN;
	while (most - least > 1) {
		const int n = (least + most) / 2;
		if (ticks(of, n, false) < (together + apart) / 2)
			least = n;
		else
			most = n;
	}
	return least;
}

struct trial {
	struct form_measure *measure;
	const struct filler *filler;
};

static double ticks_of_trial(void *of, int n, bool apart)
{
	const struct trial *trial = of;
	return ticks_with(trial->measure, trial->filler, n, apart);
}

void window_size_measure(struct form_measure *measure, struct core_facts *facts)
{
	for (size_t i = 0; i < N_FILLERS; i++)
		facts->windows[fillers[i].window] =
			window_size_find(ticks_of_trial, &(struct trial){measure, &fillers[i]});
}
