/* Functions that are one cost under many names: allocation, strings. */
#pragma once

#include "report/reasons/advice.h"

/* Offers what these cost. */
void advise_groups(struct advice *advice);
