/* One line of a terminal that overwrites itself: what is being done, and how long it still takes.
 */
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A stream that is no terminal, and NULL, are shown nothing. */
struct progress {
	FILE *stream; /* NULL: nothing is shown */
	uint64_t begin_ns, shown_ns;
};

struct progress progress_begin(FILE *stream);
/* Shows `text`, some times a second at most; done: how much of all, 0 to 1, from which the time to
 * go follows once it can be told. */
void progress_show(struct progress *progress, double done, const char *text);
/* Takes the line away. */
void progress_end(struct progress *progress);

/* A thread that shows each second how long something takes of which nobody knows when it ends.  It
 * stays where it is while the thread runs. */
struct progress_clock {
	struct progress progress;
	const char *text; /* borrowed */
	double least_s;   /* what it takes at least; 0: nothing is known */
	sem_t end;
	pthread_t thread;
	bool runs;
};

void progress_clock_start(struct progress_clock *clock, FILE *stream, const char *text,
			  double least_s);
void progress_clock_end(struct progress_clock *clock);
