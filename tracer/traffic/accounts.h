/* On whose account lines move: an instruction in a thread, with a small number (`who`).
 *
 * Each account counts the events of caches (cache/traffic.h) by the class of sets in which they
 * happened, so that classes that are left out later can be left out of the counts as well. */
#pragma once

#include "base/error.h"
#include "cache/conflicts.h"
#include "cache/first_touches.h"
#include "cache/traffic.h"
#include "profile/profile.h"
#include "statistics/ratio.h"
#include "tracer/traffic/class_stages.h"
#include "tracer/translate/trace_config.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_ACCOUNT UINT32_MAX

struct accounts;

/* No accounts yet.  `classes`: bit k is set when class k is simulated at first; `kept`: in any
 * case.  NULL when memory is short. */
struct accounts *accounts_create(uint64_t classes, uint64_t kept);
void accounts_destroy(struct accounts *accounts);

/* One event of that account, at that line, of a class that is simulated.  `is_full`: all accesses
 * to the line are recorded, so that its write-allocate is known to be evadable or not. */
void accounts_count(struct accounts *accounts, uint32_t who, enum traffic event, uint64_t line,
		    bool is_full);

/* What an event in that class has told of conflicts; `conflict->who` is an account. */
void accounts_conflict(struct accounts *accounts, const struct conflict *conflict, unsigned class);

/* Events in these classes are counted, too.  False where they are more than MOST_ADDED. */
bool accounts_add_classes(struct accounts *accounts, uint64_t classes);

/* The instruction of an account: module of the profile, and offset in it in bytes. */
void accounts_instruction(const struct accounts *accounts, uint32_t who, uint32_t *module,
			  uint64_t *offset);
/* The thread, or its share in a kernel (profile_kernels.h). */
uint32_t accounts_thread(const struct accounts *accounts, uint32_t who);

/* ---- windows of time (target/windows.h) ---- */

/* An access of that account has missed the first level in a class that is kept; what is known of
 * it, behind a gap.  Then, perhaps, that it crosses a border (GAP_…). */
void accounts_touch(struct accounts *accounts, uint32_t who, const struct touch *touch);
void accounts_crossed(struct accounts *accounts, uint32_t who, const struct touch *touch,
		      int border);

/* What is open because caches were not known behind gaps: of so many lines, in the classes that are
 * kept, it is not known whether they crossed the border for that account (docs/traffic.md,
 * "Windows"). */
double accounts_unknown(const struct accounts *accounts, uint32_t who, int border);

/* What lines that were seen to cross the border are to be multiplied by, where what accesses found
 * behind gaps is told by those behind settling. */
double accounts_correction(const struct accounts *accounts, uint32_t who, int border);

/* The events of one border in one direction, as they are open (cache/traffic.h): these are
 * TRAFFIC_L2_READ_OPEN + n. */
#define N_OPEN (N_TRAFFIC - TRAFFIC_L2_READ_OPEN)
/* Their number for an event, or N_OPEN: none. */
unsigned accounts_open_of(enum traffic event);

struct thread_accounts;
/* A window ends for a thread.  `executions`: of its instructions, by their numbers, while they were
 * checked, since the thread began; n of them.  `by_chance`: the window stands for the time between
 * windows; one that has begun with the program, or for new code, stands for itself. */
void accounts_end_window(struct accounts *accounts, struct thread_accounts *thread,
			 const double *executions, uint32_t n, bool by_chance);
/* Lines in the kept classes for each execution, in the windows by chance. */
struct ratio accounts_ratio(const struct accounts *accounts, uint32_t who, unsigned open);

/* ---- the end ---- */

/* Whether memory was short, so that accounts or events are missing. */
bool accounts_incomplete(const struct accounts *accounts);

/* How many accounts there are, from 0 on; and the classes that were ever simulated, and those that
 * are from the beginning to the end. */
uint32_t accounts_n(const struct accounts *accounts);
uint64_t accounts_classes(const struct accounts *accounts);
uint64_t accounts_kept(const struct accounts *accounts);

/* Makes the counts of evadable lines and of conflicts, which are known of some lines only, those of
 * all: the shares of evadable ones among the write-allocates of full lines, and of conflicts among
 * the lines that are followed, are taken for those of all.  Once, when all is counted. */
void accounts_spread(struct accounts *accounts, uint32_t who);

/* Whether it has any event. */
bool accounts_has_events(const struct accounts *accounts, uint32_t who);
/* Its events in a class, as a row of the profile but for the class's number. */
struct profile_traffic accounts_row(const struct accounts *accounts, uint32_t who, unsigned class);
/* One kind of them, in those of these classes that were ever simulated. */
double accounts_lines(const struct accounts *accounts, uint32_t who, enum traffic event,
		      uint64_t classes);
/* How many lines of one class it has come to, about, by the share of bits that none of them has
 * (Whang et al., A linear-time probabilistic counting algorithm, 1990).  0: not known. */
double accounts_footprint(const struct accounts *accounts, uint32_t who);

/* The accounts of one thread, by the numbers of its instructions. */
struct thread_accounts {
	uint32_t thread;  /* its row in the profile */
	uint32_t **pages; /* of ACCOUNT_PAGE accounts plus 1; 0: none yet */
	uint32_t n_pages;
	double *executions; /* of n_executions numbers: those at the end of the last window */
	uint32_t n_executions;
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
