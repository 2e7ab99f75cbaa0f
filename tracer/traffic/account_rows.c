/* What is told of accounts: their events in a sample of classes, in heavy classes, and what both
 * leave open (docs/traffic.md, "Accuracy"). */
#include "tracer/traffic/account_rows.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>

/* Of what moved at the first level: more than that may have moved behind it where nothing is known
 */
#define LEAST_MARGIN 0.05
/* What was not seen in n executions happens less often than in this many of n, in 95 of 100 cases
 * (Hanley and Lippman-Hand, 1983). */
#define NONE_SEEN 3.0
/* With more checked executions than that it hardly matters. */
#define FEW_CHECKED 10000
#define USUAL_INSN 4 /* bytes of an instruction */
#define WARMING 0.01 /* the same, from caches that were empty (halfwidth_of) */
/* Lines of a class that a last level of 32 MB has room for: the footprint of what goes over more
 * lines than can be told. */
#define MANY_LINES 8192

/* ---- rows ---- */

static bool has_lines(const struct profile_traffic *row)
{
	for (int event = 0; event < N_TRAFFIC; event++)
		if (row->lines[event])
			return true;
	return false;
}

static bool add_row(struct profile *profile, const struct profile_traffic *row)
{
	return !has_lines(row) || packed_rows_add(&profile->traffic, row, sizeof(*row));
}

static bool add_rows(struct profile *profile, const struct profile_traffic *rows, unsigned n)
{
	bool ok = true;
	for (unsigned k = 0; k < n; k++)
		ok &= add_row(profile, &rows[k]);
	return ok;
}

/* Of lines of all classes those of one of n sampled ones, when these are alike: their sum is
 * rounded, not each, so that what is no more than something else stays so. */
static uint64_t as_sampled(double lines, unsigned class, unsigned n)
{
	const uint64_t all = (uint64_t)llround(lines * n / CACHE_CLASSES);
	return all / n + (class < all % n);
}

/* The open event of the border that an event crosses, or N_TRAFFIC: none. */
static enum traffic open_event(enum traffic event)
{
	return TRAFFIC_L2_READ_OPEN + accounts_open_of(event);
}

/* ---- heavy classes ---- */

/* What figures of all classes are made from. */
struct source {
	const struct accounts *accounts;
	uint64_t sample;
	const struct concentration *concentration;
	const struct executions *executions;
	unsigned n_kept; /* classes that are simulated to the end */
	/* Of all that crossed the first border in the sample: what crossed each of the others. */
	double shares[TRAFFIC_L2_READ_OPEN];
	bool has[TRAFFIC_L2_READ_OPEN]; /* events of which any account has one */
};

/* How often an account's instruction ran, and how often with its accesses checked: in windows. */
struct coverage {
	double all, checked;
};

static struct coverage coverage_of(const struct source *source, uint32_t who)
{
	const struct profile_traffic account = accounts_row(source->accounts, who, 0);
	const struct executions *executions = source->executions;
	return (struct coverage){
		executions_of(executions, account.thread, account.module, account.offset),
		executions_checked(executions, account.thread, account.module, account.offset)};
}

/* Lines of an account that cross a border in one direction, in these classes. */
static double open_lines(const struct accounts *accounts, uint32_t who, unsigned open,
			 uint64_t classes)
{
	double lines = 0;
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++)
		if (accounts_open_of(event) == open)
			lines += accounts_lines(accounts, who, event, classes);
	return lines;
}

/* What windows by chance have seen stands for all executions but those of the other windows, whose
 * lines are known.  Where there are hardly any by chance all windows stand for all. */
static double factor_of(const struct accounts *accounts, uint32_t who, unsigned open,
			const struct coverage *coverage)
{
	const struct ratio ratio = accounts_ratio(accounts, who, open);
	const double seen = open_lines(accounts, who, open, accounts_kept(accounts));
	const double all = coverage->all / coverage->checked;
	if (ratio.n < 2 || seen <= 0)
		return all;
	const double known = seen - ratio.y, other = coverage->all - (coverage->checked - ratio.x);
	return (known + other * ratio.y / ratio.x) / seen;
}

/* The border whose caches are not known behind a gap, and that an open event tells of. */
static int gap_border(unsigned open)
{
	const enum traffic event = TRAFFIC_L2_READ_OPEN + open;
	return event == TRAFFIC_MEM_READ_OPEN || event == TRAFFIC_MEM_WRITE_OPEN ? GAP_LAST
	       : event == TRAFFIC_L3_READ_OPEN || event == TRAFFIC_L3_WRITE_OPEN ? GAP_PRIVATE
										 : -1;
}

void account_rows_factors(const struct accounts *accounts, const struct executions *executions,
			  uint32_t who, double factors[N_OPEN])
{
	const struct source source = {.accounts = accounts, .executions = executions};
	const struct coverage coverage = coverage_of(&source, who);
	for (unsigned open = 0; open < N_OPEN; open++) {
		const int border = gap_border(open);
		factors[open] = border < 0 ? 1 : accounts_correction(accounts, who, border);
		if (coverage.checked > 0 && executions->is_part)
			factors[open] *= coverage.all / coverage.checked;
		else if (coverage.checked > 0 && coverage.all > coverage.checked)
			factors[open] *= fmax(factor_of(accounts, who, open, &coverage), 1);
	}
}

/* Which of them an event has: what is left at the end, N_OPEN, has none. */
static unsigned factor_open(enum traffic event)
{
	if (event >= TRAFFIC_L2_READ_OPEN)
		return event - TRAFFIC_L2_READ_OPEN;
	if (event == TRAFFIC_L3_CLEAN_VICTIM)
		return accounts_open_of(TRAFFIC_L3_READ);
	if (event == TRAFFIC_MEM_EVADABLE || event == TRAFFIC_MEM_CONFLICT ||
	    event == TRAFFIC_MEM_CONFLICT_UNKNOWN)
		return accounts_open_of(TRAFFIC_MEM_READ);
	return accounts_open_of(event);
}

/* What comes from a border has come through those before it: of the first event there are no more
 * than of the second. */
static const enum traffic orders[][2] = {{TRAFFIC_L3_READ, TRAFFIC_L2_READ},
					 {TRAFFIC_L3_WRITE_ALLOCATE, TRAFFIC_L2_WRITE_ALLOCATE},
					 {TRAFFIC_MEM_READ, TRAFFIC_L3_READ},
					 {TRAFFIC_MEM_WRITE_ALLOCATE, TRAFFIC_L3_WRITE_ALLOCATE},
					 {TRAFFIC_MEM_EVADABLE, TRAFFIC_MEM_WRITE_ALLOCATE},
					 {TRAFFIC_L3_WRITE_BACK, TRAFFIC_L2_WRITE_BACK},
					 {TRAFFIC_MEM_WRITE_BACK, TRAFFIC_L3_WRITE_BACK},
					 {TRAFFIC_MEM_WRITE_BACK, TRAFFIC_L2_WRITE_BACK}};
#define N_ORDERS (sizeof(orders) / sizeof(orders[0]))

/* Which of them hold in what was counted: all, where the machine has these levels and nothing is
 * prefetched. */
static unsigned orders_of(const struct source *source, const uint64_t lines[N_TRAFFIC])
{
	unsigned hold = 0;
	for (unsigned i = 0; i < N_ORDERS; i++)
		if (source->has[orders[i][1]] && lines[orders[i][0]] <= lines[orders[i][1]])
			hold |= 1u << i;
	return hold;
}

/* They hold also when each event has its own factor. */
static void keep_order(uint64_t lines[N_TRAFFIC], unsigned hold)
{
	for (unsigned i = 0; i < N_ORDERS; i++)
		if (hold >> i & 1 && lines[orders[i][0]] > lines[orders[i][1]])
			lines[orders[i][0]] = lines[orders[i][1]];
	const uint64_t moved = lines[TRAFFIC_MEM_READ] + lines[TRAFFIC_MEM_WRITE_ALLOCATE] +
			       lines[TRAFFIC_MEM_WRITE_BACK] + lines[TRAFFIC_MEM_NON_TEMPORAL];
	if (lines[TRAFFIC_MEM_CONFLICT] > moved)
		lines[TRAFFIC_MEM_CONFLICT] = moved;
	if (lines[TRAFFIC_MEM_CONFLICT_UNKNOWN]) /* then it is so of all */
		lines[TRAFFIC_MEM_CONFLICT_UNKNOWN] = moved;
}

static void scale(uint64_t lines[N_TRAFFIC], const double factors[N_OPEN])
{
	for (int event = 0; event < N_TRAFFIC; event++) {
		const unsigned open = factor_open(event);
		if (open < N_OPEN && factors[open] != 1)
			lines[event] = (uint64_t)llround((double)lines[event] * factors[open]);
	}
}

/* What all events of an account in heavy classes have to be multiplied by. */
struct scaling {
	double factor, halfwidth;
	double all;     /* lines that moved between the first level and the next */
	double unseen;  /* the same where none of them was simulated */
	double written; /* of these: written back */
	double before;  /* part of them: before they were simulated */
	double cold;    /* lines that empty caches had to fetch: these may have had them */
};

/* The bursts that tell what was before: of the classes that were simulated later, where these are
 * enough to stand for all. */
static double before_of(const struct source *source, uint32_t who, uint64_t heavy)
{
	const uint64_t simulated = heavy & accounts_classes(source->accounts);
	const bool enough = __builtin_popcountll(simulated) > 1;
	return concentration_rate(source->concentration, who, enough ? simulated : heavy).before;
}

static struct scaling scaling_of(const struct source *source, uint32_t who, uint64_t heavy)
{
	const struct accounts *accounts = source->accounts;
	const struct miss_rate rate = concentration_rate(source->concentration, who, heavy);
	const struct profile_traffic account = accounts_row(accounts, who, 0);
	const double seen = accounts_lines(accounts, who, TRAFFIC_L2_READ, heavy) +
			    accounts_lines(accounts, who, TRAFFIC_L2_WRITE_ALLOCATE, heavy) +
			    accounts_lines(accounts, who, TRAFFIC_L2_WRITE_BACK, heavy) +
			    accounts_lines(accounts, who, TRAFFIC_MEM_NON_TEMPORAL, heavy);
	const unsigned n_simulated =
		(unsigned)__builtin_popcountll(heavy & accounts_classes(accounts));
	const double lines = (accounts_footprint(accounts, who) ?: MANY_LINES) * n_simulated;
	const double all = rate.of_execution * executions_of(source->executions, account.thread,
							     account.module, account.offset);
	return (struct scaling){
		.factor = seen > 0 ? fmax(all / seen, 1) : 0, /* 1: all of it was simulated */
		.halfwidth = rate.halfwidth,
		.all = fmax(all, seen),
		.unseen = seen > 0 ? 0 : all,
		.written = rate.written,
		.before = before_of(source, who, heavy),
		.cold = seen > 0 ? lines * fmax(all / seen, 1) : 0,
	};
}

/* The event of the first border that an event farther off comes from; itself for other ones. */
static enum traffic first_event(enum traffic event)
{
	switch (event) {
	case TRAFFIC_L3_READ:
	case TRAFFIC_MEM_READ:
		return TRAFFIC_L2_READ;
	case TRAFFIC_L3_WRITE_ALLOCATE:
	case TRAFFIC_MEM_WRITE_ALLOCATE:
		return TRAFFIC_L2_WRITE_ALLOCATE;
	case TRAFFIC_L3_WRITE_BACK:
	case TRAFFIC_MEM_WRITE_BACK:
		return TRAFFIC_L2_WRITE_BACK;
	default:
		return event;
	}
}

/* The half-width of an event's scaled count; `first`: that of the event it comes from, or
 * `is_first`. Classes begin to be simulated with empty caches: what crosses the borders behind the
 * first one is known to a small part of what came into the first level, and not of the lines that
 * were fetched for the first time then; and before that all of it may have crossed them, or none.
 */
static double halfwidth_of(const struct scaling *scaling, double lines, double first, bool is_first)
{
	const double sampled = lines * scaling->halfwidth,
		     before = scaling->before *
			      (fmax(lines, first - lines) + first * scaling->halfwidth),
		     cold = is_first ? 0 : fmin(lines, scaling->cold);
	return cold + (lines == first ? sampled : hypot(sampled, WARMING * scaling->all) + before);
}

/* What an account has of all classes: lines of each event, and what is open. */
struct told {
	double lines[N_TRAFFIC];
};

/* A figure and its half-width. */
static void tell(struct told *told, enum traffic event, double lines, double halfwidth)
{
	told->lines[event] += lines;
	if (open_event(event) != N_TRAFFIC)
		told->lines[open_event(event)] += halfwidth;
}

/* Where no class was simulated, all that is known is how many lines came into the first level, and
 * what is usual in this program; but none or all of them may have come from memory, and go back
 * there when they were stored to. */
static void tell_unseen(const struct source *source, const struct scaling *scaling,
			struct told *told)
{
	const int came = scaling->written > 0 ? 1 : 0; /* from a read to a write-allocate */
	const double back = scaling->unseen * scaling->written, into = scaling->unseen - back;
	const double most = 1 + fmax(scaling->halfwidth, LEAST_MARGIN);
	const struct {
		enum traffic event;
		double lines, share;
	} farther[] = {
		{TRAFFIC_L3_READ + came, into, source->shares[TRAFFIC_L3_READ]},
		{TRAFFIC_MEM_READ + came, into, source->shares[TRAFFIC_MEM_READ]},
		{TRAFFIC_L3_WRITE_BACK, back, source->shares[TRAFFIC_L3_WRITE_BACK]},
		{TRAFFIC_MEM_WRITE_BACK, back, source->shares[TRAFFIC_MEM_WRITE_BACK]},
	};
	tell(told, TRAFFIC_L2_READ + came, into, into * scaling->halfwidth);
	tell(told, TRAFFIC_L2_WRITE_BACK, back, back * scaling->halfwidth);
	for (size_t i = 0; i < sizeof(farther) / sizeof(farther[0]); i++) {
		const double lines = farther[i].lines, share = farther[i].share;
		tell(told, farther[i].event, lines * share, lines * fmax(share, most - share));
	}
}

_Static_assert(TRAFFIC_L2_WRITE_ALLOCATE == TRAFFIC_L2_READ + 1 &&
		       TRAFFIC_L3_WRITE_ALLOCATE == TRAFFIC_L3_READ + 1 &&
		       TRAFFIC_MEM_WRITE_ALLOCATE == TRAFFIC_MEM_READ + 1,
	       "tell_unseen goes from the one to the other");

/* What is told of classes, to the rows of n sampled ones. */
static void add_told(const struct told *told, unsigned n, struct profile_traffic *rows)
{
	for (unsigned k = 0; k < n; k++)
		for (int event = 0; event < N_TRAFFIC; event++)
			rows[k].lines[event] += as_sampled(told->lines[event], k, n);
}

/* ---- the sample ---- */

/* Of the classes that are not in a sample of n this share may be of another kind than all those
 * that are, which show no spread then: with more of them the sample would have had one of them in
 * 95 % of all draws. */
static double other_kind(unsigned n)
{
	return (1 - pow(0.05, 1.0 / n)) * (1 - (double)n / CACHE_CLASSES);
}

/* Classes of another kind: they have one line more of what it goes over, or less, and so an event
 * more each time that it goes over it; or one line more in a set, and so lose what had just fitted.
 * What these would add is open. */
static void set_open(const struct accounts *accounts, uint32_t who, unsigned n,
		     struct profile_traffic *rows)
{
	const double lines = accounts_footprint(accounts, who);
	const double others = CACHE_CLASSES * other_kind(n) / n;
	double sums[N_TRAFFIC] = {0};
	for (unsigned k = 0; k < n; k++)
		for (int event = 0; event < N_TRAFFIC; event++)
			sums[event] += (double)rows[k].lines[event];
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++) {
		const enum traffic open = open_event(event);
		if (open != N_TRAFFIC && lines > 0)
			sums[open] += sums[event] / lines;
	}
	for (int open = TRAFFIC_L2_READ_OPEN; open < N_TRAFFIC; open++)
		for (unsigned k = 0; k < n; k++)
			rows[k].lines[open] = as_sampled(sums[open] * others, k, n);
}

/* The events of an account in the sample of classes, which are numbered by their order.  Returns
 * the orders that held in each of them before they were scaled. */
static unsigned set_sampled(const struct source *source, uint32_t who, const double factors[N_OPEN],
			    struct profile_traffic rows[CACHE_CLASSES])
{
	unsigned n = 0, hold = (1u << N_ORDERS) - 1;
	for (uint64_t rest = source->sample; rest; rest &= rest - 1, n++) {
		rows[n] = accounts_row(source->accounts, who, (unsigned)__builtin_ctzll(rest));
		rows[n].class = n;
		hold &= orders_of(source, rows[n].lines);
		scale(rows[n].lines, factors);
	}
	return hold;
}

/* The sample stands for all classes but the heavy ones: those of them that are in it get what the
 * others have in the mean. */
static void leave_out(uint64_t sample, uint64_t heavy, struct profile_traffic *rows)
{
	const int n_light = __builtin_popcountll(sample & ~heavy);
	const double share = 1 - (double)__builtin_popcountll(heavy) / CACHE_CLASSES;
	for (int event = 0; event < N_TRAFFIC; event++) {
		double mean = 0;
		unsigned k = 0;
		for (uint64_t rest = sample; rest; rest &= rest - 1, k++)
			if (!(heavy >> __builtin_ctzll(rest) & 1))
				mean += (double)rows[k].lines[event] / n_light;
		k = 0;
		for (uint64_t rest = sample; rest; rest &= rest - 1, k++) {
			const bool is_light = !(heavy >> __builtin_ctzll(rest) & 1);
			const double lines = is_light ? (double)rows[k].lines[event] : mean;
			rows[k].lines[event] = (uint64_t)(lines * share + 0.5);
		}
	}
}

/* Heavy classes.  What was simulated from the beginning to the end is known; else those of them
 * that were simulated, for a part of the time, stand for all. */
static void tell_heavy(const struct source *source, uint32_t who, uint64_t heavy,
		       const double factors[N_OPEN], struct told *told)
{
	const bool known = !(heavy & ~source->sample);
	const struct scaling scaling =
		known ? (struct scaling){.factor = 1} : scaling_of(source, who, heavy);
	double lines[N_TRAFFIC];
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++) {
		const unsigned open = factor_open(event);
		const double factor = known && open < N_OPEN ? factors[open] : scaling.factor;
		lines[event] = accounts_lines(source->accounts, who, event, heavy) * factor;
	}
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++)
		tell(told, event, lines[event],
		     halfwidth_of(&scaling, lines[event], lines[first_event(event)],
				  first_event(event) == event));
	if (scaling.unseen > 0)
		tell_unseen(source, &scaling, told);
}

/* ---- windows ---- */

/* Of a sum over the kept classes: lines in all classes that may have moved, or not, while nothing
 * was checked, by the scatter of the windows. */
static double unchecked_halfwidth(const struct source *source, uint32_t who, unsigned open,
				  const struct coverage *coverage)
{
	const struct ratio ratio = accounts_ratio(source->accounts, who, open);
	const double unchecked = coverage->all - coverage->checked;
	const double lines =
		open_lines(source->accounts, who, open, accounts_kept(source->accounts));
	const double none = NONE_SEEN / fmax(ratio.n > 1 ? ratio.x : 0, coverage->checked / 2);
	const double rate = ratio.n > 1 ? ratio_halfwidth(&ratio) : lines / coverage->checked;
	return unchecked * fmax(rate, none);
}

/* What windows leave open: the time between them, and what was in the caches when they began. */
static void tell_windows(const struct source *source, uint32_t who, struct told *told)
{
	const struct coverage coverage = coverage_of(source, who);
	const double factor = coverage.all / coverage.checked;
	if (coverage.checked <= 0 || factor <= 1)
		return;
	for (unsigned open = 0; open < N_OPEN; open++) {
		const int border = gap_border(open);
		const double unknown =
			border < 0 ? 0 : accounts_unknown(source->accounts, who, border) * factor;
		const double between = unchecked_halfwidth(source, who, open, &coverage);
		told->lines[TRAFFIC_L2_READ_OPEN + open] +=
			(between + unknown) * CACHE_CLASSES / source->n_kept;
	}
}

/* Whether it was checked so rarely that having seen no events tells little. */
static bool is_rarely_checked(const struct source *source, uint32_t who)
{
	const struct coverage coverage = coverage_of(source, who);
	return coverage.checked > 0 && coverage.checked < FEW_CHECKED &&
	       coverage.all > 2 * coverage.checked;
}

/* Code that ran and was never checked: that each of its instructions moved a line, or none, is
 * open. */
static unsigned rows_of_unmet(const struct executions *executions, const struct counted_code *code,
			      unsigned n, struct profile_traffic rows[CACHE_CLASSES])
{
	struct told told = {0};
	if (code->n <= 0 ||
	    executions_checked(executions, code->thread, code->module, code->start) > 0)
		return 0;
	const double lines = (double)code->n * (1 + (double)code->size / USUAL_INSN);
	told.lines[TRAFFIC_L2_READ_OPEN] = told.lines[TRAFFIC_L3_READ_OPEN] =
		told.lines[TRAFFIC_MEM_READ_OPEN] = lines;
	for (unsigned k = 0; k < n; k++)
		rows[k] = (struct profile_traffic){.module = code->module,
						   .offset = code->start,
						   .thread = code->thread,
						   .class = k};
	add_told(&told, n, rows);
	return n;
}

/* ---- all of it ---- */

/* All that is told of an account, as rows of a sample of classes; how many.  Most accounts have no
 * events: their instructions hit the first level always, and there is nothing to tell. */
static unsigned rows_of(const struct source *source, uint32_t who,
			struct profile_traffic rows[CACHE_CLASSES])
{
	const struct accounts *accounts = source->accounts;
	const unsigned n = (unsigned)__builtin_popcountll(source->sample);
	const bool has_events = accounts_has_events(accounts, who);
	const uint64_t heavy = concentration_heavy(source->concentration, who, n, !has_events);
	double factors[N_OPEN];
	struct told told = {0};
	if (!has_events && !heavy && !is_rarely_checked(source, who))
		return 0;
	if (source->executions->is_part && coverage_of(source, who).all <= 0)
		return 0; /* it did not run in that part */
	account_rows_factors(accounts, source->executions, who, factors);
	const unsigned hold = set_sampled(source, who, factors, rows);
	if (heavy)
		leave_out(source->sample, heavy, rows);
	set_open(accounts, who, n, rows);
	if (heavy)
		tell_heavy(source, who, heavy, factors, &told);
	tell_windows(source, who, &told);
	add_told(&told, n, rows);
	for (unsigned k = 0; k < n; k++)
		keep_order(rows[k].lines, hold);
	return n;
}

/* Shares: reads of all kinds in one figure, by the name of those for loads. */
static void set_program(struct source *source)
{
	double lines[N_TRAFFIC] = {0};
	for (uint32_t who = 0; who < accounts_n(source->accounts); who++)
		for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++)
			lines[event] += accounts_lines(source->accounts, who, event, UINT64_MAX);
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++)
		source->has[event] = lines[event] > 0;
	const double read = lines[TRAFFIC_L2_READ] + lines[TRAFFIC_L2_WRITE_ALLOCATE],
		     written = lines[TRAFFIC_L2_WRITE_BACK];
	const enum traffic reads[] = {TRAFFIC_L3_READ, TRAFFIC_MEM_READ},
			   writes[] = {TRAFFIC_L3_WRITE_BACK, TRAFFIC_MEM_WRITE_BACK};
	for (int i = 0; i < 2; i++) {
		const double both = lines[reads[i]] + lines[reads[i] + 1];
		source->shares[reads[i]] = read > 0 ? fmin(both / read, 1) : 0;
		source->shares[writes[i]] = written > 0 ? fmin(lines[writes[i]] / written, 1) : 0;
	}
}

struct rf_error *account_rows_save(struct accounts *accounts, uint64_t sample,
				   const struct concentration *concentration,
				   const struct executions *executions, struct profile *profile)
{
	struct source source = {.accounts = accounts,
				.sample = sample,
				.concentration = concentration,
				.executions = executions,
				.n_kept = (unsigned)__builtin_popcountll(accounts_kept(accounts))};
	struct profile_traffic rows[CACHE_CLASSES];
	assert(!(sample & ~accounts_classes(accounts)));
	set_program(&source);
	for (uint32_t who = 0; who < accounts_n(accounts); who++) {
		accounts_spread(accounts, who);
		if (!add_rows(profile, rows, rows_of(&source, who, rows)))
			return rf_error_no_memory();
	}
	for (size_t i = 0; i < executions->n_items && executions->in_windows; i++)
		if (!add_rows(profile, rows,
			      rows_of_unmet(executions, &executions->items[i],
					    (unsigned)__builtin_popcountll(sample), rows)))
			return rf_error_no_memory();
	return NULL;
}
