/* Lines about parallel regions. */
#include "report/text/report_regions.h"

#include "report/account/account.h"
#include "report/account/account_words.h"
#include "report/text/terminal.h"

/* Of the wall time; of shorter regions samples say little. */
#define LEAST_REGION 0.01

struct rf_error *report_regions(const struct report_view *view, FILE *stream)
{
	const struct profile *profile = view->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_sum_regions; i++) {
		const struct profile_sum_region *region = &profile->sum_regions[i];
		char words[320];
		if ((double)region->elapsed_ns * 1e-9 < LEAST_REGION * view->account->wall_s)
			continue;
		account_region_words(profile, region, words, sizeof(words));
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  · ", words);
	}
	return error;
}
