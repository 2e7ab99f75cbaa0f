/* The words for time accounts, the same in all views. */
#pragma once

#include "report/ecm/loop_account.h"

/* "l1_l2", …: in JSON. */
const char *ecm_link_name(enum ecm_part part);
/* "core", "chain", "l1_l2", …: in JSON. */
const char *ecm_account_name(enum ecm_account_part part);
/* "in the core", "between L1 and L2", …; and shorter: "core", "L1L2", … */
const char *ecm_account_words(enum ecm_account_part part);
const char *ecm_account_label(enum ecm_account_part part);

/* "vectorised", "blocked_to_l2", …: in JSON. */
const char *ecm_change_name(enum ecm_change change);
/* "in vectors of 32 bytes", "with all data from L2", …, in ECM_CHANGE_WORDS bytes, which it
 * returns. */
#define ECM_CHANGE_WORDS 48
const char *ecm_put_change(char *text, const struct ecm_machine *machine, enum ecm_change change);

/* [H]'s short form, "{3.1 ‖ 1 | 2.4 | 5.2 | 0}": T_OL ‖ T_nOL | L1L2 | L2L3 | memory in cycles a
 * turn, "–" for what is not known; in 96 bytes, which it returns. */
const char *ecm_put_parts(char *cell, const struct ecm_machine *machine,
			  const struct ecm_account *account);

/* What is said of the machine: rule, error, runner-up.  In `size` bytes, which it returns. */
const char *ecm_put_machine(char *text, size_t size, const struct ecm_machine *machine);
/* Why there is no prediction, or what it leaves out; NULL: nothing. */
const char *ecm_lack_words(const struct ecm_account *account);
/* What takes longest of all that T_OL is the longest of. */
enum in_core_part ecm_longest_in_core(const struct ecm_account *account);
