/* Threads that hinder each other, or have not the same to do. */
#pragma once

#include "report/reasons/advice.h"

/* Offers what these cost. */
void advise_threads(struct advice *advice);
