/* The probes of the doctor: each gathers a group of facts in a process of its own
 * (tracer/launch/guard.h).  A filter that ends whoever makes a system call, or a file that never
 * answers, ends or holds up only that probe. */
#pragma once

#include "tracer/doctor/facts.h"

/* Runs all probes; none takes longer than `limit_ms`.  NULL when memory is short; to be freed by
 * doctor_facts_destroy. */
struct doctor_facts *doctor_facts_create(unsigned limit_ms);
void doctor_facts_destroy(struct doctor_facts *facts);
