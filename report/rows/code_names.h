/* What places in the code are called. */
#pragma once

#include "report/model/model.h"

/* "loop 2.1": the second outermost one's first inner one; in 64 bytes. */
void report_loop_number(char *text, const struct model_function *function, size_t loop);
/* Base name and number of the source line at a place, "mesh.c:88"; false where none is known. */
bool report_line_at(const struct profile *profile, uint32_t module, uint64_t offset, char *text,
		    size_t size);
/* What is behind the last slash. */
const char *report_base_name(const char *path);
