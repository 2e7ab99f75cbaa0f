/* The pieces that accounts are made of (loop_account.h), and what the model has for one. */
#pragma once

#include "report/ecm/far_lines.h"
#include "report/ecm/loop_account.h"
#include "report/in_core/in_core.h"

/* What all pieces of a function need. */
struct ecm_context {
	const struct ecm_machine *machine;
	const struct profile *profile;
	const struct model *model;
	const struct model_function *f;
	double threads; /* that run it at once */
	unsigned lacks;
	double memory_share;
	struct in_core *cores;               /* by loop; of those that are measured */
	struct mispredictions *mispredicted; /* by loop; the last one: in none */
	struct far_lines *far;               /* the same */
	struct page_walks *walks;            /* the same */
};

/* The own code of a loop, or that in none. */
struct ecm_piece {
	uint32_t loop; /* PROFILE_NONE */
	double turns;
	double instructions;      /* executed */
	double run_through;       /* of these, from when it is entered until it is left */
	double events[N_TRAFFIC]; /* bytes */
	struct model_irregular
		irregular[MODEL_LEVELS]; /* `lines`: with those that come by far steps */
	struct far_lines far;
	struct in_core core; /* of its turns; t_ol < 0: it cannot be told */
	/* Half-widths of the 95 % intervals of what crosses the border above each level, of that:
	 * 0: all was simulated. */
	double off[MODEL_LEVELS];
};

/* The own code of `loop`, an index in f->loops, or that in none (PROFILE_NONE). */
struct ecm_piece ecm_piece_of(const struct ecm_context *context, uint32_t loop);
/* The piece if all that moved lay so many half-widths above what was found (-1: one below): `sign`.
 * Lines that came from farther came from a nearer level less. */
struct ecm_piece ecm_piece_at_end(const struct ecm_piece *piece, double sign);
/* What the model has for it with `context->threads` threads, but for changes: `account` has
 * `context->lacks` and 0 else. */
void ecm_predict_piece(const struct ecm_context *context, const struct ecm_piece *piece,
		       struct ecm_account *account);

/* ---- steps of it, for what asks what a change would do ---- */

/* account->latency_s, of the lines of `piece`. */
void ecm_add_latency(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account);
/* account->mispredicted.seconds beside another hardware thread of the core. */
double ecm_mispredicted_s(const struct ecm_context *context, const struct ecm_account *account);
/* What adds up and what is hidden: account_s, light_s and predicted_s from the times of the parts
 * by themselves.  Mispredicted branches come on top of it. */
void ecm_compose_piece(const struct ecm_context *context, struct ecm_account *account);
