/* The model of a piece once more, with one thing changed, or run by another number of threads. */
#pragma once

#include "report/ecm/piece.h"

/* account->changed_s of a piece that is predicted. */
void ecm_add_changes(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account);
/* account->at_threads_s of it. */
void ecm_add_threads(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account);
