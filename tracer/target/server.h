/* The thread that answers one target's gate. */
#pragma once

#include "tracer/target/target.h"

/* The thread is there, or no request will ever be answered. */
struct rf_error *server_start(struct target *target);
/* Nothing where it does not run. */
void server_stop(struct target *target);
/* Something has become due at another time (stop_at). */
void server_wake(struct target *target);
