/* Sums of accounts, part by part. */
#include "report/ecm/account_sum.h"

#include <math.h>

void ecm_add_account(struct ecm_account *sum, const struct ecm_account *part, double times)
{
	sum->lacks |= part->lacks;
	for (int i = 0; i < ECM_PARTS; i++)
		sum->parts_s[i] += times * part->parts_s[i];
	for (int i = 0; i < IN_CORE_PARTS; i++)
		sum->in_core_s[i] += times * part->in_core_s[i];
	for (int i = 0; i < ACCOUNT_PARTS; i++)
		sum->account_s[i] += times * part->account_s[i];
	sum->lcd_s += times * part->lcd_s;
	sum->latency_s += times * part->latency_s;
	sum->chained_lines_s += times * part->chained_lines_s;
	sum->beside_lines_s += times * part->beside_lines_s;
	sum->walks_s += times * part->walks_s;
	sum->walks.accesses += times * part->walks.accesses;
	sum->walks.near_misses += times * part->walks.near_misses;
	sum->walks.walks += times * part->walks.walks;
	sum->mispredicted.n += times * part->mispredicted.n;
	sum->mispredicted.variance += times * times * part->mispredicted.variance;
	sum->mispredicted.seconds += times * part->mispredicted.seconds;
	sum->light_s += times * part->light_s;
	sum->memory_busy_s += times * part->memory_busy_s;
	sum->predicted_s += times * part->predicted_s;
	sum->least_s += times * part->least_s;
	sum->most_s += times * part->most_s;
	sum->unknown_calls += times * part->unknown_calls;
	for (int i = 0; i < ECM_CHANGES; i++)
		sum->changed_s[i] += times * part->changed_s[i];
	for (int i = 0; i < ECM_THREADS; i++)
		sum->at_threads_s[i] += times * part->at_threads_s[i];
}

void ecm_set_measured(struct ecm_account *account, double seconds, double samples)
{
	account->measured_s = samples > 0 ? seconds : NAN;
	account->stderr_s = samples > 0 ? seconds / sqrt(samples) : NAN;
	if (!(samples > 0))
		account->lacks |= ECM_LACKS_SAMPLES;
	account->account_s[ACCOUNT_REST] = account->measured_s - account->predicted_s;
}
