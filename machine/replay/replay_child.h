/* What runs in the child: the loop, on pages that appear where it touches memory. */
#pragma once

#include "base/error.h"
#include "machine/replay/replay_code.h"

#include <stdio.h>

/* With all rights: maps code, state and the memory for data, and handles faults. */
void replay_child_prepare(void *code);
/* Without rights: one item of the answer, whose tag is REPLAY_ANSWER: enum replay_why, whether
 * pages were folded, the bits of the cycles of a turn. */
#define REPLAY_ANSWER 1
void replay_child_run(void *code, FILE *answer);
