/* How sure it is what of the time that threads ran was user and what kernel time.
 *
 * The sum is known; its parts are as the samples are, which come at regular distances of a thread's
 * processor time.  Such samples tell the parts the better, the longer the program stays in one of
 * both.  What they vary by shows where neighbours in time differ (successive differences; Wolter,
 * An Investigation of Some Estimators of Variance for Systematic Sampling, 1984): for parts that
 * are mixed as by chance that is the variance of independent samples, for long parts it is more
 * than the true one.  Parts that are nearly even and together about as long as samples are apart
 * are told too surely: 88 % instead of 95 %.  What no sample stands for, at a thread's beginning
 * and end, may be either. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct split_thread {
	double weight_s;    /* of its samples */
	double last_weight; /* of the last one, s; 0: there was none */
	bool last_kernel;
};

struct split {
	double weight_s, squares, variance; /* of all samples: sums of s, s² */
};

/* Samples of a thread, in the order of their times. */
void split_add(struct split *split, struct split_thread *thread, double weight_s, bool kernel);
/* When all samples are there, for each thread: how long it ran, by the kernel. */
void split_add_ran(struct split *split, const struct split_thread *thread, double ran_s);
/* Half-width of the interval of 95 % for the user time, and for the kernel time: s, not above
 * `ran_s` of all threads. */
double split_halfwidth(const struct split *split, double ran_s);
/* The same where there are samples of user time alone, and the rest is the kernel's. */
double split_halfwidth_of_one(const struct split *split, double ran_s);
