/* The figures that say why a function takes its time; report/reasons puts them into words. */
#pragma once

#include "report/model/model.h"
#include "report/reasons/sharing.h"

/* What a function must do, each of which needs time of its own while the others go on beside it. */
enum model_need {
	NEED_LEVEL, /* and those behind it: what moves at the levels L1 to DRAM, by bandwidth */
	NEED_DATA = NEED_LEVEL + MODEL_LEVELS, /* waiting for lines that nobody fetches ahead */
	NEED_ARITHMETIC,                       /* its flop, in its widths and kinds */
	NEED_ISSUE,                            /* its instructions, at the issue limit */
	NEED_TAKEN,                            /* branches that are taken: one a cycle */
	NEED_CHAIN,                            /* chains from turn to turn of its loops */
	NEED_DIVIDER,                          /* divisions of integers */
	NEED_ATOMIC,                           /* atomic updates of memory */
	N_MODEL_NEEDS
};

/* Why it may take longer than it must. */
enum model_cause {
	CAUSE_BANDWIDTH, /* what moves at the level that its roof stands on */
	CAUSE_IRREGULAR, /* addresses without order */
	CAUSE_STRIDED,   /* constant steps that are no unit steps */
	CAUSE_UNUSED,    /* bytes that are brought in and not used */
	CAUSE_EVADABLE,  /* lines that are read only to be overwritten */
	CAUSE_CONFLICTS, /* lines that push each other out though there is room */
	CAUSE_CAPACITY,  /* what a larger cache would keep */
	CAUSE_SLOW,      /* divisions and square roots */
	CAUSE_DIVISIONS, /* of integers */
	CAUSE_ATOMIC,    /* atomic updates of memory */
	CAUSE_SCALAR,    /* one lane of a vector */
	CAUSE_NARROW,    /* vectors that are not the widest */
	CAUSE_UNFUSED,   /* additions of products that were just made */
	CAUSE_MASKED,    /* lanes that are masked off */
	CAUSE_ISSUE,     /* the number of instructions */
	CAUSE_CHAIN,     /* each turn waits for the one before */
	CAUSE_BRANCHES,  /* branches that go either way */
	CAUSE_TAKEN,     /* branches, calls and returns */
	CAUSE_SHORT_LOOP,
	CAUSE_FALSE_SHARING, /* lines that move between threads which use other bytes of them */
	CAUSE_TRUE_SHARING,  /* and which use the same bytes */
	CAUSE_UNKNOWN,       /* the rest of the time of code with few instructions a cycle */
	N_MODEL_CAUSES
};

/* Shares are in percent, rates in GFLOP/s or 1e9 bytes per second.  A figure that is not known is
 * 0 or NAN, so that no reason holds because of it. */
struct model_evidence {
	/* Seconds of elapsed time: the least that it needs for each, as far as it is known, and
	 * what it could save at most without a cause: not more than the cause needs, and not more
	 * than what is left when all else that it must do goes on. */
	double needs[N_MODEL_NEEDS];
	double saved[N_MODEL_CAUSES];

	/* Of its flop. */
	double width[FLOP_WIDTHS], kind[FLOP_KINDS], precision[FLOP_PRECISIONS];
	double slow;    /* divisions and square roots */
	double fusible; /* additions of products that were just made, with these products */
	double masked;  /* of all vector lanes: masked off */
	/* The width of most of its flop, and what its kinds of instructions reach at most: in
	 * scalar code, in that width and in the widest one (model_width_ceiling()); 0: nothing was
	 * measured. */
	enum flop_width main_width;
	double scalar_top, own_top, widest_top;

	/* Of its instructions. */
	double ipc;         /* in a cycle of the measured clock; NAN without a clock or time */
	double issue_width; /* at most so many */
	double transfers;   /* share of branches, calls and returns */
	double rare_ways;   /* branches that went the rarer of their two ways, of all branches */
	/* Processor time of what simulated predictors mispredict, and the branch at which they do
	 * so most often; NAN and NULL where it is not known. */
	double mispredicted_s;
	const struct profile_branch *worst;

	/* Of its data. */
	/* The level whose bandwidth its roof stands on; NULL: a compute roof, or nothing is known
	 * to have moved there. */
	const struct model_level *level;
	double bandwidth_used; /* of that level's */
	/* The level whose bytes are known so roughly that they may need most of its time, though
	 * the estimate does not; NULL: none. */
	const struct model_level *unsure;
	/* Of the lines that L1 had not: those of instructions whose addresses are irregular; where
	 * no instruction is told apart (by_steps) of the steps between addresses, as `strided`. */
	double irregular, strided;
	bool by_steps;
	bool steps_far; /* many steps are strided, and most of each line is not touched by then */
	double touched; /* of the bytes that come to L1: loaded and stored, more than 100 where they
			 * are used again; NAN: none come */
	double used;    /* of the bytes that it brings in from memory; NAN: none */
	double evadable;  /* of its memory traffic: lines read only to be overwritten whole */
	double conflicts; /* of its memory traffic: of sets, where memory holds it; else 0 */
	bool would_fit;   /* a larger cache would spare much of its memory traffic */
	struct sharing_part sharing[SHARING_TRUE + 1]; /* by enum sharing_kind */
};

struct model_evidence model_evidence(const struct profile *profile, const struct model_function *f);

/* Whether others had much of the program's cores while it was timed (docs/core.md, "Shared cores").
 */
bool model_shares_cores(const struct profile *profile);
