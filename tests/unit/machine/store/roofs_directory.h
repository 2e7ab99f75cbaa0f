/* A place of a test's own in which the roofs of this machine are kept. */
#pragma once

#include "tests/unit/assert_ok.h"
#include "tests/unit/directory.h"

static inline void roofs_directory_make(void)
{
	directory_make();
	setenv("XDG_CACHE_HOME", directory, 1);
}
