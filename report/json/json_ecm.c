/* Writes time accounts, and the machine that they are reckoned for. */
#include "report/json/json_ecm.h"

#include "report/ecm/ecm_words.h"
#include "report/ecm/potentials.h"
#include "report/rows/code_names.h"

#include <math.h>

static void put_links(struct json_writer *out, const char *key, const struct ecm_fit *fit)
{
	put_array(out, key);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++) {
		const struct ecm_link *link = &fit->links[p];
		if (p == ECM_L2_MEMORY && !fit->past_l3)
			continue;
		put_object(out, NULL);
		put_text(out, "link", ecm_link_name((enum ecm_part)p));
		put_real(out, "in_gbytes_per_s", link->in);
		put_real(out, "out_gbytes_per_s", link->out);
		put_flag(out, "duplex", link->duplex);
		put_end(out);
	}
	put_end(out);
}

void report_json_ecm_machine(struct json_writer *out, const char *key,
			     const struct report_view *view)
{
	const struct ecm_machine *machine = view->ecm;
	if (!machine || machine->source == ECM_NO_ROOFS) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_text(out, "hypothesis", machine->fit.rule->name);
	put_text(out, "words", machine->fit.rule->words);
	put_text(out, "source", machine->source == ECM_FITTED ? "fitted" : "prior");
	put_flag(out, "past_l3", machine->fit.past_l3);
	put_real(out, "error", machine->fit.error);
	put_text(out, "runner_up", machine->second.rule ? machine->second.rule->name : NULL);
	put_real(out, "runner_up_error", machine->second.rule ? machine->second.error : NAN);
	put_count(out, "kernels", machine->n_kernels);
	put_links(out, "links", &machine->fit);
	put_end(out);
}

static void put_cycles(struct json_writer *out, const char *key, const struct ecm_machine *machine,
		       const struct ecm_account *account, double seconds, unsigned lacks)
{
	put_real(out, key,
		 account->lacks & lacks ? NAN : ecm_cycles_a_turn(machine, account, seconds));
}

static void put_turn(struct json_writer *out, const struct ecm_machine *machine,
		     const struct ecm_account *account)
{
	const unsigned moves = ECM_LACKS_TRANSFERS;
	const double *parts = account->parts_s;
	put_cycles(out, "t_ol", machine, account, parts[ECM_OL], 0);
	put_cycles(out, "t_nol", machine, account, parts[ECM_NOL], 0);
	put_cycles(out, "lcd", machine, account, account->lcd_s, 0);
	put_cycles(out, "l1_l2", machine, account, parts[ECM_L1_L2], moves);
	put_cycles(out, "l2_l3", machine, account, parts[ECM_L2_L3], moves);
	put_cycles(out, "l3_memory", machine, account, ecm_memory_s(account), moves);
	put_cycles(out, "latency", machine, account, account->latency_s, moves | ECM_LACKS_LATENCY);
	put_cycles(out, "branches", machine, account, account->account_s[ACCOUNT_BRANCHES],
		   ECM_LACKS_BRANCHES);
}

static void put_changes(struct json_writer *out, const char *key, const struct ecm_account *account)
{
	put_array(out, key);
	for (enum ecm_change i = 0; i < ECM_CHANGES; i++) {
		if (!ecm_is_worth_telling(account, i))
			continue;
		const double saved = ecm_saved_s(account, i);
		put_object(out, NULL);
		put_text(out, "change", ecm_change_name(i));
		put_real(out, "seconds", account->measured_s - saved);
		put_real(out, "saved_s", saved);
		put_end(out);
	}
	put_end(out);
}

/* By how many threads run it at once. */
static void put_threads(struct json_writer *out, const char *key, const struct ecm_machine *machine,
			const struct ecm_account *account)
{
	put_array(out, key);
	for (size_t i = 0; i < machine->n_threads; i++) {
		const double wall = ecm_wall_s(machine, account, i);
		put_object(out, NULL);
		put_real(out, "threads", machine->threads[i]);
		put_real(out, "predicted_s", wall);
		put_real(out, "gflop_per_s",
			 account->flop > 0 && wall > 0 ? 1e-9 * account->flop / wall : NAN);
		put_real(out, "turns_per_s",
			 account->turns > 0 && wall > 0 ? account->turns / wall : NAN);
		put_end(out);
	}
	put_end(out);
}

struct rf_error *report_json_potentials(struct json_writer *out, const char *key,
					const struct report_view *view)
{
	struct ecm_potential potentials[ECM_CHANGES];
	size_t n = 0;
	struct rf_error *error =
		ecm_potentials(view->ecm, view->profile, view->model, potentials, &n);
	put_array(out, key);
	for (size_t i = 0; i < n; i++) {
		put_object(out, NULL);
		put_text(out, "change", ecm_change_name(potentials[i].change));
		put_real(out, "saved_s", potentials[i].saved_s);
		put_text(out, "function", potentials[i].most->name);
		put_real(out, "function_saved_s", potentials[i].most_s);
		put_end(out);
	}
	put_end(out);
	return error;
}

static void put_replay(struct json_writer *out, const char *key, const struct loop_replay *replay)
{
	if (!replay) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	for (int i = 0; i < REPLAY_VARIANTS; i++)
		put_real(out, replay_variant_name((enum replay_variant)i), replay->cycles[i]);
	put_flag(out, "folded", replay->folded);
	put_text(out, "why", replay->why == REPLAY_DONE ? NULL : replay_why_words(replay->why));
	put_end(out);
}

static void put_times(struct json_writer *out, const struct ecm_account *account)
{
	put_real(out, "predicted_s", account->predicted_s);
	put_real(out, "predicted_least_s", account->least_s);
	put_real(out, "predicted_most_s", account->most_s);
	put_real(out, "light_speed_s", account->light_s);
	put_real(out, "measured_s", account->measured_s);
	put_real(out, "measured_stderr_s", account->stderr_s);
}

void report_json_ecm(struct json_writer *out, const char *key, const struct report_view *view,
		     const struct ecm_account *account, const struct loop_replay *replay)
{
	if (!account || !ecm_is_predicted(account)) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_times(out, account);
	put_turn(out, view->ecm, account);
	const bool knows = !(account->lacks & ECM_LACKS_BRANCHES);
	put_real(out, "mispredicted", knows ? account->mispredicted.n : NAN);
	put_real(out, "mispredicted_halfwidth", knows ? sqrt(account->mispredicted.variance) : NAN);
	const bool tlb = page_walks_known(view->profile);
	put_real(out, "page_accesses", tlb ? account->walks.accesses : NAN);
	put_real(out, "tlb_near_misses", tlb ? account->walks.near_misses : NAN);
	put_real(out, "page_walks", tlb ? account->walks.walks : NAN);
	put_real(out, "saturated_by_threads", ecm_saturating_threads(account));
	put_threads(out, "threads", view->ecm, account);
	put_text(out, "hypothesis", view->ecm->fit.rule ? view->ecm->fit.rule->name : NULL);
	put_text(out, "largest", ecm_account_name(ecm_largest(account)));
	put_changes(out, "what_if", account);
	put_replay(out, "replay", replay);
	put_flag(out, "transfers_known", !(account->lacks & ECM_LACKS_TRANSFERS));
	put_end(out);
}

void report_json_ecm_with_calls(struct json_writer *out, const char *key,
				const struct ecm_account *account)
{
	if (!account || !(account->turns > 0) || !ecm_is_predicted(account)) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_times(out, account);
	put_text(out, "largest", ecm_account_name(ecm_largest(account)));
	report_json_time_account(out, "account", account);
	put_end(out);
}

void report_json_time_account(struct json_writer *out, const char *key,
			      const struct ecm_account *account)
{
	const bool told = account && ecm_is_predicted(account) && isfinite(account->measured_s);
	put_array(out, key);
	for (int i = 0; told && i < ACCOUNT_PARTS; i++) {
		if (!(fabs(account->account_s[i]) > 0))
			continue;
		put_object(out, NULL);
		put_text(out, "part", ecm_account_name((enum ecm_account_part)i));
		put_real(out, "seconds", account->account_s[i]);
		put_end(out);
	}
	put_end(out);
}

static void put_branch(struct json_writer *out, const struct profile *profile,
		       const struct profile_branch *branch)
{
	put_object(out, NULL);
	put_text(out, "kind", mispredictions_kind_name(branch->kind));
	put_count(out, "offset", branch->offset);
	put_text(out, "file", branch->file[0] ? branch->file : NULL);
	put_known(out, "line", branch->source_line > 0, branch->source_line);
	put_count(out, "executions", branch->executions);
	put_count(out, "outcomes", branch->outcomes);
	put_real(out, "taken_share",
		 branch->outcomes ? (double)branch->taken / (double)branch->outcomes : NAN);
	put_real(out, "mispredicted_share", branch->share);
	put_real(out, "mispredicted_share_halfwidth", branch->halfwidth);
	put_real(out, "mispredicted_share_plain", branch->plain_share);
	put_real(out, "seconds", mispredictions_seconds(profile, branch));
	put_end(out);
}

void report_json_branches(struct json_writer *out, const char *key, const struct report_view *view,
			  const struct model_function *f)
{
	const struct profile_branch *worst[MOST_JSON_BRANCHES];
	const size_t n = mispredictions_worst(view->profile, f, MOST_JSON_BRANCHES, worst);
	put_array(out, key);
	for (size_t i = 0; i < n; i++)
		put_branch(out, view->profile, worst[i]);
	put_end(out);
}
