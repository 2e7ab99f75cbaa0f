/* Of a comparison: A's points, and the arrows from them to B's; nothing for one profile alone. */
#pragma once

#include "report/svg/picture.h"

void svg_arrows_widen(struct picture *p);
void svg_arrows(const struct picture *p);
