/* The model once more, with one thing changed. */
#include "report/ecm/what_if.h"

#include "report/ecm/transfers.h"
#include "report/model/model_loops.h"

#include <math.h>

/* The bytes that an access has in the widest vectors, of those that it has now, where the piece is
 * an innermost loop that goes through its data line by line; else 1. */
static double widening_of(const struct ecm_context *context, const struct ecm_piece *piece)
{
	size_t n = 0;
	if (piece->loop == PROFILE_NONE)
		return 1;
	(void)model_loops_within(context->f, piece->loop, &n);
	const struct model_loop *loop = &context->f->loops[piece->loop];
	const struct tally_main *tally = &loop->tally;
	const double accesses = (double)tally->loads + (double)tally->stores;
	double irregular = 0;
	for (int level = 0; level < MODEL_LEVELS; level++)
		irregular += piece->irregular[level].lines;
	if (n > 0 || !(accesses > 0) || !tally->flop || irregular > 0.1 * accesses)
		return 1;
	return fmax(1, context->machine->vector_bytes * accesses /
			       ((double)tally->load_bytes + (double)tally->store_bytes));
}

/* So many times fewer instructions do the same work, in as many times fewer turns of `turn_s`
 * seconds a cycle.  Divisions take as long for each number, and a chain from turn to turn is as
 * long as it was, since the order of a sum is kept; but for that of an index, a cycle a turn. */
static void widen(struct ecm_account *account, double times, double turn_s,
		  const double seconds[ECM_PARTS])
{
	double *core = account->in_core_s;
	if (!(times > 1))
		return;
	if (core[IN_CORE_CHAIN] < 1.5 * turn_s)
		core[IN_CORE_CHAIN] /= times;
	core[IN_CORE_ISSUE] /= times;
	core[IN_CORE_UNITS] /= times;
	core[IN_CORE_FETCH] /= times;
	account->parts_s[ECM_NOL] /= times;
	double longest = 0;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		longest = fmax(longest, core[i]);
	account->parts_s[ECM_OL] = fmin(account->parts_s[ECM_OL], longest);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		account->parts_s[p] = fmin(account->parts_s[p], seconds[p]);
}

static void block(const struct ecm_context *context, const struct ecm_piece *piece,
		  struct ecm_account *account)
{
	enum { L2 = 1 };
	struct ecm_piece near = *piece;
	account->parts_s[ECM_L2_L3] = 0;
	account->parts_s[ECM_L2_MEMORY] = account->parts_s[ECM_L3_MEMORY] = 0;
	account->memory_busy_s = 0;
	for (int level = L2 + 1; level < MODEL_LEVELS; level++) {
		near.irregular[L2].lines += near.irregular[level].lines;
		near.irregular[L2].longest += near.irregular[level].longest;
		near.irregular[L2].brief += near.irregular[level].brief;
		near.irregular[L2].guessed += near.irregular[level].guessed;
		near.irregular[level] = (struct model_irregular){0};
		near.far.crowded[L2] += near.far.crowded[level];
		near.far.crowded[level] = 0;
	}
	const double now = account->latency_s;
	if (!(now > 0))
		return;
	ecm_add_latency(context, &near, account);
	if (!(account->latency_s > 0)) /* that of L2 was not measured */
		account->latency_s = now;
}

/* No branch waits for a line before it is known to have been mispredicted. */
static void predict_branches(const struct ecm_context *context, const struct ecm_piece *piece,
			     struct ecm_account *account)
{
	struct ecm_piece known = *piece;
	account->mispredicted.seconds = 0;
	for (int level = 0; level < MODEL_LEVELS; level++)
		known.irregular[level].guessed = 0;
	if (account->latency_s > 0)
		ecm_add_latency(context, &known, account);
}

/* What was waited for comes over the links as all else does. */
static void prefetch(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account)
{
	double seconds[ECM_PARTS];
	if (!(account->latency_s > 0))
		return;
	const struct ecm_moves moves = ecm_moves_of(piece->events, NULL);
	account->latency_s = account->chained_lines_s = account->beside_lines_s = 0;
	ecm_transfer_seconds(context->machine, context->profile, &moves, context->threads, 0,
			     seconds);
	account->memory_busy_s =
		(seconds[ECM_L2_MEMORY] + seconds[ECM_L3_MEMORY]) * context->memory_share;
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		account->parts_s[p] = fmax(account->parts_s[p], seconds[p]);
}

/* The model once more, of the inputs as they are after the change; `seconds`: transfers of wide
 * accesses. */
static double after(const struct ecm_context *context, const struct ecm_piece *piece,
		    const struct ecm_account *now, enum ecm_change change,
		    const double seconds[ECM_PARTS])
{
	struct ecm_account changed = *now;
	for (int i = 0; i < ACCOUNT_PARTS; i++)
		changed.account_s[i] = 0;
	switch (change) {
	case CHANGE_VECTORS:
		widen(&changed, widening_of(context, piece),
		      piece->turns * 1e-9 / context->machine->clock_ghz, seconds);
		break;
	case CHANGE_BLOCKED:
		block(context, piece, &changed);
		break;
	case CHANGE_PREDICTED:
		predict_branches(context, piece, &changed);
		break;
	case CHANGE_PREFETCHED:
		prefetch(context, piece, &changed);
		break;
	case CHANGE_PAGES:
		changed.walks_s = 0;
		break;
	case ECM_CHANGES:
		break;
	}
	ecm_compose_piece(context, &changed);
	return fmin(changed.predicted_s + ecm_mispredicted_s(context, &changed), now->predicted_s);
}

static void add_changes(const struct ecm_context *context, const struct ecm_piece *piece,
			struct ecm_account *account)
{
	double wide[ECM_PARTS] = {0};
	if (!(context->lacks & (ECM_LACKS_TRAFFIC | ECM_LACKS_ROOFS))) {
		const struct ecm_moves moves = ecm_moves_of(piece->events, piece->irregular);
		ecm_transfer_seconds(context->machine, context->profile, &moves, context->threads,
				     0, wide);
	}
	for (int i = 0; i < ECM_CHANGES; i++)
		account->changed_s[i] = after(context, piece, account, (enum ecm_change)i, wide);
}

static void add_threads(const struct ecm_context *context, const struct ecm_piece *piece,
			struct ecm_account *account)
{
	for (size_t i = 0; i < context->machine->n_threads; i++) {
		struct ecm_context with = *context;
		struct ecm_account predicted = {.lacks = context->lacks};
		with.threads = context->machine->threads[i];
		account->at_threads_s[i] = account->predicted_s;
		if (with.threads == context->threads)
			continue;
		ecm_predict_piece(&with, piece, &predicted);
		account->at_threads_s[i] = predicted.predicted_s;
	}
}

/* account->least_s and most_s. */
static void add_ends(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account)
{
	const struct mispredictions *wrong = &account->mispredicted;
	const double branches =
		wrong->n > 0 ? fmin(1, sqrt(wrong->variance) / wrong->n) * wrong->seconds : 0;
	bool is_sampled = false;
	for (int level = 0; level < MODEL_LEVELS; level++)
		is_sampled |= piece->off[level] > 0;
	account->least_s = account->most_s = account->predicted_s;
	for (double sign = -1; sign <= 1 && is_sampled; sign += 2) {
		const struct ecm_piece end = ecm_piece_at_end(piece, sign);
		struct ecm_account at_end = {.lacks = context->lacks};
		ecm_predict_piece(context, &end, &at_end);
		account->least_s = fmin(account->least_s, at_end.predicted_s);
		account->most_s = fmax(account->most_s, at_end.predicted_s);
	}
	account->least_s -= branches;
	account->most_s += branches;
}

void ecm_predict_piece_in_full(const struct ecm_context *context, const struct ecm_piece *piece,
			       struct ecm_account *account)
{
	ecm_predict_piece(context, piece, account);
	add_changes(context, piece, account);
	add_threads(context, piece, account);
	add_ends(context, piece, account);
}
