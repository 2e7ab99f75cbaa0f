/* The model of a piece once more, with one thing changed, or run by another number of threads. */
#pragma once

#include "report/ecm/piece.h"

/* ecm_predict_piece, and account->changed_s, at_threads_s, least_s and most_s of it. */
void ecm_predict_piece_in_full(const struct ecm_context *context, const struct ecm_piece *piece,
			       struct ecm_account *account);
