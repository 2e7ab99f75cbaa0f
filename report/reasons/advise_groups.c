/* What is one cost under many names. */
#include "report/reasons/advise_groups.h"

#include "report/account/groups.h"

static const struct {
	const char *what, *try;
} words[N_ACCOUNT_GROUPS] = {
	[GROUP_ALLOCATION] = {"allocation (malloc, free and what they call)",
			      "allocate once and use it again, allocate more at a time, or keep "
			      "small objects in their owners"},
	[GROUP_STRINGS] = {"string functions",
			   "keep lengths and positions instead of looking for them again"},
	[GROUP_MEMORY] = {"memset, memcpy and their kin",
			  "set and copy less: only what is used, once"},
	[GROUP_COLLECTION] = {"garbage collection",
			      "make fewer objects that live for a short time"},
	[GROUP_LINKER] = {"the dynamic linker and start-up",
			  "link fewer libraries, or statically; bind lazily"},
};

void advise_groups(struct advice *advice)
{
	const struct profile *profile = advice->view->profile;
	const struct model *model = advice->view->model;
	for (enum account_group group = GROUP_NONE + 1; group < N_ACCOUNT_GROUPS; group++) {
		const struct model_function *most = NULL;
		double sum = 0;
		for (size_t i = 0; i < model->n_functions; i++) {
			const struct model_function *f = &model->functions[i];
			if (!f->time_ns || account_group_of(f->name, f->module) != group)
				continue;
			sum += (double)f->time_ns * 1e-9;
			most = !most || f->time_ns > most->time_ns ? f : most;
		}
		const double cost = sum * advice->wall_per_ran;
		const char *caller = most ? account_group_caller(profile, group) : NULL;
		if (most)
			advice_offer(advice, cost,
				     "%s of the wall time is %s, most of it %.40s%s%.60s. What to "
				     "try: %s",
				     ADVICE_SHARE(advice, cost), words[group].what, most->name,
				     caller ? ", called from " : "", caller ? caller : "",
				     words[group].try);
	}
}
