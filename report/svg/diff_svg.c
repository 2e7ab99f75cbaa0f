/* Two profiles in one plot: a view of B that knows the comparison. */
#include "report/svg/diff_svg.h"

#include "report/svg/svg.h"

#include <stdlib.h>

#define DEFAULT_TOP 20

struct rf_error *diff_svg(const struct diff *diff, size_t top, FILE *stream)
{
	const struct report_options options = {.top = top};
	const struct model_function *first = diff->b.model.functions;
	size_t *rank = malloc((diff->n_functions + 1) * sizeof(*rank)), n = 0;
	top = top ? top : DEFAULT_TOP;
	if (!rank)
		return rf_error_no_memory();
	for (size_t i = 0; i < diff->n_functions && i < top; i++)
		if (diff->functions[i].b)
			rank[n++] = (size_t)(diff->functions[i].b - first);
	const struct report_view view = {.profile = diff->b.profile,
					 .model = &diff->b.model,
					 .options = &options,
					 .rank = rank,
					 .n_rank = n,
					 .n_shown = n,
					 .diff = diff,
					 .n_top = top};
	struct rf_error *error = report_svg(&view, stream);
	free(rank);
	return error;
}
