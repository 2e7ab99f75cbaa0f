/* What a simulated TLB made of all accesses (--tlb) as JSON. */
#pragma once

#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* In all and by function; null where no TLB was simulated.  Fails only when memory is short. */
struct rf_error *report_json_tlb(struct json_writer *out, const char *key,
				 const struct report_view *view);
