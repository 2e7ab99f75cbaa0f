/* Keeps the books of the simulation: which instruction in which thread has which number, and how
 * many lines it moved across each border of the memory hierarchy, class by class.
 *
 * A run that is being simulated cannot stop because memory is short.  So what there is no room for
 * is left out, one flag remembers it, and the profile says that its traffic is incomplete. */
#include "tracer/traffic/accounts.h"

#include "base/array.h"
#include "base/u64_map.h"

#include <assert.h>
#include <string.h>

#define NO_CELL UINT32_MAX

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
	uint8_t rank[CACHE_CLASSES]; /* of a class among those simulated at first */
	uint64_t classes;            /* these */
	unsigned n_classes;
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
	accounts->classes = classes;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (classes >> k & 1)
			accounts->rank[k] = (uint8_t)accounts->n_classes++;
	return accounts;
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
	for (unsigned c = 0; c < accounts->n_classes; c++)
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

/* Numbers the classes that are left, by their rank at first, without gaps; the others get
 * UINT32_MAX. */
static void number_classes(const struct accounts *accounts, uint64_t classes,
			   uint32_t number[CACHE_CLASSES])
{
	uint32_t n = 0;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (accounts->classes >> k & 1)
			number[accounts->rank[k]] = classes >> k & 1 ? n++ : UINT32_MAX;
}

struct rf_error *accounts_save(struct accounts *accounts, uint64_t classes, struct profile *profile)
{
	uint32_t number[CACHE_CLASSES];
	assert(!(classes & ~accounts->classes));
	number_classes(accounts, classes, number);
	for (size_t i = 0; i < accounts->n_items; i++)
		if (accounts->items[i].first_cell != NO_CELL)
			spread_evadable(accounts, &accounts->items[i]);
	for (size_t i = 0; i < accounts->n_rows; i++) {
		struct profile_traffic row = accounts->rows[i].traffic;
		row.class = number[row.class];
		if (row.class != UINT32_MAX && has_lines(&row) &&
		    !rf_array_push(profile->traffic, profile->n_traffic, profile->cap_traffic, row))
			return rf_error_no_memory();
	}
	return NULL;
}
