/* The launchers' variables, one row each. */
#include "ranks/rank.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those that say most come first: Open MPI below Slurm sets its own and Slurm's.  `needs`: a
 * variable that has to be there, too.  A NULL is not told. */
static const struct launcher {
	const char *name, *number, *size, *local, *local_size, *job, *step, *needs;
} launchers[] = {
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
	 "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE", NULL, NULL},
	{"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
	 "MV2_COMM_WORLD_LOCAL_SIZE", "PMI_ID", NULL, NULL},
	{"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, "SLURM_JOB_ID",
	 "SLURM_STEP_ID", "SLURM_STEP_ID"},
	{"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID", NULL,
	 NULL},
	{"PMIx", "PMIX_RANK", NULL, NULL, NULL, "PMIX_NAMESPACE", NULL, NULL},
};

enum { N_LAUNCHERS = sizeof(launchers) / sizeof(*launchers) };

/* A number from 0 on; else `otherwise`. */
static int number_of(const char *variable, int otherwise)
{
	const char *text = variable ? getenv(variable) : NULL;
	char *end;
	if (!text || *text < '0' || *text > '9')
		return otherwise;
	const long value = strtol(text, &end, 10);
	return *end || value > INT_MAX - 1 ? otherwise : (int)value;
}

static const char *text_of(const char *variable)
{
	const char *text = variable ? getenv(variable) : NULL;
	return text ? text : "";
}

static void name_node(struct rank *rank)
{
	const char *node = getenv("SLURMD_NODENAME");
	if (node && *node)
		snprintf(rank->node, sizeof(rank->node), "%s", node);
	else if (gethostname(rank->node, sizeof(rank->node) - 1) != 0)
		rank->node[0] = '\0';
}

static bool take(const struct launcher *launcher, struct rank *rank)
{
	const int number = number_of(launcher->number, -1);
	if (number < 0 || (launcher->needs && !getenv(launcher->needs)))
		return false;
	*rank = (struct rank){
		.known = true,
		.number = number,
		.size = number_of(launcher->size, number_of("SLURM_STEP_NUM_TASKS", 0)),
		.local = number_of(launcher->local, -1),
		.local_size = number_of(launcher->local_size, 0),
		.launcher = launcher->name,
	};
	const char *step = text_of(launcher->step);
	snprintf(rank->job, sizeof(rank->job), "%.120s%s%.120s", text_of(launcher->job),
		 *step ? "." : "", step);
	return true;
}

/* A program of MPI that Slurm starts finds the others by these. */
static bool has_process_manager(void)
{
	return getenv("PMI_FD") || getenv("PMI_RANK") || getenv("PMIX_RANK");
}

void rank_read(struct rank *rank)
{
	*rank = (struct rank){.local = -1};
	for (size_t i = 0; i < N_LAUNCHERS && !rank->known; i++)
		if (take(&launchers[i], rank) && strcmp(launchers[i].name, "Slurm") == 0 &&
		    rank->size == 1 && !has_process_manager())
			*rank = (struct rank){.local = -1};
	if (rank->size && rank->number >= rank->size)
		rank->size = 0; /* they contradict each other */
	if (rank->known)
		name_node(rank);
}

/* The value of a variable in a block, or NULL. */
static const char *value_in(const char *block, size_t size, const char *variable)
{
	const size_t length = strlen(variable);
	for (const char *at = block; at < block + size; at += strlen(at) + 1)
		if (strncmp(at, variable, length) == 0 && at[length] == '=')
			return at + length + 1;
	return NULL;
}

int rank_of_environment(const char *block, size_t size)
{
	for (size_t i = 0; size && !block[size - 1] && i < N_LAUNCHERS; i++) {
		const char *number = value_in(block, size, launchers[i].number);
		char *end;
		if (!number || (launchers[i].needs && !value_in(block, size, launchers[i].needs)))
			continue;
		const long value = strtol(number, &end, 10);
		return *number >= '0' && *number <= '9' && !*end && value < INT_MAX ? (int)value
										    : -1;
	}
	return -1;
}

bool rank_list_has(const char *list, int number, bool *good)
{
	bool found = false;
	*good = *list != '\0';
	while (*good && *list) {
		char *end;
		const long from = *list >= '0' && *list <= '9' ? strtol(list, &end, 10) : -1;
		long to = from;
		if (from >= 0 && *end == '-')
			to = end[1] >= '0' && end[1] <= '9' ? strtol(end + 1, &end, 10) : -1;
		*good = from >= 0 && to >= from && to < INT_MAX &&
			(!*end || (*end == ',' && end[1]));
		found |= *good && number >= from && number <= to;
		list = *good && *end ? end + 1 : "";
	}
	return *good && found;
}
