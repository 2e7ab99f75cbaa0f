/* The roofs of the picture. */
#pragma once

#include "report/svg/picture.h"

/* The levels whose bandwidths are drawn, as model_levels gives them. */
size_t svg_levels(const struct picture *p, enum roof_level levels[MODEL_LEVELS]);
/* What theory says of the main precision's peak, GFLOP/s; 0: not known. */
double svg_theory(const struct picture *p);
/* Whether the picture has a line of theory, which it has not where that is what was measured. */
bool svg_has_theory_line(const struct picture *p);
/* Widens the picture's ranges for all roofs. */
void svg_roofs_widen(struct picture *p);
/* Draws them and their labels, whose places become obstacles. */
void svg_roofs(struct picture *p);
/* False for a custom roof so far from this machine's that the picture would show nothing else. */
bool svg_custom_is_drawn(const struct picture *p, const struct custom_roof *roof);
