/* A directory of a test program's own, below /tmp. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char directory[32];

static inline void directory_make(void)
{
	strcpy(directory, "/tmp/rfprof-test-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
}

/* With what is in it, also where a test has taken rights away. */
static inline void directory_remove(void)
{
	char command[128];
	snprintf(command, sizeof(command), "chmod -R u+w '%s' && rm -rf '%s'", directory,
		 directory);
	cr_assert_eq(system(command), 0);
}
