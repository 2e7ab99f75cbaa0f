/* What the gate asks for: translations, look-ups and leave for system calls. */
#pragma once

#include "tracer/target/target.h"

/* Fills the tables of the process area (system calls, hash table). */
void requests_init(struct target *target);
