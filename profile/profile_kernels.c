/* Shares of threads in kernels, and how their rows become those of threads. */
#include "profile/profile_kernels.h"

#include "base/array.h"

uint32_t profile_kernel_share(struct profile *profile, uint32_t thread, uint32_t kernel)
{
	const struct kernel_share share = {thread, kernel};
	for (size_t i = 0; i < profile->n_kernel_shares; i++)
		if (profile->kernel_shares[i].thread == thread &&
		    profile->kernel_shares[i].kernel == kernel)
			return KERNEL_SHARES + (uint32_t)i;
	if (profile->n_kernel_shares >= KERNEL_SHARES ||
	    !rf_array_push(profile->kernel_shares, profile->n_kernel_shares,
			   profile->cap_kernel_shares, share))
		return thread;
	return KERNEL_SHARES + (uint32_t)profile->n_kernel_shares - 1;
}

const struct kernel_share *profile_share(const struct profile *profile, uint32_t number)
{
	return number >= KERNEL_SHARES && number - KERNEL_SHARES < profile->n_kernel_shares
		       ? &profile->kernel_shares[number - KERNEL_SHARES]
		       : NULL;
}

void profile_kernel_call(struct profile *profile, uint32_t kernel, uint32_t thread)
{
	const struct profile_kernel_caller first = {kernel, thread, 1};
	profile->kernels[kernel].calls++;
	for (size_t i = profile->n_kernel_callers; i-- > 0;)
		if (profile->kernel_callers[i].kernel == kernel &&
		    profile->kernel_callers[i].thread == thread) {
			profile->kernel_callers[i].calls++;
			return;
		}
	/* without a row it is not known whose time the calls took */
	(void)rf_array_push(profile->kernel_callers, profile->n_kernel_callers,
			    profile->cap_kernel_callers, first);
}

static void settle(const struct profile *profile, uint32_t *thread, uint32_t *kernel)
{
	const struct kernel_share *share = profile_share(profile, *thread);
	if (!share)
		return;
	*thread = share->thread;
	*kernel = share->kernel + 1;
}

static void settle_traffic(struct profile *profile)
{
	struct packed_rows settled = {0};
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	bool ok = true;
	if (!profile->n_kernel_shares)
		return;
	while (ok && (row = packed_reader_next(&reader))) {
		struct profile_traffic own = *row;
		settle(profile, &own.thread, &own.kernel);
		ok = packed_rows_add(&settled, &own, sizeof(own));
	}
	packed_rows_deinit(&profile->traffic);
	profile->traffic = settled;
	if (!ok)
		profile_set_fact(profile, "traffic_incomplete", "memory was short");
}

void profile_settle_kernels(struct profile *profile)
{
	for (size_t i = 0; i < profile->n_counts; i++)
		settle(profile, &profile->counts[i].thread, &profile->counts[i].kernel);
	for (size_t i = 0; i < profile->n_units; i++)
		settle(profile, &profile->units[i].thread, &profile->units[i].kernel);
	settle_traffic(profile);
	for (size_t i = 0; i < profile->n_kernel_shares; i++)
		profile->kernels[profile->kernel_shares[i].kernel].threads++;
	profile->n_kernel_shares = 0;
}
