/* A new process image gets the code that another one has translated (kept_code.h).
 *
 * The whole code cache is copied at once, asleep: nothing leads into it.  Where the program comes
 * to a module for the first time, and has the same code there, the module's part wakes up: it is
 * moved to where the module is, and found from then on. */
#pragma once

#include "tracer/translate/kept_code.h"

/* Whether kept code suits the arenas of a translator and what it traces. */
bool inherit_suits(const struct translator *translator, const struct kept_code *kept);
/* A translator that has made nothing yet gets all of `kept`, if that suits.  When memory is short,
 * it has failed (translator.failed). */
void inherit_all(struct translator *translator, struct kept_code *kept);

/* Control comes to code at pc that is not translated.  True: its module has woken up; the code at
 * pc may be there now. */
bool inherit_module(struct translator *translator, uint64_t pc);

/* A block has got its row in the profile (code_block.has_row): if it was inherited, those that
 * inherit it from now on have it as well.  Only the thread that inherits may call it. */
void inherit_tell_row(const struct translator *translator, const struct code_block *block);

/* Frees what is known of what was inherited; the code itself must not be looked at any more. */
void inherit_end(struct translator *translator);
