/* The ECM (execution-cache-memory) model: a turn's time from the times of its parts.
 *
 * [H]: J. Hofmann, G. Hager, G. Wellein, D. Fey, C. Alappat: Bridging the Architecture Gap (2019).
 * All of it is arithmetic on what it is given; docs/ecm.md says where that comes from. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a turn takes time for; each by itself, cycles. */
enum ecm_part {
	ECM_OL,        /* in the core, beside loads and stores: overlaps with all else */
	ECM_NOL,       /* loads and stores between registers and L1 */
	ECM_L1_L2,     /* the link between L1 and L2 */
	ECM_L2_L3,     /* and so on */
	ECM_L2_MEMORY, /* from memory into L2, past a victim L3 */
	ECM_L3_MEMORY,
	ECM_PARTS
};
#define ECM_FIRST_LINK ECM_L1_L2
#define ECM_SET(part) (1u << (part))
#define ECM_MEMORY (ECM_SET(ECM_L2_MEMORY) | ECM_SET(ECM_L3_MEMORY))

/* ---- which parts overlap ---- */

#define ECM_SUMS 3
/* Of parts in one sum one goes on after the other; sums, and parts in none, go on at once. */
struct ecm_rule {
	const char *name;              /* "none", … as in JSON */
	const char *words;             /* "nothing overlaps but arithmetic" */
	const char *microarchitecture; /* that [H] found it on, or NULL */
	unsigned sums[ECM_SUMS];       /* sets of parts; 0 ends them */
	/* the same where a transfer of memory takes time; begins with 0: as `sums` */
	unsigned with_memory[ECM_SUMS];
};
extern const struct ecm_rule ecm_rules[];
extern const size_t n_ecm_rules;

/* The rule that [H] found on the microarchitecture of that name (may be NULL), or NULL. */
const struct ecm_rule *ecm_rule_of(const char *microarchitecture);

struct ecm_time {
	double cycles; /* of a turn */
	unsigned adds; /* the set of parts that add up to it; all others are hidden behind these */
};
/* [H] eq. 4: the longest of all sums and parts.  `part`: ECM_PARTS times, cycles a turn (or any
 * other unit); what is not finite or below 0 counts as 0. */
struct ecm_time ecm_compose(const struct ecm_rule *rule, const double *part);

/* ---- transfers ---- */

/* What one link moves in a cycle, towards the core and away from it, each if it moves nothing else:
 * bytes a cycle, or any other unit; INFINITY: it takes no time. */
struct ecm_link {
	double in, out;
	bool duplex; /* both at once */
};
/* [H] eq. 3 without its latency penalty: the time of `in` bytes towards the core and `out` bytes
 * away from it. */
double ecm_transfer(const struct ecm_link *link, double in, double out);

/* What crosses the borders of the caches, bytes of whole lines towards the core and away from it:
 * between L1 and L2, L2 and L3, and the last cache and memory.  Clean victims, where a cache takes
 * those, are among what leaves. */
struct ecm_moves {
	double in[3], out[3];
};
/* The same by link.  `past_l3`: what comes from memory goes into L2 past the L3 ([H] 3.4.4); what
 * goes there comes from the L3 in any case.  `in`, `out`: ECM_PARTS of them, 0 for what is no link.
 */
void ecm_by_link(const struct ecm_moves *moves, bool past_l3, double *in, double *out);

/* ---- several threads ---- */

/* [H] eq. 5: the cycles of a turn of each of `n` threads, of which one alone takes `cycles`, of
 * these `memory` on the transfers of memory that all of them share.  A thread that finds the memory
 * busy waits for half a transfer: what is left of it on average ([H] fits this, p0). */
double ecm_with_threads(double cycles, double memory, double n);
/* The threads that saturate it: cycles / memory, as if none waited for another; INFINITY: no number
 * of them does. */
double ecm_saturated_by(double cycles, double memory);
