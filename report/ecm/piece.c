/* What a piece of code does, and what the model has for it. */
#include "report/ecm/piece.h"

#include "report/ecm/transfers.h"
#include "report/in_core/in_core_source.h"
#include "report/in_core/measured_core.h"
#include "report/in_core/under_way.h"
#include "report/model/model_irregular.h"
#include "report/model/model_loops.h"

#include <math.h>

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
		sum[level].guessed = fmax(0, sum[level].guessed + sign * part[level].guessed);
	}
}

static double off_of(const struct model_estimate *moved)
{
	if (!(moved->bytes > 0))
		return 0;
	return isnan(moved->halfwidth) ? 1 : moved->halfwidth / moved->bytes; /* a single class */
}

static void set_off(struct ecm_piece *piece, const struct model_bytes *bytes)
{
	piece->off[1] = off_of(&bytes->l2);
	piece->off[2] = off_of(&bytes->l3);
	piece->off[3] = off_of(&bytes->mem[DIRECTION_BOTH]);
}

/* Of code of which no more is known than how many instructions it has. */
static void share_core(const struct ecm_machine *machine, struct in_core *core)
{
	core->shared_ol = core->t_ol;
	core->shared_nol = core->t_nol;
	if (!machine->core || core->t_ol < 0)
		return;
	const struct core_facts *facts = &machine->core->facts;
	core->shared_ol = fmax(core->t_ol,
			       core_slower(facts, CORE_RATE_SLOTS) *
				       fmax(core->part[IN_CORE_ISSUE], core->part[IN_CORE_FETCH]));
	core->shared_nol = core->t_nol * core_slower(facts, CORE_RATE_LOADS);
}

/* What was measured of the core, else what is known of all code. */
static struct in_core core_of(const struct ecm_context *context, uint32_t loop)
{
	struct in_core core = {.t_ol = -1};
	if (loop != PROFILE_NONE && context->cores[loop].t_ol >= 0)
		return context->cores[loop];
	if (!ecm_in_core(context->profile, context->f, loop, &core))
		core.t_ol = -1;
	share_core(context->machine, &core);
	return core;
}

struct ecm_piece ecm_piece_of(const struct ecm_context *context, uint32_t loop)
{
	const struct model_function *f = context->f;
	const bool in_loop = loop != PROFILE_NONE;
	struct ecm_piece piece = {.loop = loop,
				  .turns = in_loop ? (double)f->loops[loop].turns : 1};
	size_t n;
	const struct model_loop *within = model_loops_within(f, loop, &n);
	const struct tally_main all = in_loop ? f->loops[loop].tally : model_tally_main(&f->tally);
	const double times = in_loop ? (double)f->loops[loop].entries
				     : (double)f->tally.class_instructions[INSN_RETURN];
	piece.instructions = (double)all.instructions;
	piece.run_through = times > 0 ? piece.instructions / times : piece.instructions;
	if (in_loop) {
		add_bytes(piece.events, f->loops[loop].bytes, 1);
		set_off(&piece, f->loops[loop].bytes);
		add_irregular(piece.irregular, f->loops[loop].irregular, 1);
	} else if (f->traffic) {
		add_bytes(piece.events, &f->traffic->bytes, 1);
		set_off(&piece, &f->traffic->bytes);
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
	piece.core = core_of(context, loop);
	return piece;
}

/* Lines by the level that they were found at, of which as many as `times` says cross the border
 * above each. */
static void move_lines(double found[MODEL_LEVELS], const double times[MODEL_LEVELS])
{
	double crossing[MODEL_LEVELS + 1] = {0}, all = 0;
	for (int level = MODEL_LEVELS - 1; level >= 1; level--)
		crossing[level] = times[level] * (all += found[level]);
	for (int level = 1; level < MODEL_LEVELS; level++) {
		if (level > 1)
			crossing[level] = fmin(crossing[level], crossing[level - 1]);
		if (level > 1)
			found[level - 1] = crossing[level - 1] - crossing[level];
	}
	found[MODEL_LEVELS - 1] = crossing[MODEL_LEVELS - 1];
}

struct ecm_piece ecm_piece_at_end(const struct ecm_piece *piece, double sign)
{
	struct ecm_piece end = *piece;
	double times[MODEL_LEVELS], found[4][MODEL_LEVELS];
	for (int level = 0; level < MODEL_LEVELS; level++) {
		const struct model_irregular *of = &piece->irregular[level];
		times[level] = fmax(0, 1 + sign * piece->off[level]);
		found[0][level] = of->lines;
		found[1][level] = of->longest;
		found[2][level] = of->brief;
		found[3][level] = of->guessed;
	}
	for (int kind = 0; kind < 4; kind++)
		move_lines(found[kind], times);
	for (int level = 1; level < MODEL_LEVELS; level++) {
		struct model_irregular *to = &end.irregular[level];
		to->lines = found[0][level];
		to->longest = found[1][level];
		to->brief = found[2][level];
		to->guessed = found[3][level];
	}
	for (int e = 0; e < N_TRAFFIC; e++)
		end.events[e] *= times[e < TRAFFIC_L3_READ ? 1 : e < TRAFFIC_MEM_READ ? 2 : 3];
	return end;
}

/* ---- what a piece takes ---- */

/* Irregular lines of a piece by level, but L1: all, those on the longest chain of each loop, those
 * on chains that end after a few turns, and those that a mispredicted branch waits for. */
struct lines {
	double all[MODEL_LEVELS], longest[MODEL_LEVELS], brief[MODEL_LEVELS], guessed[MODEL_LEVELS];
	double sum;
};

static struct lines lines_of(const struct ecm_piece *piece)
{
	struct lines lines = {.sum = 0};
	for (int level = 1; level < MODEL_LEVELS; level++) {
		lines.all[level] = piece->irregular[level].lines;
		lines.longest[level] = piece->irregular[level].longest;
		lines.brief[level] = piece->irregular[level].brief;
		lines.guessed[level] = piece->irregular[level].guessed;
		lines.sum += lines.all[level];
	}
	return lines;
}

/* `n` of something that the piece does; how many of these are under way at once. */
static double at_once(const struct ecm_context *context, const struct ecm_piece *piece, double n,
		      double in_program)
{
	const bool known = piece->loop != PROFILE_NONE && context->cores[piece->loop].t_ol >= 0;
	const double buffer = ecm_reorder_buffer(context->profile);
	return ecm_under_way(context->f,
			     known ? fmin(buffer, context->cores[piece->loop].under_way) : buffer,
			     piece->instructions > 0 ? n / piece->instructions : 0, in_program,
			     piece->run_through);
}

/* What a chain takes that goes through loads of irregular lines: these, one after another, and its
 * other steps in between; of its loads the core's part has what they take from L1.  Chains of
 * several entries of the loop are beside each other with their lines as far as without them: not at
 * all where a value goes through all entries. */
static void add_chained_lines(const struct ecm_context *context, const struct ecm_piece *piece,
			      const struct lines *lines, struct ecm_account *account)
{
	if (piece->loop == PROFILE_NONE || !(context->cores[piece->loop].t_ol >= 0) ||
	    !(context->cores[piece->loop].chained_load > 0))
		return;
	const struct in_core *core = &context->cores[piece->loop];
	const double left = core->lcd > 0 ? core->part[IN_CORE_CHAIN] / core->lcd : 1;
	double n = 0, chained[MODEL_LEVELS] = {0};
	for (int level = 1; level < MODEL_LEVELS; level++)
		n += chained[level] = lines->longest[level] + left * lines->brief[level];
	const double loads_s = n * core->chained_load * 1e-9 / context->machine->clock_ghz;
	account->chained_lines_s =
		context->threads *
		model_wait_for(context->profile, chained, PATTERN_CHASE, context->threads, false)
			.seconds;
	account->beside_lines_s = fmax(0, account->in_core_s[IN_CORE_CHAIN] - loads_s);
}

/* Processor time that its lines take which nothing fetches ahead, the longest of: those on a long
 * chain one after another; those that mispredicted branches wait for, since what is done meanwhile
 * is thrown away; those on brief ones, as many chains at once as the piece is entered
 * within a reorder buffer; all of them, as many at once as are within one, and as there can be at
 * the most; those that crowd a set of L1, as many at once as such a set can have.  Those in L1 are
 * in the core's part. */
void ecm_add_latency(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account)
{
	const struct lines lines = lines_of(piece);
	account->latency_s = account->chained_lines_s = account->beside_lines_s = 0;
	if (!(lines.sum > 0))
		return;
	const struct profile *profile = context->profile;
	const double threads = context->threads;
	const double entries =
		piece->run_through > 0 ? piece->instructions / piece->run_through : 0;
	const double program = context->f->traffic ? context->f->traffic->program_lines : 0;
	const double seconds[] = {
		model_wait_for(profile, lines.all, PATTERN_RANDOM, threads, false).seconds,
		model_wait_for(profile, lines.longest, PATTERN_CHASE, threads, false).seconds,
		model_wait_for(profile, lines.guessed, PATTERN_CHASE, threads, false).seconds,
		model_wait_for(profile, lines.brief, PATTERN_CHASE, threads, false).seconds /
			at_once(context, piece, entries, entries),
		model_wait_for(profile, lines.all, PATTERN_CHASE, threads, false).seconds /
			at_once(context, piece, lines.sum, program),
	};
	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++)
		account->latency_s = fmax(account->latency_s, seconds[i] * threads);
	add_chained_lines(context, piece, &lines, account);
	if (account->latency_s > 0)
		account->latency_s =
			fmax(account->latency_s, far_lines_crowd_s(profile, &piece->far));
	if (!(account->latency_s > 0))
		account->lacks |= ECM_LACKS_LATENCY;
}

/* Of the walks as large a share waits for one another as of the irregular lines. */
static void add_walks(const struct ecm_context *context, const struct ecm_piece *piece,
		      struct ecm_account *account)
{
	const struct page_walks *walks =
		&context->walks[piece->loop == PROFILE_NONE ? context->f->n_loops : piece->loop];
	account->walks = *walks;
	if (!(walks->walks > 0))
		return;
	const struct lines lines = lines_of(piece);
	double longest = 0;
	for (int level = 1; level < MODEL_LEVELS; level++)
		longest += lines.longest[level];
	const double share = lines.sum > 0 ? fmin(1, longest / lines.sum) : 0;
	account->walks_s = page_walks_seconds(context->profile, share * walks->walks, true) +
			   page_walks_seconds(context->profile, (1 - share) * walks->walks, false);
}

static void add_core(const struct ecm_context *context, const struct ecm_piece *piece,
		     struct ecm_account *account)
{
	const struct in_core *core = &piece->core;
	const double turn_s = piece->turns * 1e-9 / context->machine->clock_ghz;
	if (core->t_ol < 0)
		return;
	account->parts_s[ECM_OL] = core->t_ol * turn_s;
	account->parts_s[ECM_NOL] = core->t_nol * turn_s;
	account->slower[ECM_OL] = core->t_ol > 0 ? core->shared_ol / core->t_ol : 1;
	account->slower[ECM_NOL] = core->t_nol > 0 ? core->shared_nol / core->t_nol : 1;
	account->lcd_s = core->lcd * turn_s;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		account->in_core_s[i] = core->part[i] * turn_s;
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

/* What is waited for beside the transfers. */
struct waiting {
	double lines, walks, chain;
};

/* A chain has its walks and its other steps one after another with its lines.  What the other walks
 * take, several at once, is measured as what lines take longer with them, and so comes on top of
 * these, too. */
static struct waiting wait(const struct ecm_account *account)
{
	const double chained = account->chained_lines_s + account->beside_lines_s;
	struct waiting waiting = {.lines = account->latency_s, .walks = account->walks_s};
	if (account->chained_lines_s > 0 && chained > account->latency_s) {
		waiting.lines = account->chained_lines_s;
		waiting.chain = account->beside_lines_s;
	}
	return waiting;
}

/* By how much the model has more where another hardware thread uses the core, too. */
static double shared_s(const struct ecm_account *account, const struct ecm_rule *rule,
		       double predicted)
{
	double parts[ECM_PARTS];
	for (int p = 0; p < ECM_PARTS; p++)
		parts[p] = account->parts_s[p] *
			   (p < ECM_FIRST_LINK ? fmax(1, account->slower[p]) : 1);
	return fmax(0, ecm_compose(rule, parts).cycles - predicted);
}

/* Irregular lines need the same buffers as transfers, and come on top of these; what the core does
 * goes on beside both.  So the time is that of the model, or that of transfers and waiting where it
 * is longer. */
void ecm_compose_piece(const struct ecm_context *context, struct ecm_account *account)
{
	static const struct ecm_rule beside = {.sums = {0}};
	const struct ecm_rule *rule =
		context->machine->fit.rule ? context->machine->fit.rule : &beside;
	double moving[ECM_PARTS];
	for (int p = 0; p < ECM_PARTS; p++)
		moving[p] = p < ECM_FIRST_LINK ? 0 : account->parts_s[p];
	const struct ecm_time all = ecm_compose(rule, account->parts_s),
			      transfers = ecm_compose(rule, moving);
	const struct waiting parts = wait(account);
	const double waiting = parts.lines + parts.walks + parts.chain;
	const bool waits = transfers.cycles + waiting > all.cycles;
	const double threads = context->threads;
	add_parts(account,
		  waits ? transfers.adds & ~(ECM_SET(ECM_OL) | ECM_SET(ECM_NOL)) : all.adds);
	account->account_s[ACCOUNT_LATENCY] = waits ? parts.lines : 0;
	account->account_s[ACCOUNT_WALKS] = waits ? parts.walks : 0;
	account->account_s[ACCOUNT_CHAIN] += waits ? parts.chain : 0;
	account->light_s = all.cycles;
	account->predicted_s = waits ? transfers.cycles + waiting : all.cycles;
	account->account_s[ACCOUNT_SHARED] = shared_s(account, rule, account->predicted_s);
	account->predicted_s += account->account_s[ACCOUNT_SHARED];
	const double together =
		ecm_with_threads(account->predicted_s, account->memory_busy_s, threads);
	account->account_s[ACCOUNT_MEMORY] += together - account->predicted_s;
	account->predicted_s = together;
}

double ecm_mispredicted_s(const struct ecm_context *context, const struct ecm_account *account)
{
	const struct measured_core *core = context->machine->core;
	return account->mispredicted.seconds *
	       (core ? core_slower(&core->facts, CORE_RATE_BRANCHES) : 1);
}

static void add_branches(const struct ecm_context *context, const struct ecm_piece *piece,
			 struct ecm_account *account)
{
	const size_t at = piece->loop == PROFILE_NONE ? context->f->n_loops : piece->loop;
	if (context->lacks & ECM_LACKS_BRANCHES)
		return;
	account->mispredicted = context->mispredicted[at];
	if (piece->loop != PROFILE_NONE && context->cores[piece->loop].t_ol >= 0)
		account->mispredicted.seconds += context->cores[piece->loop].branch_waits *
						 piece->turns * 1e-9 / context->machine->clock_ghz;
	const double all_s = ecm_mispredicted_s(context, account);
	account->account_s[ACCOUNT_BRANCHES] = account->mispredicted.seconds;
	account->account_s[ACCOUNT_SHARED] += all_s - account->mispredicted.seconds;
	account->predicted_s += all_s;
}

/* By all accesses of the loop, with loops within, or of the function. */
static double narrowness_of(const struct ecm_context *context, const struct ecm_piece *piece)
{
	const struct model_function *f = context->f;
	const struct tally_main all = piece->loop == PROFILE_NONE ? model_tally_main(&f->tally)
								  : f->loops[piece->loop].tally;
	return ecm_narrowness((double)all.loads + (double)all.stores,
			      (double)all.load_bytes + (double)all.store_bytes);
}

void ecm_predict_piece(const struct ecm_context *context, const struct ecm_piece *piece,
		       struct ecm_account *account)
{
	double seconds[ECM_PARTS] = {0}, wide[ECM_PARTS] = {0};
	add_core(context, piece, account);
	if (!(context->lacks & (ECM_LACKS_TRAFFIC | ECM_LACKS_ROOFS))) {
		const struct ecm_moves moves = ecm_moves_of(piece->events, piece->irregular);
		/* what the memory itself is busy for has nothing to do with how it is asked */
		ecm_transfer_seconds(context->machine, context->profile, &moves, context->threads,
				     0, wide);
		account->memory_busy_s =
			(wide[ECM_L2_MEMORY] + wide[ECM_L3_MEMORY]) * context->memory_share;
		ecm_transfer_seconds(context->machine, context->profile, &moves, context->threads,
				     narrowness_of(context, piece), seconds);
		for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
			account->parts_s[p] = seconds[p];
		ecm_add_latency(context, piece, account);
	}
	add_walks(context, piece, account);
	ecm_compose_piece(context, account);
	add_branches(context, piece, account);
}
