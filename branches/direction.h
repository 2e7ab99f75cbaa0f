/* Whether a conditional branch is taken: a TAGE predictor, as the large ones of today's processors
 * are (A. Seznec, P. Michaud: A case for (partially) tagged geometric history length branch
 * prediction, 2006; A. Seznec: A new case for the TAGE branch predictor, 2011), and gshare (S.
 * McFarling: Combining branch predictors, 1993), its plain twin.  docs/branches.md has the sizes
 * and the rules.  Both are told every outcome in the order of the thread. */
#pragma once

#include "branches/history.h"

#include <stdbool.h>
#include <stdint.h>

#define TAGE_TABLES 8
#define TAGE_INDEX_BITS 11
#define TAGE_TAG_BITS 12
#define TAGE_BASE_BITS 13
extern const uint16_t tage_lengths[TAGE_TABLES]; /* of histories, bits */

/* Counters say taken from 0 on. */
#define TAGE_COUNTER_MAX 3 /* of 3 bits: -4 to 3 */
#define TAGE_BASE_MAX 1    /* of 2 bits: -2 to 1 */
#define TAGE_USEFUL_MAX 3
#define TAGE_ALTERNATE_MAX 7  /* of 4 bits: -8 to 7 */
#define TAGE_AGING (1u << 17) /* updates between halvings of all `useful` */

struct tage_entry {
	uint16_t tag; /* 0: none is there */
	int8_t counter;
	uint8_t useful;
};

/* Of branches without a pattern TAGE learns what was chance, and does worse than to say what they
 * did most often.  So it is corrected, as by the statistical corrector of that paper of 2011, in
 * its plainest form: for each place a wide counter of outcomes, and one of which of both was right
 * where they differed. */
#define TAGE_BIAS_MAX 31  /* of 6 bits: -32 to 31 */
#define TAGE_TRUST_MAX 31 /* below 0: the bias is believed */

struct tage {
	int8_t base[1 << TAGE_BASE_BITS];
	int8_t bias[1 << TAGE_BASE_BITS], trust[1 << TAGE_BASE_BITS];
	struct tage_entry tables[TAGE_TABLES][1 << TAGE_INDEX_BITS];
	int8_t use_alternate; /* from 0 on: new entries are not trusted */
	uint32_t updates;     /* since the last aging */
	uint32_t random;
};

/* Nothing is known: no branch is taken. */
void tage_init(struct tage *tage);
/* Predicts the branch at `place` behind `history`, is then told whether it was taken, and returns
 * what it predicted.  The history is not changed. */
bool tage_take(struct tage *tage, const struct branch_history *history, uint64_t place, bool taken);

/* The next random number of those by which entries are placed (a xorshift of 32 bits). */
uint32_t tage_random(uint32_t *state);
#define TAGE_SEED 0x2545f491u

#define GSHARE_BITS 14
struct gshare {
	int8_t counters[1 << GSHARE_BITS]; /* of 2 bits: -2 to 1; all zero: nothing is known */
};
/* The same of gshare. */
bool gshare_take(struct gshare *gshare, const struct branch_history *history, uint64_t place,
		 bool taken);
