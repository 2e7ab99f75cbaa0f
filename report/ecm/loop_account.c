/* Makes accounts: pieces of code first, then loops and the function as sums of pieces. */
#include "report/ecm/loop_account.h"

#include "report/ecm/account_sum.h"
#include "report/ecm/context.h"
#include "report/ecm/joined_account.h"
#include "report/ecm/transfers.h"
#include "report/ecm/what_if.h"

#include <math.h>
#include <stdlib.h>

/* ---- pieces ---- */

/* Own code of a loop, or in none. */
static void predict(const struct ecm_context *context, uint32_t loop, struct ecm_account *own)
{
	const struct ecm_piece piece = ecm_piece_of(context, loop);
	*own = (struct ecm_account){.lacks = context->lacks};
	ecm_predict_piece_in_full(context, &piece, own);
	if (loop != PROFILE_NONE && context->cores[loop].t_ol >= 0 &&
	    context->cores[loop].calls == CALLS_UNKNOWN)
		own->unknown_calls = piece.instructions;
}

/* The loop's part of what it and what it calls take together. */
static struct rf_error *predict_joined(const struct ecm_context *context, uint32_t loop,
				       struct ecm_account *all, struct ecm_account *own)
{
	double share;
	struct rf_error *error = ecm_joined_account(context, loop, all, &share);
	if (error)
		return error;
	*own = (struct ecm_account){.lacks = context->lacks};
	ecm_add_account(own, all, share);
	own->lacks &= ~(unsigned)ECM_LACKS_SAMPLES;
	return NULL;
}

/* What is in no loop: as far as it is called from loops, its part of these. */
static struct rf_error *add_outside(const struct ecm_context *context, struct ecm_account *whole)
{
	struct ecm_account own;
	double covered = 0;
	struct rf_error *error = ecm_add_from_loops(context, whole, &covered);
	predict(context, PROFILE_NONE, &own);
	ecm_add_account(whole, &own, 1 - covered);
	return error;
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

/* All pieces, from the innermost loops outward: those within a loop stand behind it. */
static struct rf_error *add_pieces(const struct ecm_context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	struct rf_error *error = NULL;
	for (size_t i = f->n_loops; i-- > 0 && !error;) {
		struct ecm_account own = {.lacks = 0};
		const uint32_t parent = f->loops[i].parent;
		if (ecm_is_joined(context, (uint32_t)i))
			error = predict_joined(context, (uint32_t)i, &account->with_calls[i], &own);
		else
			predict(context, (uint32_t)i, &own);
		ecm_add_account(&account->loops[i], &own, 1);
		ecm_add_account(parent == PROFILE_NONE ? &account->whole : &account->loops[parent],
				&account->loops[i], 1);
	}
	return error ?: add_outside(context, &account->whole);
}

/* ---- all of them ---- */

/* Of the instructions: with more of them in loops that call what cannot be followed, what all of it
 * takes is not known. */
#define MOST_UNKNOWN 0.1

static void conclude(struct ecm_account *account, double instructions, uint64_t time_ns,
		     uint64_t samples)
{
	if (account->unknown_calls > MOST_UNKNOWN * instructions)
		account->lacks |= ECM_LACKS_CALLS;
	ecm_set_measured(account, 1e-9 * (double)time_ns, (double)samples);
}

static struct rf_error *predict_all(const struct ecm_context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	account->whole = (struct ecm_account){.turns = NAN,
					      .flop = (double)f->tally.flop,
					      .lacks = context->lacks};
	for (size_t i = 0; i < f->n_loops; i++)
		account->loops[i] = (struct ecm_account){.turns = (double)f->loops[i].turns,
							 .flop = (double)f->loops[i].tally.flop,
							 .lacks = context->lacks};
	struct rf_error *error =
		ecm_is_predicted(&account->whole) ? add_pieces(context, account) : NULL;
	conclude(&account->whole, (double)f->tally.instructions, f->time_ns, f->n_samples);
	for (size_t i = 0; i < f->n_loops; i++)
		conclude(&account->loops[i], (double)f->loops[i].tally.instructions,
			 f->loops[i].time_ns, f->loops[i].n_samples);
	see_what_is_unseen(context, account);
	return error;
}

struct rf_error *ecm_function_init(struct ecm_function *account, const struct ecm_machine *machine,
				   const struct profile *profile, const struct model *model,
				   const struct model_function *f)
{
	struct ecm_context context = {0};
	account->loops = calloc(f->n_loops + 1, sizeof(*account->loops));
	account->with_calls = calloc(f->n_loops + 1, sizeof(*account->with_calls));
	struct rf_error *error =
		account->loops && account->with_calls
			? ecm_context_init(&context, machine, profile, model, f, true)
			: rf_error_no_memory();
	error = error ?: predict_all(&context, account);
	ecm_context_deinit(&context);
	return error;
}

void ecm_function_deinit(struct ecm_function *account)
{
	free(account->loops);
	free(account->with_calls);
	*account = (struct ecm_function){0};
}

/* ---- what it says ---- */

bool ecm_is_predicted(const struct ecm_account *account)
{
	return !(account->lacks & (ECM_LACKS_COUNTS | ECM_LACKS_CLOCK | ECM_LACKS_CALLS));
}

enum ecm_account_part ecm_largest(const struct ecm_account *account)
{
	enum ecm_account_part most = ACCOUNT_REST;
	double most_s = 0;
	for (int i = 0; ecm_is_predicted(account) && i < ACCOUNT_SHARED; i++) {
		const double shared_s = i == ACCOUNT_CORE ? account->account_s[ACCOUNT_SHARED] : 0;
		const double part_s = account->account_s[i] + shared_s;
		if (part_s > most_s) {
			most = (enum ecm_account_part)i;
			most_s = part_s;
		}
	}
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
