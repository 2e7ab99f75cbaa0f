/* Ranks by the variables of each launcher, lists of ranks, names of files. */
#include "ranks/rank.h"

#include "../assert_ok.h"
#include "ranks/rank_path.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {
	"OMPI_COMM_WORLD_RANK",
	"OMPI_COMM_WORLD_SIZE",
	"OMPI_COMM_WORLD_LOCAL_RANK",
	"OMPI_COMM_WORLD_LOCAL_SIZE",
	"MV2_COMM_WORLD_RANK",
	"MV2_COMM_WORLD_SIZE",
	"PMI_RANK",
	"PMI_SIZE",
	"MPI_LOCALRANKID",
	"MPI_LOCALNRANKS",
	"PMIX_RANK",
	"PMIX_NAMESPACE",
	"SLURM_PROCID",
	"SLURM_STEP_NUM_TASKS",
	"SLURM_LOCALID",
	"SLURM_JOB_ID",
	"SLURM_STEP_ID",
	"SLURMD_NODENAME",
	"PMI_FD",
	"PMI_ID",
	"PMI_JOBID",
	"MV2_COMM_WORLD_LOCAL_RANK",
	"MV2_COMM_WORLD_LOCAL_SIZE",
};

/* `words`: "A=1 B=2"; the same as a block for rank_of_environment. */
static struct rank read_with(const char *words, int *of_block)
{
	struct rank rank;
	char text[256], *at = text, *word;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	strcpy(text, words);
	const size_t length = strlen(text) + 1;
	while ((word = strsep(&at, " ")))
		if (*word) {
			char *equals = strchr(word, '=');
			*equals = '\0';
			setenv(word, equals + 1, 1);
			*equals = '=';
		}
	*of_block = rank_of_environment(text, length);
	rank_read(&rank);
	return rank;
}

Test(rank, is_what_launchers_say)
{
	static const struct {
		const char *words, *launcher;
		int number, size, local;
		const char *job;
	} cases[] = {
		{"OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
		 "PMIX_NAMESPACE=77 PMIX_RANK=3",
		 "Open MPI", 3, 8, 1, "77"},
		{"MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=2", "MVAPICH", 0, 2, -1, ""},
		{"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 PMI_FD=6", "MPICH", 1, 2, 1, ""},
		{"SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=6 SLURM_LOCALID=2 SLURM_JOB_ID=9 "
		 "SLURM_STEP_ID=0",
		 "Slurm", 5, 6, 2, "9.0"},
		{"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0 SLURM_JOB_ID=9 PMI_FD=4",
		 "Slurm", 0, 1, -1, "9.0"},
		{"PMIX_RANK=4 PMIX_NAMESPACE=x", "PMIx", 4, 0, -1, "x"},
		/* numbers that contradict each other */
		{"PMI_RANK=7 PMI_SIZE=2", "MPICH", 7, 0, -1, ""},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int of_block;
		const struct rank rank = read_with(cases[i].words, &of_block);
		cr_assert(rank.known, "%s", cases[i].words);
		cr_expect_str_eq(rank.launcher, cases[i].launcher);
		cr_expect_eq(rank.number, cases[i].number, "%s", cases[i].words);
		cr_expect_eq(of_block, cases[i].number, "%s", cases[i].words);
		cr_expect_eq(rank.size, cases[i].size, "%s", cases[i].words);
		cr_expect_eq(rank.local, cases[i].local, "%s", cases[i].words);
		cr_expect_str_eq(rank.job, cases[i].job);
		cr_expect(rank.node[0]);
	}
}

Test(rank, is_none_where_nothing_says_so)
{
	static const char *const cases[] = {
		"",
		"OMPI_COMM_WORLD_RANK=",
		"PMI_RANK=x",
		"PMI_RANK=-1",
		"PMIX_RANK=99999999999",
		/* a batch script, and one task */
		"SLURM_PROCID=0 SLURM_JOB_ID=3",
		"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1 SLURM_STEP_ID=0",
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int of_block;
		cr_expect_not(read_with(cases[i], &of_block).known, "%s", cases[i]);
	}
}

Test(rank, stands_in_lists)
{
	static const struct {
		const char *list;
		int number;
		bool has, good;
	} cases[] = {
		{"0", 0, true, true},    {"0,7", 7, true, true},   {"0,7", 6, false, true},
		{"2-4", 3, true, true},  {"2-4,9", 9, true, true}, {"2-4", 5, false, true},
		{"", 0, false, false},   {"1-", 1, false, false},  {"1,", 1, false, false},
		{"a", 0, false, false},  {"4-2", 3, false, false}, {"1 2", 1, false, false},
		{"-1", 1, false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool good;
		cr_expect_eq(rank_list_has(cases[i].list, cases[i].number, &good), cases[i].has,
			     "%s", cases[i].list);
		cr_expect_eq(good, cases[i].good, "%s", cases[i].list);
	}
}

Test(rank, has_files_of_its_own)
{
	const struct rank rank = {.known = true, .number = 12}, none = {.known = false};
	static const struct {
		const char *path;
		bool own;
		const char *name;
	} cases[] = {
		{"a.%r.rfp", true, "a.12.rfp"},
		{"%r/%r", false, "12/12"},
		{"a.rfp", true, "a.12.rfp"},
		{"d.x/a", true, "d.x/a.12"},
		{"a.rfp", false, "a.rfp"},
		{".a", true, ".a.12"},
		{"-", true, "-"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name;
		assert_ok(rank_path(&rank, cases[i].path, cases[i].own, &name));
		cr_expect_str_eq(name, cases[i].name);
		free(name);
		assert_ok(rank_path(&none, cases[i].path, cases[i].own, &name));
		cr_expect_str_eq(name, cases[i].path);
		free(name);
	}
}
