/* Makes accounts: pieces of code first, then loops and the function as sums of pieces. */
#include "report/ecm/loop_account.h"

#include "report/ecm/transfers.h"
#include "report/ecm/what_if.h"
#include "report/in_core/measured_core.h"
#include "report/model/model_place.h"

#include <math.h>
#include <stdlib.h>

/* ---- sums ---- */

static void add_account(struct ecm_account *sum, const struct ecm_account *part)
{
	sum->lacks |= part->lacks;
	for (int i = 0; i < ECM_PARTS; i++)
		sum->parts_s[i] += part->parts_s[i];
	for (int i = 0; i < IN_CORE_PARTS; i++)
		sum->in_core_s[i] += part->in_core_s[i];
	for (int i = 0; i < ACCOUNT_PARTS; i++)
		sum->account_s[i] += part->account_s[i];
	sum->lcd_s += part->lcd_s;
	sum->latency_s += part->latency_s;
	sum->chained_walks_s += part->chained_walks_s;
	sum->other_walks_s += part->other_walks_s;
	sum->walks.accesses += part->walks.accesses;
	sum->walks.near_misses += part->walks.near_misses;
	sum->walks.walks += part->walks.walks;
	sum->mispredicted.n += part->mispredicted.n;
	sum->mispredicted.variance += part->mispredicted.variance;
	sum->mispredicted.seconds += part->mispredicted.seconds;
	sum->light_s += part->light_s;
	sum->memory_busy_s += part->memory_busy_s;
	sum->predicted_s += part->predicted_s;
	for (int i = 0; i < ECM_CHANGES; i++)
		sum->changed_s[i] += part->changed_s[i];
	for (int i = 0; i < ECM_THREADS; i++)
		sum->at_threads_s[i] += part->at_threads_s[i];
}

/* Whose standard error is that of the number of its samples. */
static void set_measured(struct ecm_account *account, double seconds, double samples)
{
	account->measured_s = samples > 0 ? seconds : NAN;
	account->stderr_s = samples > 0 ? seconds / sqrt(samples) : NAN;
	if (!(samples > 0))
		account->lacks |= ECM_LACKS_SAMPLES;
	account->account_s[ACCOUNT_REST] = account->measured_s - account->predicted_s;
}

static unsigned lacks_of(const struct ecm_machine *machine, const struct model *model,
			 const struct model_function *f, bool branches)
{
	const bool counted = f->tally.instructions > 0 && !f->waits &&
			     f->place.bound != BOUND_KERNEL && f->place.bound != BOUND_UNCOUNTED;
	return (counted ? 0 : ECM_LACKS_COUNTS) |
	       (isnan(machine->clock_ghz) ? ECM_LACKS_CLOCK : 0) |
	       (model->traced && f->traffic && f->traffic->source == MEMORY_TRACED
			? 0
			: ECM_LACKS_TRAFFIC) |
	       (machine->source == ECM_NO_ROOFS ? ECM_LACKS_ROOFS : 0) |
	       (!branches || f->function == PROFILE_NONE ? ECM_LACKS_BRANCHES : 0);
}

static void predict(const struct ecm_context *context, const struct ecm_piece *piece,
		    struct ecm_account *own)
{
	ecm_predict_piece(context, piece, own);
	ecm_add_changes(context, piece, own);
	ecm_add_threads(context, piece, own);
}

/* All pieces, from the innermost loops outward: those within a loop stand behind it. */
static void add_pieces(const struct ecm_context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	for (size_t i = f->n_loops; i-- > 0;) {
		const struct ecm_piece piece = ecm_piece_of(context, (uint32_t)i);
		struct ecm_account own = {.lacks = context->lacks};
		predict(context, &piece, &own);
		add_account(&account->loops[i], &own);
		const uint32_t parent = f->loops[i].parent;
		add_account(parent == PROFILE_NONE ? &account->whole : &account->loops[parent],
			    &account->loops[i]);
	}
	const struct ecm_piece outside = ecm_piece_of(context, PROFILE_NONE);
	struct ecm_account own = {.lacks = context->lacks};
	predict(context, &outside, &own);
	add_account(&account->whole, &own);
}

static struct rf_error *measure(const struct ecm_machine *machine, const struct model_function *f,
				struct in_core *cores)
{
	if (machine->core)
		return measured_core_of(machine->core, f, cores);
	for (size_t i = 0; i < f->n_loops; i++)
		cores[i].t_ol = -1;
	return NULL;
}

/* Arrays by loop. */
struct scratch {
	struct in_core *cores;
	struct mispredictions *mispredicted;
	struct far_lines *far;
	struct page_walks *walks;
};

static struct rf_error *look(const struct ecm_machine *machine, const struct profile *profile,
			     const struct model_function *f, struct scratch *scratch)
{
	scratch->cores = calloc(f->n_loops + 1, sizeof(*scratch->cores));
	scratch->mispredicted = calloc(f->n_loops + 1, sizeof(*scratch->mispredicted));
	scratch->far = calloc(f->n_loops + 1, sizeof(*scratch->far));
	scratch->walks = calloc(f->n_loops + 1, sizeof(*scratch->walks));
	if (!scratch->cores || !scratch->mispredicted || !scratch->far || !scratch->walks)
		return rf_error_no_memory();
	far_lines_by_loop(machine->far, profile, f, scratch->far);
	page_walks_by_loop(profile, f, scratch->walks);
	mispredictions_by_loop(profile, f, scratch->mispredicted);
	return measure(machine, f, scratch->cores);
}

/* ---- what is not known ---- */

/* Of the time, what bytes that may have moved or not may take before transfers are not known. */
#define MOST_OPEN 0.1

/* Bytes that may have crossed a border, where none of them must have. */
static double open_bytes(const struct model_estimate *moved)
{
	return moved->halfwidth >= moved->bytes ? moved->halfwidth : 0;
}

/* Code that ran between the windows of traced time, or hardly ever within them. */
static bool is_unseen(const struct ecm_context *context, const struct model_bytes *bytes,
		      const struct ecm_account *account)
{
	double events[N_TRAFFIC] = {0}, seconds[ECM_PARTS] = {0}, longest = 0;
	if (!bytes || context->lacks & (ECM_LACKS_TRAFFIC | ECM_LACKS_ROOFS))
		return false;
	events[TRAFFIC_L2_READ] = open_bytes(&bytes->l2);
	events[TRAFFIC_L3_READ] = open_bytes(&bytes->l3);
	events[TRAFFIC_MEM_READ] = open_bytes(&bytes->mem[DIRECTION_BOTH]);
	const struct ecm_moves moves = ecm_moves_of(events, NULL);
	ecm_transfer_seconds(context->machine, context->profile, &moves, context->threads, 0,
			     seconds);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		longest = fmax(longest, seconds[p]);
	return longest > MOST_OPEN * fmax(account->predicted_s, account->measured_s);
}

static void see_what_is_unseen(const struct ecm_context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	if (f->traffic && is_unseen(context, &f->traffic->bytes, &account->whole))
		account->whole.lacks |= ECM_LACKS_SIGHT;
	for (size_t i = 0; i < f->n_loops; i++)
		if (is_unseen(context, f->loops[i].bytes, &account->loops[i]))
			account->loops[i].lacks |= ECM_LACKS_SIGHT;
}

static void predict_all(const struct ecm_context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	account->whole = (struct ecm_account){.turns = NAN,
					      .flop = (double)f->tally.flop,
					      .lacks = context->lacks};
	for (size_t i = 0; i < f->n_loops; i++)
		account->loops[i] = (struct ecm_account){.turns = (double)f->loops[i].turns,
							 .flop = (double)f->loops[i].tally.flop,
							 .lacks = context->lacks};
	if (ecm_is_predicted(&account->whole))
		add_pieces(context, account);
	set_measured(&account->whole, 1e-9 * (double)f->time_ns, (double)f->n_samples);
	for (size_t i = 0; i < f->n_loops; i++)
		set_measured(&account->loops[i], 1e-9 * (double)f->loops[i].time_ns,
			     (double)f->loops[i].n_samples);
	see_what_is_unseen(context, account);
}

struct rf_error *ecm_function_init(struct ecm_function *account, const struct ecm_machine *machine,
				   const struct profile *profile, const struct model *model,
				   const struct model_function *f)
{
	struct scratch scratch = {0};
	account->loops = calloc(f->n_loops + 1, sizeof(*account->loops));
	struct rf_error *error =
		account->loops ? look(machine, profile, f, &scratch) : rf_error_no_memory();
	const struct ecm_context context = {machine,
					    profile,
					    model,
					    f,
					    f->concurrency,
					    lacks_of(machine, model, f,
						     mispredictions_known(profile)),
					    ecm_memory_share(profile),
					    scratch.cores,
					    scratch.mispredicted,
					    scratch.far,
					    scratch.walks};
	if (!error)
		predict_all(&context, account);
	free(scratch.cores);
	free(scratch.mispredicted);
	free(scratch.far);
	free(scratch.walks);
	return error;
}

void ecm_function_deinit(struct ecm_function *account)
{
	free(account->loops);
	*account = (struct ecm_function){0};
}

/* ---- what it says ---- */

bool ecm_is_predicted(const struct ecm_account *account)
{
	return !(account->lacks & (ECM_LACKS_COUNTS | ECM_LACKS_CLOCK));
}

enum ecm_account_part ecm_largest(const struct ecm_account *account)
{
	enum ecm_account_part most = ACCOUNT_REST;
	for (int i = 0; ecm_is_predicted(account) && i < ACCOUNT_REST; i++)
		if (account->account_s[i] > 0 &&
		    (most == ACCOUNT_REST || account->account_s[i] > account->account_s[most]))
			most = (enum ecm_account_part)i;
	return account->account_s[ACCOUNT_REST] > account->predicted_s ? ACCOUNT_REST : most;
}

double ecm_saved_s(const struct ecm_account *account, enum ecm_change change)
{
	const double saved = account->predicted_s - account->changed_s[change];
	if (!ecm_is_predicted(account) || !(account->measured_s > 0) || !(saved > 0))
		return 0;
	return saved * fmin(1, account->measured_s / account->predicted_s);
}

double ecm_cycles_a_turn(const struct ecm_machine *machine, const struct ecm_account *account,
			 double seconds)
{
	return account->turns > 0 ? seconds * 1e9 * machine->clock_ghz / account->turns : NAN;
}

double ecm_saturating_threads(const struct ecm_account *account)
{
	return ecm_saturated_by(account->light_s, account->memory_busy_s);
}

double ecm_wall_s(const struct ecm_machine *machine, const struct ecm_account *account, size_t i)
{
	return account->at_threads_s[i] / machine->threads[i];
}

double ecm_memory_s(const struct ecm_account *account)
{
	return account->parts_s[ECM_L2_MEMORY] + account->parts_s[ECM_L3_MEMORY];
}
