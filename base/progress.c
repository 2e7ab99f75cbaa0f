/* Tells on a terminal how far something is. */
#include "base/progress.h"

#include "base/clock.h"
#include "base/thread.h"

#include <unistd.h>

#define CLOCK_NS UINT64_C(1000000000) /* between two words of how long it takes */
#define BETWEEN_NS 200000000u         /* so often it can still be read */
#define LEAST_NS 1000000000u          /* of what was shorter nothing can be told */
#define LEAST_DONE 0.02

struct progress progress_begin(FILE *stream)
{
	const bool shows = stream && isatty(fileno(stream));
	return (struct progress){.stream = shows ? stream : NULL, .begin_ns = clock_now_ns()};
}

/* "12 s", "3 min 20 s": a line that changes each second needs no finer one. */
static void write_seconds(FILE *stream, double seconds)
{
	const unsigned long whole = (unsigned long)(seconds + 0.5);
	if (whole >= 60)
		fprintf(stream, "%lu min ", whole / 60);
	fprintf(stream, "%lu s", whole % 60);
}

static void end_line(const struct progress *progress)
{
	fputs("\033[K\r", progress->stream);
	fflush(progress->stream);
}

void progress_show(struct progress *progress, double done, const char *text)
{
	const uint64_t now_ns = clock_now_ns(), taken_ns = now_ns - progress->begin_ns;
	if (!progress->stream || (progress->shown_ns && now_ns - progress->shown_ns < BETWEEN_NS))
		return;
	progress->shown_ns = now_ns;
	fprintf(progress->stream, "rfprof: %s", text);
	if (taken_ns >= LEAST_NS && done >= LEAST_DONE) {
		fputs(", ", progress->stream);
		write_seconds(progress->stream, (double)taken_ns * 1e-9 * (1 - done) / done);
		fputs(" to go", progress->stream);
	}
	end_line(progress);
}

void progress_end(struct progress *progress)
{
	if (progress->stream && progress->shown_ns)
		end_line(progress);
	progress->stream = NULL;
}

/* ---- a clock ---- */

static void show_clock(struct progress_clock *clock)
{
	struct progress *progress = &clock->progress;
	const double taken_s = (double)(clock_now_ns() - progress->begin_ns) * 1e-9;
	progress->shown_ns = clock_now_ns();
	fprintf(progress->stream, "rfprof: %s: ", clock->text);
	write_seconds(progress->stream, taken_s);
	if (taken_s < clock->least_s) {
		fputs(", at least ", progress->stream);
		write_seconds(progress->stream, clock->least_s - taken_s);
		fputs(" to go", progress->stream);
	}
	end_line(progress);
}

static void *run_clock(void *context)
{
	struct progress_clock *clock = context;
	for (uint64_t next = clock_now_ns() + CLOCK_NS; thread_wait_until(&clock->end, next);
	     next += CLOCK_NS)
		show_clock(clock);
	return NULL;
}

void progress_clock_start(struct progress_clock *clock, FILE *stream, const char *text,
			  double least_s)
{
	*clock = (struct progress_clock){progress_begin(stream), text, least_s};
	if (clock->progress.stream && sem_init(&clock->end, 0, 0) == 0)
		clock->runs = thread_start(&clock->thread, run_clock, clock) == 0;
}

void progress_clock_end(struct progress_clock *clock)
{
	if (clock->runs) {
		sem_post(&clock->end);
		pthread_join(clock->thread, NULL);
	}
	clock->runs = false;
	progress_end(&clock->progress);
}
