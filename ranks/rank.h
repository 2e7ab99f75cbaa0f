/* Which rank of a parallel job this process is, as its launcher says in the environment. */
#pragma once

#include <stdbool.h>

enum { RANK_TEXT = 256 };

struct rank {
	bool known;            /* a launcher has started this process as one of a job's ranks */
	int number, size;      /* size 0: not known */
	int local, local_size; /* among those of its node; -1, 0: not known */
	const char *launcher;  /* "Open MPI", "MPICH", …; static */
	char job[RANK_TEXT];   /* what tells the job from others; "" where nothing does */
	char node[RANK_TEXT];  /* the node's name */
};

/* Reads it from the environment.  Of one task that Slurm alone has started (`srun --pty sh`), and
 * of a batch script, nothing is known: they are no ranks. */
void rank_read(struct rank *rank);

/* Whether `list`, numbers and ranges such as "0,2-4", has that number.  *good: it is such a list.
 */
bool rank_list_has(const char *list, int number, bool *good);
