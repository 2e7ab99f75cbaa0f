/* What stands around the plot: title and legend. */
#pragma once

#include "report/svg/picture.h"

/* The opening tag, title and style. */
void svg_head(const struct picture *p);
/* What stands right of the plot. */
void svg_legend(const struct picture *p);
