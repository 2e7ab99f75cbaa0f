/* The thread that answers one target's gate. */
#pragma once

#include "tracer/target/target.h"

void server_start(struct target *target);
void server_stop(struct target *target);
/* Something has become due at another time (stop_at). */
void server_wake(struct target *target);
