/* Keeps the books of the simulation: which instruction in which thread has which number, and how
 * many lines it moved across each border of the memory hierarchy, class by class.
 *
 * A run that is being simulated cannot stop because memory is short.  So what there is no room for
 * is left out, one flag remembers it, and the profile says that its traffic is incomplete. */
#include "tracer/traffic/accounts.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NO_CELL UINT32_MAX
#define NO_CLASS UINT8_MAX
#define ENOUGH_LINES 64 /* to tell a class's share of conflicts */
#define LINE_BITS 256
/* So many accesses behind settling, for each before it, tell what those before it do; of these so
 * many may be unknown. */
#define ENOUGH_SETTLED 0.25
#define MOST_UNKNOWN 0.05

struct account {
	uint32_t module, thread;
	uint64_t offset;
	uint32_t first_cell; /* NO_CELL: it had no event yet */
	/* Of the lines in one of the kept classes a bit each, by a hash of their numbers. */
	uint8_t line_class; /* NO_CLASS: none yet */
	uint64_t line_bits[LINE_BITS / 64];
	uint32_t in_windows; /* number of its struct in_windows plus 1; 0: none */
};

/* Before and after its class has settled behind a gap. */
enum phase { UNSETTLED, SETTLED, N_PHASES };

/* What is known of an account where code is checked in windows of time. */
struct in_windows {
	struct {
		uint64_t n, unknown, crossed; /* accesses that miss the first level */
	} at[N_GAP_BORDERS][N_PHASES];
	struct ratio lines[N_OPEN];
	double seen[N_OPEN]; /* lines up to the last window's end */
	double executions;   /* in the window that ends */
};

/* The events of an account in a class. */
struct row {
	struct profile_traffic traffic;
	uint64_t full_allocates; /* write-allocates of full lines */
	uint64_t followed;       /* lines from and to memory that may be conflicts */
};

struct accounts {
	uint8_t rank[CACHE_CLASSES]; /* of a class among those that have been simulated */
	uint64_t classes;            /* these */
	uint64_t kept;               /* simulated from the beginning to the end */
	unsigned n_classes, most_classes;
	struct account *items;
	size_t n_items, cap_items;
	struct u64_map places;     /* module and offset → number of the place */
	struct u64_map account_of; /* place and thread → account */
	uint32_t n_places;
	struct row *rows;
	size_t n_rows, cap_rows;
	/* For each account that had an event one cell for each class: the number of the row plus 1,
	 * or 0. */
	uint32_t *cells;
	size_t n_cells, cap_cells;
	struct in_windows *in_windows;
	size_t n_in_windows, cap_in_windows;
	bool memory_short;
};

struct accounts *accounts_create(uint64_t classes, uint64_t kept)
{
	struct accounts *accounts = calloc(1, sizeof(*accounts));
	if (!accounts)
		return NULL;
	accounts->kept = kept;
	accounts->most_classes = (unsigned)__builtin_popcountll(classes) + MOST_ADDED;
	(void)accounts_add_classes(accounts, classes);
	return accounts;
}

bool accounts_add_classes(struct accounts *accounts, uint64_t classes)
{
	const uint64_t new = classes & ~accounts->classes;
	if (accounts->n_classes + (unsigned)__builtin_popcountll(new) > accounts->most_classes)
		return false;
	for (uint64_t rest = new; rest; rest &= rest - 1)
		accounts->rank[__builtin_ctzll(rest)] = (uint8_t)accounts->n_classes++;
	accounts->classes |= new;
	return true;
}

void accounts_destroy(struct accounts *accounts)
{
	if (!accounts)
		return;
	u64_map_deinit(&accounts->places);
	u64_map_deinit(&accounts->account_of);
	free(accounts->items);
	free(accounts->rows);
	free(accounts->cells);
	free(accounts->in_windows);
	free(accounts);
}

bool accounts_incomplete(const struct accounts *accounts)
{
	return accounts->memory_short;
}

void accounts_instruction(const struct accounts *accounts, uint32_t who, uint32_t *module,
			  uint64_t *offset)
{
	assert(who < accounts->n_items);
	*module = accounts->items[who].module;
	*offset = accounts->items[who].offset;
}

uint32_t accounts_thread(const struct accounts *accounts, uint32_t who)
{
	assert(who < accounts->n_items);
	return accounts->items[who].thread;
}

/* ---- events ---- */

static bool make_cells(struct accounts *accounts, struct account *account)
{
	const size_t first = accounts->n_cells;
	for (unsigned c = 0; c < accounts->most_classes; c++)
		if (!rf_array_push(accounts->cells, accounts->n_cells, accounts->cap_cells, 0)) {
			accounts->n_cells = first;
			return false;
		}
	account->first_cell = (uint32_t)first;
	return true;
}

/* The first time in row_of, apart from it: a row is large, and events are many. */
static __attribute__((noinline)) struct row *add_row(struct accounts *accounts,
						     struct account *account, unsigned rank)
{
	const struct row row = {.traffic = {.module = account->module,
					    .offset = account->offset,
					    .thread = account->thread,
					    .class = rank}};
	if (account->first_cell == NO_CELL && !make_cells(accounts, account))
		return NULL;
	if (!rf_array_push(accounts->rows, accounts->n_rows, accounts->cap_rows, row))
		return NULL;
	accounts->cells[account->first_cell + rank] = (uint32_t)accounts->n_rows;
	return &accounts->rows[accounts->n_rows - 1];
}

/* The row of an account and a class; NULL when memory is short. */
static inline struct row *row_of(struct accounts *accounts, struct account *account, unsigned rank)
{
	const uint32_t cell =
		account->first_cell == NO_CELL ? 0 : accounts->cells[account->first_cell + rank];
	return cell ? &accounts->rows[cell - 1] : add_row(accounts, account, rank);
}

static void note_line(const struct accounts *accounts, struct account *account, uint64_t line)
{
	const unsigned class = line % CACHE_CLASSES;
	if (account->line_class == NO_CLASS && accounts->kept >> class & 1)
		account->line_class = (uint8_t) class;
	if (account->line_class == class) {
		const uint64_t bit = line / CACHE_CLASSES * 0x9e3779b97f4a7c15ull >> 56;
		account->line_bits[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

void accounts_count(struct accounts *accounts, uint32_t who, enum traffic event, uint64_t line,
		    bool is_full)
{
	const unsigned class = line % CACHE_CLASSES;
	assert(who < accounts->n_items);
	assert(accounts->classes >> class & 1);
	struct row *row = row_of(accounts, &accounts->items[who], accounts->rank[class]);
	if (!row) {
		accounts->memory_short = true;
		return;
	}
	note_line(accounts, &accounts->items[who], line);
	row->traffic.lines[event]++;
	row->full_allocates += event == TRAFFIC_MEM_WRITE_ALLOCATE && is_full;
}

void accounts_conflict(struct accounts *accounts, const struct conflict *conflict, unsigned class)
{
	assert(conflict->who < accounts->n_items);
	struct row *row = row_of(accounts, &accounts->items[conflict->who], accounts->rank[class]);
	if (!row) {
		accounts->memory_short = true;
		return;
	}
	row->followed += conflict->moved;
	row->traffic.lines[TRAFFIC_MEM_CONFLICT] += conflict->conflicts;
}

/* ---- accounts of threads ---- */

static uint32_t number_of_place(struct accounts *accounts, const struct trace_operand *operand)
{
	const uint64_t place = ((uint64_t)operand->module << 48 | operand->offset) + 1;
	const uint32_t *known = u64_map_find(&accounts->places, place);
	if (known)
		return *known;
	if (!u64_map_set(&accounts->places, place, accounts->n_places))
		return NO_ACCOUNT;
	return accounts->n_places++;
}

/* The account of an instruction in a thread, which it may have from another image of its process.
 */
static uint32_t account_of(struct accounts *accounts, uint32_t thread,
			   const struct trace_operand *operand)
{
	const uint32_t place = number_of_place(accounts, operand);
	const uint64_t key = ((uint64_t)place << 24 | (thread & 0xffffff)) + 1;
	const struct account new = {.module = operand->module,
				    .thread = thread,
				    .offset = operand->offset,
				    .first_cell = NO_CELL,
				    .line_class = NO_CLASS};
	if (place == NO_ACCOUNT)
		return NO_ACCOUNT;
	const uint32_t *known = u64_map_find(&accounts->account_of, key);
	if (known)
		return *known;
	const uint32_t who = (uint32_t)accounts->n_items;
	if (!u64_map_set(&accounts->account_of, key, who))
		return NO_ACCOUNT;
	if (rf_array_push(accounts->items, accounts->n_items, accounts->cap_items, new))
		return who;
	u64_map_remove(&accounts->account_of, key);
	return NO_ACCOUNT;
}

static bool make_page(struct thread_accounts *thread, uint32_t page)
{
	if (page >= thread->n_pages) {
		const uint32_t n = page * 2 + 16;
		uint32_t **pages = realloc(thread->pages, n * sizeof(*pages));
		if (!pages)
			return false;
		memset(pages + thread->n_pages, 0, (n - thread->n_pages) * sizeof(*pages));
		thread->pages = pages;
		thread->n_pages = n;
	}
	if (!thread->pages[page])
		thread->pages[page] = calloc(ACCOUNT_PAGE, sizeof(**thread->pages));
	return thread->pages[page];
}

uint32_t thread_accounts_open(struct thread_accounts *thread, struct accounts *accounts,
			      const struct trace_operand *operand)
{
	const uint32_t page = operand->number / ACCOUNT_PAGE;
	const uint32_t who = make_page(thread, page) ? account_of(accounts, thread->thread, operand)
						     : NO_ACCOUNT;
	if (who == NO_ACCOUNT)
		accounts->memory_short = true;
	else
		thread->pages[page][operand->number % ACCOUNT_PAGE] = who + 1;
	return who;
}

void thread_accounts_deinit(struct thread_accounts *thread)
{
	for (uint32_t i = 0; i < thread->n_pages; i++)
		free(thread->pages[i]);
	free(thread->pages);
	free(thread->executions);
}

/* ---- windows of time ---- */

/* NULL when memory is short. */
static struct in_windows *in_windows_of(struct accounts *accounts, uint32_t who)
{
	assert(who < accounts->n_items);
	struct account *account = &accounts->items[who];
	const struct in_windows none = {0};
	if (!account->in_windows) {
		if (!rf_array_push(accounts->in_windows, accounts->n_in_windows,
				   accounts->cap_in_windows, none)) {
			accounts->memory_short = true;
			return NULL;
		}
		account->in_windows = (uint32_t)accounts->n_in_windows;
	}
	return &accounts->in_windows[account->in_windows - 1];
}

void accounts_touch(struct accounts *accounts, uint32_t who, const struct touch *touch)
{
	struct in_windows *of = in_windows_of(accounts, who);
	for (int border = 0; of && border < N_GAP_BORDERS; border++) {
		of->at[border][touch->settled[border]].n++;
		of->at[border][touch->settled[border]].unknown += touch->unknown[border];
	}
}

void accounts_crossed(struct accounts *accounts, uint32_t who, const struct touch *touch,
		      int border)
{
	struct in_windows *of = in_windows_of(accounts, who);
	if (of)
		of->at[border][touch->settled[border]].crossed++;
}

/* Accesses before settling, and what is expected of them by those behind it. */
struct settling {
	double n, crossed, unknown; /* before */
	double later, crossed_later, unknown_later;
	double share;  /* of those behind it, that cross the border */
	bool is_known; /* by enough of them */
};

static struct settling settling_of(const struct accounts *accounts, uint32_t who, int border)
{
	const uint32_t number = accounts->items[who].in_windows;
	if (!number)
		return (struct settling){0};
	const struct in_windows *of = &accounts->in_windows[number - 1];
	struct settling settling = {
		.n = (double)of->at[border][UNSETTLED].n,
		.crossed = (double)of->at[border][UNSETTLED].crossed,
		.unknown = (double)of->at[border][UNSETTLED].unknown,
		.later = (double)of->at[border][SETTLED].n,
		.crossed_later = (double)of->at[border][SETTLED].crossed,
		.unknown_later = (double)of->at[border][SETTLED].unknown,
	};
	settling.is_known = settling.later > ENOUGH_SETTLED * settling.n &&
			    settling.unknown_later <= MOST_UNKNOWN * settling.later;
	settling.share = settling.is_known ? settling.crossed_later / settling.later : 0;
	return settling;
}

double accounts_unknown(const struct accounts *accounts, uint32_t who, int border)
{
	const struct settling s = settling_of(accounts, who, border);
	if (!s.is_known)
		return s.unknown + s.unknown_later;
	const double expected = s.n * s.share;
	return fmin(s.unknown, fabs(s.crossed - expected) + 2 * sqrt(expected * (1 - s.share))) +
	       s.unknown_later;
}

double accounts_correction(const struct accounts *accounts, uint32_t who, int border)
{
	const struct settling s = settling_of(accounts, who, border);
	const double seen = s.crossed + s.crossed_later;
	/* no more than what was unknown can be otherwise */
	const double other = fmax(fmin(s.n * s.share - s.crossed, s.unknown), -s.unknown);
	return s.is_known && seen > 0 ? (seen + other) / seen : 1;
}

unsigned accounts_open_of(enum traffic event)
{
	static const uint8_t open[N_TRAFFIC] = {
		[TRAFFIC_L2_READ] = TRAFFIC_L2_READ_OPEN,
		[TRAFFIC_L2_WRITE_ALLOCATE] = TRAFFIC_L2_READ_OPEN,
		[TRAFFIC_L2_WRITE_BACK] = TRAFFIC_L2_WRITE_OPEN,
		[TRAFFIC_L3_READ] = TRAFFIC_L3_READ_OPEN,
		[TRAFFIC_L3_WRITE_ALLOCATE] = TRAFFIC_L3_READ_OPEN,
		[TRAFFIC_L3_WRITE_BACK] = TRAFFIC_L3_WRITE_OPEN,
		[TRAFFIC_MEM_READ] = TRAFFIC_MEM_READ_OPEN,
		[TRAFFIC_MEM_WRITE_ALLOCATE] = TRAFFIC_MEM_READ_OPEN,
		[TRAFFIC_MEM_WRITE_BACK] = TRAFFIC_MEM_WRITE_OPEN,
		[TRAFFIC_MEM_NON_TEMPORAL] = TRAFFIC_MEM_WRITE_OPEN,
	};
	return (open[event] ?: N_TRAFFIC) - TRAFFIC_L2_READ_OPEN;
}

/* The executions of the window go to the accounts, some of which have several numbers.  Windows
 * before the first event are one for their account. */
static void give_executions(struct accounts *accounts, struct thread_accounts *thread,
			    const double *executions, uint32_t n)
{
	for (uint32_t number = 0; number < n; number++) {
		const uint32_t who = thread_accounts_find(thread, number);
		struct in_windows *of = who != NO_ACCOUNT && accounts_has_events(accounts, who)
						? in_windows_of(accounts, who)
						: NULL;
		if (!of)
			continue;
		of->executions += executions[number] - thread->executions[number];
		thread->executions[number] = executions[number];
	}
}

static void end_window_of(struct accounts *accounts, uint32_t who, struct in_windows *of,
			  bool by_chance)
{
	double lines[N_OPEN] = {0};
	for (int event = 0; event < TRAFFIC_L2_READ_OPEN; event++)
		if (accounts_open_of(event) < N_OPEN)
			lines[accounts_open_of(event)] +=
				accounts_lines(accounts, who, event, accounts->kept);
	for (unsigned open = 0; open < N_OPEN; open++) {
		if (by_chance)
			ratio_add(&of->lines[open], lines[open] - of->seen[open], of->executions);
		of->seen[open] = lines[open];
	}
	of->executions = 0;
}

static bool make_room(struct thread_accounts *thread, uint32_t n)
{
	if (n <= thread->n_executions)
		return true;
	double *items = realloc(thread->executions, 2 * n * sizeof(*items));
	if (!items)
		return false;
	memset(items + thread->n_executions, 0, (2 * n - thread->n_executions) * sizeof(*items));
	thread->executions = items;
	thread->n_executions = 2 * n;
	return true;
}

void accounts_end_window(struct accounts *accounts, struct thread_accounts *thread,
			 const double *executions, uint32_t n, bool by_chance)
{
	if (!make_room(thread, n)) {
		accounts->memory_short = true;
		return;
	}
	give_executions(accounts, thread, executions, n);
	for (uint32_t number = 0; number < n; number++) {
		const uint32_t who = thread_accounts_find(thread, number);
		const uint32_t at = who == NO_ACCOUNT ? 0 : accounts->items[who].in_windows;
		if (at && accounts->in_windows[at - 1].executions > 0)
			end_window_of(accounts, who, &accounts->in_windows[at - 1], by_chance);
	}
}

struct ratio accounts_ratio(const struct accounts *accounts, uint32_t who, unsigned open)
{
	assert(open < N_OPEN);
	const uint32_t number = accounts->items[who].in_windows;
	return number ? accounts->in_windows[number - 1].lines[open] : (struct ratio){0};
}

/* ---- what is known of them ---- */

/* An event that is known of some lines only: its share of what these are a part of is taken for the
 * share of all. */
struct spread {
	double part, known, all;
};

/* A class of which at least `enough` lines are known has a share of its own.  False: nothing is
 * known of any. */
static bool spread(struct accounts *accounts, const struct account *account, enum traffic event,
		   double enough, struct spread (*of)(const struct row *row))
{
	const uint32_t *const cells = &accounts->cells[account->first_cell];
	double part = 0, known = 0;
	for (unsigned c = 0; c < accounts->n_classes; c++)
		if (cells[c]) {
			const struct spread row = of(&accounts->rows[cells[c] - 1]);
			part += row.part;
			known += row.known;
		}
	const double share = known > 0 ? fmin(part / known, 1) : 0;
	for (unsigned c = 0; c < accounts->n_classes; c++)
		if (cells[c]) {
			struct row *row = &accounts->rows[cells[c] - 1];
			const struct spread own = of(row);
			const double its =
				own.known >= enough ? fmin(own.part / own.known, 1) : share;
			row->traffic.lines[event] = (uint64_t)(own.all * its + 0.5);
		}
	return known > 0;
}

/* Only of full lines it is known which write-allocates were evadable. */
static struct spread evadable_of(const struct row *row)
{
	const uint64_t *lines = row->traffic.lines;
	return (struct spread){(double)lines[TRAFFIC_MEM_EVADABLE], (double)row->full_allocates,
			       (double)lines[TRAFFIC_MEM_WRITE_ALLOCATE]};
}

static struct spread conflicts_of(const struct row *row)
{
	const uint64_t *lines = row->traffic.lines;
	return (struct spread){(double)lines[TRAFFIC_MEM_CONFLICT], (double)row->followed,
			       (double)lines[TRAFFIC_MEM_READ] +
				       (double)lines[TRAFFIC_MEM_WRITE_ALLOCATE] +
				       (double)lines[TRAFFIC_MEM_WRITE_BACK] +
				       (double)lines[TRAFFIC_MEM_NON_TEMPORAL]};
}

/* None of its lines could be followed to where it came from. */
static void note_unknown_conflicts(struct accounts *accounts, const struct account *account)
{
	const uint32_t *const cells = &accounts->cells[account->first_cell];
	for (unsigned c = 0; c < accounts->n_classes; c++)
		if (cells[c]) {
			struct row *row = &accounts->rows[cells[c] - 1];
			row->traffic.lines[TRAFFIC_MEM_CONFLICT_UNKNOWN] =
				(uint64_t)conflicts_of(row).all;
		}
}

void accounts_spread(struct accounts *accounts, uint32_t who)
{
	const struct account *account = &accounts->items[who];
	if (account->first_cell == NO_CELL)
		return;
	spread(accounts, account, TRAFFIC_MEM_EVADABLE, INFINITY, evadable_of);
	if (!spread(accounts, account, TRAFFIC_MEM_CONFLICT, ENOUGH_LINES, conflicts_of))
		note_unknown_conflicts(accounts, account);
}

uint32_t accounts_n(const struct accounts *accounts)
{
	return (uint32_t)accounts->n_items;
}

uint64_t accounts_classes(const struct accounts *accounts)
{
	return accounts->classes;
}

uint64_t accounts_kept(const struct accounts *accounts)
{
	return accounts->kept;
}

bool accounts_has_events(const struct accounts *accounts, uint32_t who)
{
	return accounts->items[who].first_cell != NO_CELL;
}

struct profile_traffic accounts_row(const struct accounts *accounts, uint32_t who, unsigned class)
{
	const struct account *account = &accounts->items[who];
	const uint32_t cell =
		account->first_cell == NO_CELL
			? 0
			: accounts->cells[account->first_cell + accounts->rank[class]];
	return cell ? accounts->rows[cell - 1].traffic
		    : (struct profile_traffic){.module = account->module,
					       .offset = account->offset,
					       .thread = account->thread};
}

double accounts_lines(const struct accounts *accounts, uint32_t who, enum traffic event,
		      uint64_t classes)
{
	const uint32_t first = accounts->items[who].first_cell;
	double lines = 0;
	if (first == NO_CELL)
		return 0;
	for (uint64_t rest = classes & accounts->classes; rest; rest &= rest - 1) {
		const uint32_t cell =
			accounts->cells[first + accounts->rank[__builtin_ctzll(rest)]];
		if (cell)
			lines += (double)accounts->rows[cell - 1].traffic.lines[event];
	}
	return lines;
}

double accounts_footprint(const struct accounts *accounts, uint32_t who)
{
	const struct account *account = &accounts->items[who];
	unsigned n = 0;
	for (unsigned i = 0; i < LINE_BITS / 64; i++)
		n += (unsigned)__builtin_popcountll(account->line_bits[i]);
	return n < LINE_BITS ? -LINE_BITS * log1p(-(double)n / LINE_BITS) : 0;
}
