/* Keeps the books of the simulation: which instruction in which thread has which number, and how
 * many lines it moved across each border of the memory hierarchy, class by class.
 *
 * A run that is being simulated cannot stop because memory is short.  So what there is no room for
 * is left out, one flag remembers it, and the profile says that its traffic is incomplete. */
#include "tracer/traffic/accounts.h"

#include "base/array.h"
#include "base/student.h"
#include "base/u64_map.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define NO_CELL UINT32_MAX
#define WARMING 0.01 /* of what came into the first level (halfwidth_of) */

struct account {
	uint32_t module, thread;
	uint64_t offset;
	uint32_t first_cell; /* NO_CELL: it had no event yet */
};

/* The events of an account in a class. */
struct row {
	struct profile_traffic traffic;
	uint64_t full_allocates; /* write-allocates of full lines */
};

struct accounts {
	uint8_t rank[CACHE_CLASSES]; /* of a class among those that have been simulated */
	uint64_t classes;            /* these */
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
	bool memory_short;
};

struct accounts *accounts_create(uint64_t classes)
{
	struct accounts *accounts = calloc(1, sizeof(*accounts));
	if (!accounts)
		return NULL;
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

/* The row of an account and a class; NULL when memory is short. */
static struct row *row_of(struct accounts *accounts, struct account *account, unsigned rank)
{
	if (account->first_cell == NO_CELL && !make_cells(accounts, account))
		return NULL;
	uint32_t *cell = &accounts->cells[account->first_cell + rank];
	const struct row row = {.traffic = {.module = account->module,
					    .offset = account->offset,
					    .thread = account->thread,
					    .class = rank}};
	if (!*cell && rf_array_push(accounts->rows, accounts->n_rows, accounts->cap_rows, row))
		*cell = (uint32_t)accounts->n_rows;
	return *cell ? &accounts->rows[*cell - 1] : NULL;
}

void accounts_count(struct accounts *accounts, uint32_t who, enum traffic event, unsigned class,
		    bool is_full)
{
	assert(who < accounts->n_items);
	assert(accounts->classes >> class & 1);
	struct row *row = row_of(accounts, &accounts->items[who], accounts->rank[class]);
	if (!row) {
		accounts->memory_short = true;
		return;
	}
	row->traffic.lines[event]++;
	row->full_allocates += event == TRAFFIC_MEM_WRITE_ALLOCATE && is_full;
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
	const struct account new = {operand->module, thread, operand->offset, NO_CELL};
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
}

/* ---- the profile ---- */

/* Only of full lines it is known which write-allocates were evadable; their share is taken for all.
 */
static void spread_evadable(struct accounts *accounts, const struct account *account)
{
	uint64_t evadable = 0, full = 0;
	const uint32_t *const cells = &accounts->cells[account->first_cell];
	for (unsigned c = 0; c < accounts->n_classes; c++)
		if (cells[c]) {
			const struct row *row = &accounts->rows[cells[c] - 1];
			evadable += row->traffic.lines[TRAFFIC_MEM_EVADABLE];
			full += row->full_allocates;
		}
	for (unsigned c = 0; c < accounts->n_classes && full; c++)
		if (cells[c]) {
			uint64_t *lines = accounts->rows[cells[c] - 1].traffic.lines;
			const double allocates = (double)lines[TRAFFIC_MEM_WRITE_ALLOCATE];
			lines[TRAFFIC_MEM_EVADABLE] =
				(uint64_t)(allocates * (double)evadable / (double)full + 0.5);
		}
}

static bool has_lines(const struct profile_traffic *row)
{
	for (int event = 0; event < N_TRAFFIC; event++)
		if (row->lines[event])
			return true;
	return false;
}

static bool add_row(struct profile *profile, const struct profile_traffic *row)
{
	return !has_lines(row) ||
	       rf_array_push(profile->traffic, profile->n_traffic, profile->cap_traffic, *row);
}

static double lines_of(const struct accounts *accounts, const struct account *account, int event)
{
	const uint32_t *cells = &accounts->cells[account->first_cell];
	double lines = 0;
	for (unsigned c = 0; c < accounts->n_classes; c++)
		if (cells[c])
			lines += (double)accounts->rows[cells[c] - 1].traffic.lines[event];
	return lines;
}

/* A figure and its half-width, relative to it, as the lines of n sampled classes: the first class
 * is above the others by so much that their mean has that half-width (model_estimate). */
static uint64_t as_sampled(double lines, double halfwidth, unsigned class, unsigned n)
{
	const double most = rf_student(n - 1) * sqrt(1 - (double)n / CACHE_CLASSES);
	const double wanted = n > 1 ? halfwidth / most : 0;
	const double excess = wanted < 1 ? wanted : 1; /* of the mean: what the others lack */
	const double part = class ? 1 - excess : 1 + (n - 1) * excess;
	return (uint64_t)llround(lines * part / CACHE_CLASSES);
}

/* What all events of an account have to be multiplied by. */
struct scaling {
	double factor, halfwidth;
	double all;    /* lines that came into the first level */
	double unseen; /* the same where none of them was simulated */
};

static struct scaling scaling_of(const struct accounts *accounts, const struct account *account,
				 const struct miss_rate *rate, const struct executions *executions)
{
	const double seen = lines_of(accounts, account, TRAFFIC_L2_READ) +
			    lines_of(accounts, account, TRAFFIC_L2_WRITE_ALLOCATE);
	const double all =
		executions_of(executions, account->thread, account->module, account->offset) *
		rate->of_execution;
	if (seen > 0 && !(all > seen)) /* all of it was simulated, or it is not known */
		return (struct scaling){1, isnan(all) ? 1 : rate->halfwidth, seen, 0};
	return seen > 0 ? (struct scaling){all / seen, rate->halfwidth, all, 0}
			: (struct scaling){0, rate->halfwidth, all, isnan(all) ? 0 : all};
}

/* The half-width of an event's scaled count, relative to it.  Classes begin to be simulated with
 * empty caches: what crosses the inner borders is known to a small part of what came into the first
 * level.
 */
static double halfwidth_of(const struct scaling *scaling, int event, double lines)
{
	const bool first = event <= TRAFFIC_L2_WRITE_BACK;
	return first || lines <= 0 ? scaling->halfwidth
				   : hypot(scaling->halfwidth, WARMING * scaling->all / lines);
}

/* All of an account's events, scaled.  Where none was simulated, all that is known is how many
 * lines came into the first level; none or all of them may have come from memory. */
static bool save_scaled(const struct accounts *accounts, const struct account *account,
			const struct scaling *scaling, unsigned n, struct profile *profile)
{
	for (unsigned k = 0; k < n; k++) {
		struct profile_traffic row = {account->module, account->offset, account->thread, k};
		for (int event = 0; event < N_TRAFFIC; event++) {
			const double lines = lines_of(accounts, account, event) * scaling->factor;
			row.lines[event] =
				as_sampled(lines, halfwidth_of(scaling, event, lines), k, n);
		}
		if (scaling->unseen > 0) {
			row.lines[TRAFFIC_L2_READ] =
				as_sampled(scaling->unseen, scaling->halfwidth, k, n);
			row.lines[TRAFFIC_L3_READ] = row.lines[TRAFFIC_MEM_READ] =
				as_sampled(scaling->unseen / 2, 1, k, n);
		}
		if (!add_row(profile, &row))
			return false;
	}
	return true;
}

/* The events of an account in a sample of classes, which are numbered by their order. */
static bool save_sampled(const struct accounts *accounts, const struct account *account,
			 uint64_t sample, struct profile *profile)
{
	const uint32_t *cells = &accounts->cells[account->first_cell];
	uint32_t number = 0;
	for (uint64_t rest = sample; rest; rest &= rest - 1, number++) {
		const uint32_t cell = cells[accounts->rank[__builtin_ctzll(rest)]];
		if (!cell)
			continue;
		struct profile_traffic row = accounts->rows[cell - 1].traffic;
		row.class = number;
		if (!add_row(profile, &row))
			return false;
	}
	return true;
}

struct rf_error *accounts_save(struct accounts *accounts, uint64_t sample,
			       const struct concentration *concentration,
			       const struct executions *executions, struct profile *profile)
{
	const unsigned sampled = (unsigned)__builtin_popcountll(sample);
	assert(!(sample & ~accounts->classes));
	for (uint32_t who = 0; who < accounts->n_items; who++) {
		struct account *account = &accounts->items[who];
		const struct miss_rate rate = concentration_rate(concentration, who, sampled);
		struct scaling scaling = {0};
		if (account->first_cell == NO_CELL &&
		    (!rate.concentrated || !make_cells(accounts, account)))
			continue;
		spread_evadable(accounts, account);
		if (rate.concentrated)
			scaling = scaling_of(accounts, account, &rate, executions);
		if (rate.concentrated ? !save_scaled(accounts, account, &scaling, sampled, profile)
				      : !save_sampled(accounts, account, sample, profile))
			return rf_error_no_memory();
	}
	return NULL;
}
