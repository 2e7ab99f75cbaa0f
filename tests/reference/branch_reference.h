/* The predictors of branches/ once more, slow and obvious: all outcomes are kept in a list, hashes
 * are made from single bits, and entries are found in one list by table and index. */
#pragma once

#include "branches/predictor.h"

struct reference_predictor;

struct reference_predictor *reference_predictor_create(void);
void reference_predictor_destroy(struct reference_predictor *predictor);
struct branch_guesses reference_predictor_take(struct reference_predictor *predictor,
					       const struct executed_branch *branch);
