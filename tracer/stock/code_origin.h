/* What translated code is made of and by: the program's file, rfprof, and the processor. */
#pragma once

#include "base/kept_store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct code_origin {
	uint64_t program; /* a number for the file, not 0, within one run */
	char *path;       /* where the program's file is, or NULL: nowhere that lasts */
	struct file_stamp stamp;
};

/* What rfprof and the processor are, in words, heap; NULL: memory is short. */
char *code_maker(void);

/* Of the program that a process runs.  False: it is not known, and there is nothing to free. */
bool code_origin_of_process(struct code_origin *origin, pid_t pid);
void code_origin_deinit(struct code_origin *origin);

/* The key under which its code is kept, which lives as long as origin and maker; false: under none.
 */
bool code_origin_key(const struct code_origin *origin, const char *maker, enum kept_kind kind,
		     struct kept_key *key);
