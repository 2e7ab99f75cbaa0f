/* Where a function stands under the roofs. */
#pragma once

#include "report/model/model.h"

/* Sets the function's place: point, roof, distance, headroom and bound.  False: no memory. */
bool model_place(const struct profile *profile, const struct model_choice *choice,
		 struct model_function *function, bool counted);
