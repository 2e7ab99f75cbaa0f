/* `rfprof join TIMED COUNTED`: a profile of both runs, from two jobs. */
#include "cli/command.h"

#include "profile/profile.h"
#include "report/merge/join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What they are joined in: the name of the one that was timed, with "joined" in it. */
static struct rf_error *name_it(const struct options *given, const char *timed, char **out)
{
	const size_t length = strlen(timed);
	const bool ends = length > 4 && strcmp(timed + length - 4, ".rfp") == 0;
	const int n = given->join_save ? asprintf(out, "%s", given->join_save)
				       : asprintf(out, "%.*s.joined.rfp",
						  (int)(ends ? length - 4 : length), timed);
	return n < 0 ? rf_error_no_memory() : NULL;
}

static struct rf_error *join(const char *timed, const char *counted, const char *path)
{
	struct profile *time = NULL, *count = NULL;
	struct rf_error *error = profile_load(timed, &time) ?: profile_load(counted, &count)
		?: join_runs(time, timed, count, counted) ?: profile_save(time, path);
	profile_destroy(time);
	profile_destroy(count);
	return error;
}

struct rf_error *join_command(const struct options *given, const char **words, int *status)
{
	char *path = NULL;
	if (!words[0] || !words[1] || words[2])
		return rf_error_create(RF_EINPUT, "try rfprof join timed.rfp counted.rfp",
				       "two profiles are wanted");
	struct rf_error *error = name_it(given, words[0], &path) ?: join(words[0], words[1], path);
	if (!error)
		printf("saved %s\n", path);
	free(path);
	return error;
}
