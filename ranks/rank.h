/* Which rank of a parallel job this process is, as its launcher says in the environment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* The number of the rank that a process with this environment is, as /proc/PID/environ has it
 * ("A=1\0B=2\0", `size` bytes, the last of which is 0); -1: none. */
int rank_of_environment(const char *block, size_t size);

/* Whether `list`, numbers and ranges such as "0,2-4", has that number.  *good: it is such a list.
 */
bool rank_list_has(const char *list, int number, bool *good);
