/* On whose account lines move: an instruction in a thread, with a small number (`who`).
 *
 * Each account counts the events of caches (cache/traffic.h) by the class of sets in which they
 * happened, so that classes that are left out later can be left out of the counts as well. */
#pragma once

#include "base/error.h"
#include "cache/traffic.h"
#include "profile/profile.h"
#include "tracer/traffic/class_stages.h"
#include "tracer/traffic/concentration.h"
#include "tracer/traffic/executions.h"
#include "tracer/translate/trace_config.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_ACCOUNT UINT32_MAX

struct accounts;

/* No accounts yet.  `classes`: bit k is set when class k is simulated at first.  NULL when memory
 * is short. */
struct accounts *accounts_create(uint64_t classes);
void accounts_destroy(struct accounts *accounts);

/* One event of that account, at a line of a class that is simulated at first.  `is_full`: all
 * accesses to the line are recorded, so that its write-allocate is known to be evadable or not. */
void accounts_count(struct accounts *accounts, uint32_t who, enum traffic event, unsigned class,
		    bool is_full);

/* Events in these classes are counted, too.  False where they are more than MOST_ADDED. */
bool accounts_add_classes(struct accounts *accounts, uint64_t classes);

/* The instruction of an account: module of the profile, and offset in it in bytes. */
void accounts_instruction(const struct accounts *accounts, uint32_t who, uint32_t *module,
			  uint64_t *offset);

/* Whether memory was short, so that accounts or events are missing. */
bool accounts_incomplete(const struct accounts *accounts);

/* Adds the events in `sample`, some of the classes at first, to the profile's traffic.  The share
 * of evadable ones among the write-allocates of full lines is taken for that of all.  Of an
 * instruction that keeps to few classes the events in all classes that were ever simulated are
 * scaled by its misses in the whole run (its executions, which the profile has already, times its
 * rate), and told as if they were of the sample's classes: with the mean and the spread that give
 * the figure and its half-width (model_estimate).  Errors: memory is short. */
struct rf_error *accounts_save(struct accounts *accounts, uint64_t sample,
			       const struct concentration *concentration,
			       const struct executions *executions, struct profile *profile);

/* The accounts of one thread, by the numbers of its instructions. */
struct thread_accounts {
	uint32_t thread;  /* its row in the profile */
	uint32_t **pages; /* of ACCOUNT_PAGE accounts plus 1; 0: none yet */
	uint32_t n_pages;
};
#define ACCOUNT_PAGE 256

void thread_accounts_deinit(struct thread_accounts *thread);

/* The account of the instruction of that number (struct trace_operand), or NO_ACCOUNT when it has
 * none yet. */
static inline uint32_t thread_accounts_find(const struct thread_accounts *thread, uint32_t number)
{
	const uint32_t page = number / ACCOUNT_PAGE;
	if (page >= thread->n_pages || !thread->pages[page])
		return NO_ACCOUNT;
	return thread->pages[page][number % ACCOUNT_PAGE] - 1; /* 0 becomes NO_ACCOUNT */
}

/* Opens an account for the operand's instruction, which has none yet.  NO_ACCOUNT when memory is
 * short. */
uint32_t thread_accounts_open(struct thread_accounts *thread, struct accounts *accounts,
			      const struct trace_operand *operand);
