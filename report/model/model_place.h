/* The point of a function, its roof, and what follows from the two. */
#pragma once

#include "report/model/model.h"

/* Sets function->place; all else of the function is known.  counted: the profile has counts. */
void model_place(const struct profile *profile, const struct model_choice *choice,
		 struct model_function *function, bool counted);

/* Whether it is a row of the kernel's work for the program. */
bool model_is_of_kernel(const struct profile *profile, const struct model_function *function);

/* The measured clock, 1e9 cycles per second; NAN where it is not known or cannot be. */
double model_clock_ghz(const struct profile *profile);
/* The one that the machine held behind the run; where that was not measured, the former. */
double model_clock_held_ghz(const struct profile *profile);
