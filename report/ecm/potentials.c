/* Sums what functions would save. */
#include "report/ecm/potentials.h"

#define WORTH_TELLING 0.05 /* of a loop's or a function's measured time */

bool ecm_is_worth_telling(const struct ecm_account *account, enum ecm_change change)
{
	const double saved = ecm_saved_s(account, change);
	return saved > 0 && saved >= WORTH_TELLING * account->measured_s;
}

static void add_function(const struct ecm_account *whole, const struct model_function *f,
			 struct ecm_potential sums[ECM_CHANGES])
{
	for (int i = 0; i < ECM_CHANGES; i++) {
		const double saved = ecm_saved_s(whole, (enum ecm_change)i);
		sums[i].saved_s += saved;
		if (saved > sums[i].most_s) {
			sums[i].most_s = saved;
			sums[i].most = f;
		}
	}
}

/* Those that are worth it, by what they save. */
static size_t rank(const struct ecm_potential sums[ECM_CHANGES], double all_s,
		   struct ecm_potential potentials[ECM_CHANGES])
{
	size_t n = 0;
	for (int i = 0; i < ECM_CHANGES; i++) {
		if (!(sums[i].saved_s > 0) || sums[i].saved_s < ECM_WORTH * all_s)
			continue;
		size_t at = n++;
		for (; at > 0 && potentials[at - 1].saved_s < sums[i].saved_s; at--)
			potentials[at] = potentials[at - 1];
		potentials[at] = sums[i];
	}
	return n;
}

struct rf_error *ecm_potentials(const struct ecm_machine *machine, const struct profile *profile,
				const struct model *model,
				struct ecm_potential potentials[ECM_CHANGES], size_t *n)
{
	struct ecm_potential sums[ECM_CHANGES] = {0};
	struct rf_error *error = NULL;
	*n = 0;
	for (int i = 0; i < ECM_CHANGES; i++)
		sums[i].change = (enum ecm_change)i;
	for (size_t i = 0; machine && !error && i < model->n_functions; i++) {
		struct ecm_function ecm;
		if (!model->functions[i].n_samples)
			continue;
		error = ecm_function_init(&ecm, machine, profile, model, &model->functions[i]);
		if (!error)
			add_function(&ecm.whole, &model->functions[i], sums);
		ecm_function_deinit(&ecm);
	}
	if (!error)
		*n = rank(sums, (double)model->time_ns * 1e-9, potentials);
	return error;
}
