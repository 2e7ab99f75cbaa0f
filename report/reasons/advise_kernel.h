/* System calls and page faults, with what is waited for in them. */
#pragma once

#include "report/reasons/advice.h"

/* Offers what these cost. */
void advise_kernel(struct advice *advice);
