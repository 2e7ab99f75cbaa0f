/* Usage: group_counts PROFILE WHAT.  The rows of `rfprof report --by WHAT PROFILE` with their exact
 * counts, one a line: flop, load bytes, store bytes, instructions, CPU time in ns, name; tabs
 * between them. */
#include "report/rows/grouping.h"
#include "report/rows/ranking.h"

#include "report/rows/view.h"
#include <inttypes.h>
#include <stdio.h>

static int fail(struct rf_error *error)
{
	rf_error_print(error, stderr);
	rf_error_destroy(error);
	return 1;
}

static void print_rows(const struct model *model)
{
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		const struct tally *tally = &f->tally;
		printf("%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%s\n",
		       tally->flop, tally->load_bytes, tally->store_bytes, tally->instructions,
		       f->time_ns, f->name);
	}
}

int main(int argc, char **argv)
{
	struct report_options options = {0};
	struct profile *profile = NULL;
	struct model plain, model;
	struct model_groups groups;
	int by;
	if (argc != 3 || !rf_word_find(report_by_words, argv[2], &by) || by == BY_CALL_PATH)
		return 2;
	options.by = (enum report_by)by;
	struct rf_error *error = profile_load(argv[1], &profile);
	if (error)
		return fail(error);
	const struct model_choice with_loops = {.loops = true};
	error = model_build_as(profile, &with_loops, &plain);
	if (error)
		return fail(error);
	const struct report_view view = {.profile = profile, .model = &plain, .options = &options};
	error = grouping_create(&view, &groups);
	if (error)
		return fail(error);
	const struct model_choice choice = {.groups = &groups};
	error = model_build_as(profile, &choice, &model);
	if (error)
		return fail(error);
	print_rows(&model);
	model_deinit(&model);
	grouping_destroy(&groups);
	model_deinit(&plain);
	profile_destroy(profile);
	return 0;
}
