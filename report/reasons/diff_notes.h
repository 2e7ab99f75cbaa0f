/* What makes a comparison doubtful, in sentences. */
#pragma once

#include "report/diff/diff.h"

struct diff_notes {
	const char *texts[9];
	size_t n;
};

struct diff_notes diff_notes(const struct diff *diff);
