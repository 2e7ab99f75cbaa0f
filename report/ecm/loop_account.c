/* Makes accounts: pieces of code first, then loops and the function as sums of pieces. */
#include "report/ecm/loop_account.h"

#include "report/ecm/far_lines.h"
#include "report/ecm/in_core_source.h"
#include "report/ecm/measured_core.h"
#include "report/ecm/transfers.h"
#include "report/ecm/under_way.h"
#include "report/model/model_irregular.h"
#include "report/model/model_loops.h"
#include "report/model/model_place.h"

#include <math.h>
#include <stdlib.h>

struct context {
	const struct ecm_machine *machine;
	const struct profile *profile;
	const struct model *model;
	const struct model_function *f;
	unsigned lacks;
	double memory_share;
	const struct in_core *cores;               /* by loop; of those that are measured */
	const struct mispredictions *mispredicted; /* by loop; the last one: in none */
	const struct far_lines *far;               /* the same */
	const struct page_walks *walks;            /* the same */
};

/* The own code of a loop, or that in none. */
struct piece {
	uint32_t loop; /* PROFILE_NONE */
	double turns;
	double instructions;      /* executed */
	double run_through;       /* of these, from when it is entered until it is left */
	double events[N_TRAFFIC]; /* bytes */
	struct model_irregular
		irregular[MODEL_LEVELS]; /* `lines`: with those that come by far steps */
	struct far_lines far;
};

/* ---- pieces ---- */

static void add_bytes(double events[N_TRAFFIC], const struct model_bytes *part, double sign)
{
	for (int e = 0; part && e < N_TRAFFIC; e++)
		events[e] += sign * part->events[e].bytes;
}

static void add_irregular(struct model_irregular *sum, const struct model_irregular *part,
			  double sign)
{
	for (int level = 0; part && level < MODEL_LEVELS; level++) {
		sum[level].lines = fmax(0, sum[level].lines + sign * part[level].lines);
		sum[level].longest = fmax(0, sum[level].longest + sign * part[level].longest);
		sum[level].brief = fmax(0, sum[level].brief + sign * part[level].brief);
	}
}

static struct piece piece_of(const struct context *context, uint32_t loop)
{
	const struct model_function *f = context->f;
	const bool in_loop = loop != PROFILE_NONE;
	struct piece piece = {.loop = loop, .turns = in_loop ? (double)f->loops[loop].turns : 1};
	size_t n;
	const struct model_loop *within = model_loops_within(f, loop, &n);
	const struct tally_main all = in_loop ? f->loops[loop].tally : model_tally_main(&f->tally);
	const double times = in_loop ? (double)f->loops[loop].entries
				     : (double)f->tally.class_instructions[INSN_RETURN];
	piece.instructions = (double)all.instructions;
	piece.run_through = times > 0 ? piece.instructions / times : piece.instructions;
	if (in_loop) {
		add_bytes(piece.events, f->loops[loop].bytes, 1);
		add_irregular(piece.irregular, f->loops[loop].irregular, 1);
	} else if (f->traffic) {
		add_bytes(piece.events, &f->traffic->bytes, 1);
		add_irregular(piece.irregular, f->traffic->irregular, 1);
	}
	for (size_t i = 0; i < n; i++) {
		add_bytes(piece.events, within[i].bytes, -1);
		piece.instructions -= (double)within[i].tally.instructions;
	}
	for (size_t i = 0; i < f->n_loops && !in_loop;
	     i++) /* those of loops are their own code's */
		add_irregular(piece.irregular, f->loops[i].irregular, -1);
	piece.far = context->far[in_loop ? loop : f->n_loops];
	for (int level = 0; level < MODEL_LEVELS; level++)
		piece.irregular[level].lines += piece.far.lines[level];
	return piece;
}

/* ---- what a piece takes ---- */

/* Irregular lines of a piece by level, but L1: all, those on the longest chain of each loop, and
 * those on chains that end after a few turns. */
struct lines {
	double all[MODEL_LEVELS], longest[MODEL_LEVELS], brief[MODEL_LEVELS];
	double sum;
};

static struct lines lines_of(const struct piece *piece)
{
	struct lines lines = {.sum = 0};
	for (int level = 1; level < MODEL_LEVELS; level++) {
		lines.all[level] = piece->irregular[level].lines;
		lines.longest[level] = piece->irregular[level].longest;
		lines.brief[level] = piece->irregular[level].brief;
		lines.sum += lines.all[level];
	}
	return lines;
}

/* `n` of something that the piece does; how many of these are under way at once. */
static double at_once(const struct context *context, const struct piece *piece, double n,
		      double in_program)
{
	return ecm_under_way(context->profile, context->f,
			     piece->instructions > 0 ? n / piece->instructions : 0, in_program,
			     piece->run_through);
}

/* Processor time that its lines take which nothing fetches ahead, the longest of: those on a long
 * chain one after another; those on brief ones, as many chains at once as the piece is entered
 * within a reorder buffer; all of them, as many at once as are within one, and as there can be at
 * the most; those that crowd a set of L1, as many at once as such a set can have.  Those in L1 are
 * in the core's part. */
static void add_latency(const struct context *context, const struct piece *piece,
			struct ecm_account *account)
{
	const struct lines lines = lines_of(piece);
	const struct profile *profile = context->profile;
	const double threads = context->f->concurrency;
	const double entries =
		piece->run_through > 0 ? piece->instructions / piece->run_through : 0;
	const double program = context->f->traffic ? context->f->traffic->program_lines : 0;
	const double seconds[] = {
		model_wait_for(profile, lines.all, PATTERN_RANDOM, threads, false).seconds,
		model_wait_for(profile, lines.longest, PATTERN_CHASE, threads, false).seconds,
		model_wait_for(profile, lines.brief, PATTERN_CHASE, threads, false).seconds /
			at_once(context, piece, entries, entries),
		model_wait_for(profile, lines.all, PATTERN_CHASE, threads, false).seconds /
			at_once(context, piece, lines.sum, program),
	};
	account->latency_s = 0;
	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
		account->latency_s = fmax(account->latency_s, seconds[i] * threads);
	if (account->latency_s > 0)
		account->latency_s =
			fmax(account->latency_s, far_lines_crowd_s(profile, &piece->far));
	if (lines.sum > 0 && !(account->latency_s > 0))
		account->lacks |= ECM_LACKS_LATENCY;
}

/* Of the walks as large a share waits for one another as of the irregular lines. */
static void add_walks(const struct context *context, const struct piece *piece,
		      struct ecm_account *account)
{
	const struct lines lines = lines_of(piece);
	double longest = 0;
	for (int level = 1; level < MODEL_LEVELS; level++)
		longest += lines.longest[level];
	const double share = lines.sum > 0 ? fmin(1, longest / lines.sum) : 0;
	account->walks =
		context->walks[piece->loop == PROFILE_NONE ? context->f->n_loops : piece->loop];
	const double all = account->walks.walks;
	account->chained_walks_s = page_walks_seconds(context->profile, share * all, true);
	account->other_walks_s = page_walks_seconds(context->profile, (1 - share) * all, false);
}

static void add_core(const struct context *context, const struct piece *piece,
		     struct ecm_account *account)
{
	struct in_core core;
	const double turn_s = piece->turns * 1e-9 / context->machine->clock_ghz;
	if (piece->loop != PROFILE_NONE && context->cores[piece->loop].t_ol >= 0)
		core = context->cores[piece->loop];
	else if (!ecm_in_core(context->profile, context->f, piece->loop, &core))
		return;
	account->parts_s[ECM_OL] = core.t_ol * turn_s;
	account->parts_s[ECM_NOL] = core.t_nol * turn_s;
	account->lcd_s = core.lcd * turn_s;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		account->in_core_s[i] = core.part[i] * turn_s;
}

/* A set of parts that add up, as parts of the account. */
static void add_parts(struct ecm_account *account, unsigned adds)
{
	static const enum ecm_account_part place[ECM_PARTS] = {
		[ECM_OL] = ACCOUNT_CORE,          [ECM_NOL] = ACCOUNT_CORE,
		[ECM_L1_L2] = ACCOUNT_L1_L2,      [ECM_L2_L3] = ACCOUNT_L2_L3,
		[ECM_L2_MEMORY] = ACCOUNT_MEMORY, [ECM_L3_MEMORY] = ACCOUNT_MEMORY,
	};
	const bool chain = account->in_core_s[IN_CORE_CHAIN] >= account->parts_s[ECM_OL];
	for (int p = 0; p < ECM_PARTS; p++)
		if (adds & ECM_SET(p))
			account->account_s[p == ECM_OL && chain ? ACCOUNT_CHAIN : place[p]] +=
				account->parts_s[p];
}

/* What is waited for beside the transfers.  A chain has its walks one after another with its lines;
 * the other walks go on beside all lines, several at once, so that the longer of both counts. */
static double wait(const struct ecm_account *account, double *lines, double *walks)
{
	const bool walks_bind =
		account->other_walks_s > account->latency_s + account->chained_walks_s;
	*lines = walks_bind ? 0 : account->latency_s;
	*walks = walks_bind ? account->other_walks_s : account->chained_walks_s;
	return *lines + *walks;
}

/* Irregular lines need the same buffers as transfers, and come on top of these; what the core does
 * goes on beside both.  So the time is that of the model, or that of transfers and waiting where it
 * is longer. */
static void compose(const struct context *context, struct ecm_account *account)
{
	static const struct ecm_rule beside = {.sums = {0}};
	const struct ecm_rule *rule =
		context->machine->fit.rule ? context->machine->fit.rule : &beside;
	double moving[ECM_PARTS];
	for (int p = 0; p < ECM_PARTS; p++)
		moving[p] = p < ECM_FIRST_LINK ? 0 : account->parts_s[p];
	const struct ecm_time all = ecm_compose(rule, account->parts_s),
			      transfers = ecm_compose(rule, moving);
	double lines, walks;
	const double waiting = wait(account, &lines, &walks);
	const bool waits = transfers.cycles + waiting > all.cycles;
	const double threads = context->f->concurrency;
	add_parts(account,
		  waits ? transfers.adds & ~(ECM_SET(ECM_OL) | ECM_SET(ECM_NOL)) : all.adds);
	account->account_s[ACCOUNT_LATENCY] = waits ? lines : 0;
	account->account_s[ACCOUNT_WALKS] = waits ? walks : 0;
	account->light_s = all.cycles;
	account->predicted_s = waits ? transfers.cycles + waiting : all.cycles;
	const double together =
		ecm_with_threads(account->predicted_s, account->memory_busy_s, threads);
	account->account_s[ACCOUNT_MEMORY] += together - account->predicted_s;
	account->predicted_s = together;
}

/* ---- what if ---- */

/* The bytes that an access has in the widest vectors, of those that it has now, where the piece is
 * an innermost loop that goes through its data line by line; else 1. */
static double widening_of(const struct context *context, const struct piece *piece)
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
	core[IN_CORE_TAKEN] /= times;
	account->parts_s[ECM_NOL] /= times;
	double longest = 0;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		longest = fmax(longest, core[i]);
	account->parts_s[ECM_OL] = fmin(account->parts_s[ECM_OL], longest);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		account->parts_s[p] = fmin(account->parts_s[p], seconds[p]);
}

static void block(const struct context *context, const struct piece *piece,
		  struct ecm_account *account)
{
	enum { L2 = 1 };
	struct piece near = *piece;
	account->parts_s[ECM_L2_L3] = 0;
	account->parts_s[ECM_L2_MEMORY] = account->parts_s[ECM_L3_MEMORY] = 0;
	account->memory_busy_s = 0;
	for (int level = L2 + 1; level < MODEL_LEVELS; level++) {
		near.irregular[L2].lines += near.irregular[level].lines;
		near.irregular[L2].longest += near.irregular[level].longest;
		near.irregular[L2].brief += near.irregular[level].brief;
		near.irregular[level] = (struct model_irregular){0};
		near.far.crowded[L2] += near.far.crowded[level];
		near.far.crowded[level] = 0;
	}
	const double now = account->latency_s;
	if (!(now > 0))
		return;
	add_latency(context, &near, account);
	if (!(account->latency_s > 0)) /* that of L2 was not measured */
		account->latency_s = now;
}

/* What was waited for comes over the links as all else does. */
static void prefetch(const struct context *context, const struct piece *piece,
		     struct ecm_account *account)
{
	double seconds[ECM_PARTS];
	if (!(account->latency_s > 0))
		return;
	const struct ecm_moves moves = ecm_moves_of(piece->events, NULL);
	account->latency_s = 0;
	ecm_transfer_seconds(context->machine, context->profile, &moves, context->f->concurrency, 0,
			     seconds);
	account->memory_busy_s =
		(seconds[ECM_L2_MEMORY] + seconds[ECM_L3_MEMORY]) * context->memory_share;
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		account->parts_s[p] = fmax(account->parts_s[p], seconds[p]);
}

/* The model once more, of the inputs as they are after the change; `seconds`: transfers of wide
 * accesses. */
static double after(const struct context *context, const struct piece *piece,
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
		changed.mispredicted.seconds = 0;
		break;
	case CHANGE_PREFETCHED:
		prefetch(context, piece, &changed);
		break;
	case CHANGE_PAGES:
		changed.chained_walks_s = changed.other_walks_s = 0;
		break;
	case ECM_CHANGES:
		break;
	}
	compose(context, &changed);
	return fmin(changed.predicted_s + changed.mispredicted.seconds, now->predicted_s);
}

static void add_branches(const struct context *context, const struct piece *piece,
			 struct ecm_account *account)
{
	const size_t at = piece->loop == PROFILE_NONE ? context->f->n_loops : piece->loop;
	if (context->lacks & ECM_LACKS_BRANCHES)
		return;
	account->mispredicted = context->mispredicted[at];
	account->account_s[ACCOUNT_BRANCHES] = account->mispredicted.seconds;
	account->predicted_s += account->account_s[ACCOUNT_BRANCHES];
}

/* By all accesses of the loop, with loops within, or of the function. */
static double narrowness_of(const struct context *context, const struct piece *piece)
{
	const struct model_function *f = context->f;
	const struct tally_main all = piece->loop == PROFILE_NONE ? model_tally_main(&f->tally)
								  : f->loops[piece->loop].tally;
	return ecm_narrowness((double)all.loads + (double)all.stores,
			      (double)all.load_bytes + (double)all.store_bytes);
}

static void predict(const struct context *context, const struct piece *piece,
		    struct ecm_account *account)
{
	double seconds[ECM_PARTS] = {0}, wide[ECM_PARTS] = {0};
	add_core(context, piece, account);
	if (!(context->lacks & (ECM_LACKS_TRAFFIC | ECM_LACKS_ROOFS))) {
		const struct ecm_moves moves = ecm_moves_of(piece->events, piece->irregular);
		/* what the memory itself is busy for has nothing to do with how it is asked */
		ecm_transfer_seconds(context->machine, context->profile, &moves,
				     context->f->concurrency, 0, wide);
		account->memory_busy_s =
			(wide[ECM_L2_MEMORY] + wide[ECM_L3_MEMORY]) * context->memory_share;
		ecm_transfer_seconds(context->machine, context->profile, &moves,
				     context->f->concurrency, narrowness_of(context, piece),
				     seconds);
		for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
			account->parts_s[p] = seconds[p];
		add_latency(context, piece, account);
	}
	add_walks(context, piece, account);
	compose(context, account);
	add_branches(context, piece, account);
	for (int i = 0; i < ECM_CHANGES; i++)
		account->changed_s[i] = after(context, piece, account, (enum ecm_change)i, wide);
}

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

/* All pieces, from the innermost loops outward: those within a loop stand behind it. */
static void add_pieces(const struct context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	for (size_t i = f->n_loops; i-- > 0;) {
		const struct piece piece = piece_of(context, (uint32_t)i);
		struct ecm_account own = {.lacks = context->lacks};
		predict(context, &piece, &own);
		add_account(&account->loops[i], &own);
		const uint32_t parent = f->loops[i].parent;
		add_account(parent == PROFILE_NONE ? &account->whole : &account->loops[parent],
			    &account->loops[i]);
	}
	const struct piece outside = piece_of(context, PROFILE_NONE);
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

static void predict_all(const struct context *context, struct ecm_function *account)
{
	const struct model_function *f = context->f;
	account->whole = (struct ecm_account){.turns = NAN, .lacks = context->lacks};
	for (size_t i = 0; i < f->n_loops; i++)
		account->loops[i] = (struct ecm_account){.turns = (double)f->loops[i].turns,
							 .lacks = context->lacks};
	if (ecm_is_predicted(&account->whole))
		add_pieces(context, account);
	set_measured(&account->whole, 1e-9 * (double)f->time_ns, (double)f->n_samples);
	for (size_t i = 0; i < f->n_loops; i++)
		set_measured(&account->loops[i], 1e-9 * (double)f->loops[i].time_ns,
			     (double)f->loops[i].n_samples);
}

struct rf_error *ecm_function_init(struct ecm_function *account, const struct ecm_machine *machine,
				   const struct profile *profile, const struct model *model,
				   const struct model_function *f)
{
	struct scratch scratch = {0};
	account->loops = calloc(f->n_loops + 1, sizeof(*account->loops));
	struct rf_error *error =
		account->loops ? look(machine, profile, f, &scratch) : rf_error_no_memory();
	const struct context context = {machine,
					profile,
					model,
					f,
					lacks_of(machine, model, f, mispredictions_known(profile)),
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

double ecm_memory_s(const struct ecm_account *account)
{
	return account->parts_s[ECM_L2_MEMORY] + account->parts_s[ECM_L3_MEMORY];
}
