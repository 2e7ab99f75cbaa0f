/* The thread that answers one target's gate. */
#pragma once

#include "tracer/target.h"

void server_start(struct target *target);
void server_stop(struct target *target);
