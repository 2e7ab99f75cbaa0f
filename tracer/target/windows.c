/* Chooses the windows of time in which accesses are checked. */
#include "tracer/target/windows.h"

#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* A window is this part of what windows may take in all, but neither shorter nor longer than these:
 * a change of copies takes some 0.1 ms, and the last cache of 32 MB is filled in a few. */
#define WINDOW_PART 16
#define SHORTEST_NS 10e6
#define LONGEST_NS 100e6
/* A window for new code is as short as that; all that windows may take, and at least so much, may
 * be spent on them before it is earned. */
#define NEW_CODE_NS 3e6
#define LEAST_DEBT_NS 150e6
#define LEAST_PART 10 /* a moment earns one part in so many of what it earns at first, or more */

struct windows {
	pthread_mutex_t lock; /* of all that follows */
	double share;         /* time in windows for each second outside */
	double native_ns;     /* what the program takes natively; 0: not known */
	double outside_ns;    /* time outside of windows so far */
	double length_ns;     /* of a window, in the mean */
	double debt_ns;       /* what may be spent on new code ahead */
	double earned_ns;     /* that windows may take; below 0: they have taken too much */
	double end_ns;        /* the length of this window, or what is to be earned for the next */
	uint64_t since_ns;    /* of this window, or of the time outside; 0: before the first */
	uint64_t seen_ns;     /* when `earned_ns` was right */
	uint32_t number;      /* of windows so far */
	uint32_t ended;       /* the number of the one that a thread has ended last */
	enum copy wanted;
	bool by_chance; /* the window began when it was its time; else for new code, or first */
	uint64_t random;
};

/* 0.5 to 1.5, by xorshift (Marsaglia, 2003) */
static double about_one(struct windows *windows)
{
	windows->random ^= windows->random << 13;
	windows->random ^= windows->random >> 7;
	windows->random ^= windows->random << 17;
	return 0.5 + (double)(windows->random >> 11) * 0x1p-53;
}

struct windows *windows_create(double slowdown, double native_s, double least_s)
{
	struct windows *windows = calloc(1, sizeof(*windows));
	if (!windows)
		return NULL;
	pthread_mutex_init(&windows->lock, NULL);
	windows->share = native_s > 0 ? fmax(slowdown - 1, least_s / native_s) : slowdown - 1;
	windows->native_ns = native_s * 1e9;
	const double all_ns = windows->native_ns * windows->share;
	windows->length_ns = fmin(fmax(all_ns / WINDOW_PART, SHORTEST_NS), LONGEST_NS);
	windows->debt_ns = fmax(all_ns, LEAST_DEBT_NS);
	windows->number = 1;
	windows->random = clock_now_ns() | 1;
	windows->end_ns = windows->length_ns * about_one(windows);
	return windows;
}

void windows_destroy(struct windows *windows)
{
	if (!windows)
		return;
	pthread_mutex_destroy(&windows->lock);
	free(windows);
}

double windows_native_ns(const struct windows *windows)
{
	return windows->native_ns;
}

static void begin_window(struct windows *windows, uint64_t now)
{
	windows->wanted = COPY_FIRST;
	windows->number++;
	windows->by_chance = true;
	windows->since_ns = now;
	windows->end_ns = windows->length_ns * about_one(windows);
}

/* What so many ns outside of windows earn.  A program that takes longer there than natively is
 * slowed down by being counted, as interpreters are; windows are not to come on top of that with as
 * much again.  So each moment beyond the native time earns less by the square of the ratio, but
 * never less than a tenth, from `least_ns` on: it may do something else in the end. */
static double earned_by(const struct windows *windows, double outside_ns)
{
	const double native_ns = windows->native_ns, least_ns = native_ns * sqrt(LEAST_PART);
	if (native_ns <= 0 || outside_ns <= native_ns)
		return windows->share * outside_ns;
	if (outside_ns <= least_ns)
		return windows->share * native_ns * (2 - native_ns / outside_ns);
	return earned_by(windows, least_ns) + windows->share * (outside_ns - least_ns) / LEAST_PART;
}

/* The inverse: how many ns outside of windows earn that. */
static double time_to_earn(const struct windows *windows, double earned_ns)
{
	const double native_ns = windows->native_ns, least_ns = native_ns * sqrt(LEAST_PART);
	const double outside_ns = earned_ns / windows->share;
	if (native_ns <= 0 || outside_ns <= native_ns)
		return outside_ns;
	const double beyond = earned_ns - earned_by(windows, least_ns);
	return beyond < 0 ? native_ns / (2 - outside_ns / native_ns)
			  : least_ns + beyond * LEAST_PART / windows->share;
}

/* Brings everything up to date. */
static void advance(struct windows *windows, uint64_t now)
{
	if (!windows->since_ns)
		windows->since_ns = windows->seen_ns = now;
	if (now < windows->seen_ns) /* another thread has looked at the clock later */
		now = windows->seen_ns;
	const double passed = (double)(now - windows->seen_ns);
	windows->seen_ns = now;
	if (windows->wanted == COPY_FIRST) {
		windows->earned_ns -= passed;
		if ((double)(now - windows->since_ns) < windows->end_ns)
			return;
		windows->wanted = COPY_PLAIN;
		windows->since_ns = now;
		windows->end_ns = windows->length_ns * about_one(windows);
	} else {
		const double before = earned_by(windows, windows->outside_ns);
		windows->outside_ns += passed;
		windows->earned_ns += earned_by(windows, windows->outside_ns) - before;
		if (windows->earned_ns >= windows->end_ns)
			begin_window(windows, now);
	}
}

enum copy windows_wanted(struct windows *windows, uint64_t now)
{
	pthread_mutex_lock(&windows->lock);
	advance(windows, now);
	const enum copy wanted = windows->wanted;
	pthread_mutex_unlock(&windows->lock);
	return wanted;
}

void windows_pay(struct windows *windows, uint32_t number, uint64_t ns)
{
	pthread_mutex_lock(&windows->lock);
	const double outside_ns = windows->outside_ns, before_ns = fmax(outside_ns - (double)ns, 0);
	if (windows->ended >= number) /* and nothing is earned by that time */
		windows->earned_ns -=
			(double)ns + earned_by(windows, outside_ns) - earned_by(windows, before_ns);
	else
		windows->ended = number;
	pthread_mutex_unlock(&windows->lock);
}

bool windows_begin_for_new_code(struct windows *windows, uint64_t now)
{
	pthread_mutex_lock(&windows->lock);
	advance(windows, now);
	if (windows->wanted == COPY_PLAIN && windows->earned_ns > -windows->debt_ns) {
		begin_window(windows, now);
		windows->end_ns = NEW_CODE_NS * about_one(windows);
		windows->by_chance = false;
	}
	const bool begun = windows->wanted == COPY_FIRST;
	pthread_mutex_unlock(&windows->lock);
	return begun;
}

uint32_t windows_number(struct windows *windows, bool *by_chance)
{
	pthread_mutex_lock(&windows->lock);
	const uint32_t number = windows->number;
	*by_chance = windows->by_chance;
	pthread_mutex_unlock(&windows->lock);
	return number;
}

/* ns outside of windows until the next one begins. */
static double time_to_next(const struct windows *windows)
{
	const double missing = windows->end_ns - windows->earned_ns;
	const double so_far = earned_by(windows, windows->outside_ns);
	return time_to_earn(windows, so_far + missing) - windows->outside_ns;
}

uint64_t windows_patience(struct windows *windows)
{
	pthread_mutex_lock(&windows->lock);
	const double left =
		windows->wanted == COPY_FIRST
			? windows->end_ns - (double)(windows->seen_ns - windows->since_ns)
			: time_to_next(windows);
	pthread_mutex_unlock(&windows->lock);
	return left > 1 ? (uint64_t)left : 1;
}
