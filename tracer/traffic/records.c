/* Reads what the code of a traced thread has recorded: each record names a group of operands and an
 * address, and becomes one access or several (struct access), which the simulation takes.
 *
 * A record of one operand within a line is one access.  A record of several, as unrolled loops
 * make, is taken line by line where it can be (group_lines.h), and else operand by operand, in the
 * order of execution. */
#include "tracer/traffic/records.h"

#include "base/array.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

/* What the caches had when a burst began is not known: so many accesses are not judged. */
#define WARM_UP 400
#define PAGE_SHIFT 12 /* 4 KiB: what lies in huge pages is not told apart */
/* The kinds of accesses that have steps. */
#define STEPS (OPERAND_LOAD | OPERAND_STORE | OPERAND_NON_TEMPORAL)

void record_reader_init(struct record_reader *reader, struct simulation *simulation,
			const struct trace_config *config, const struct reader_thread *thread,
			uint32_t space, uint32_t core)
{
	*reader = (struct record_reader){.simulation = simulation,
					 .config = config,
					 .space = space,
					 .thread = thread->row,
					 .row = thread->row,
					 .accounts = {thread->told},
					 .shares = thread->row == thread->told,
					 .chunk = {.space = space, .thread = thread->row},
					 .burst_ns = clock_now_ns()};
	if (simulation->tlb_pages[0]) {
		reader->tlb = tlb_create(simulation->tlb_pages[0], simulation->tlb_pages[1]);
		simulation->walks_lost |= !reader->tlb;
	}
	(void)burst_cache_init(&reader->burst_cache, &simulation->geometry);
	access_filter_init(&reader->filter, simulation->hierarchy, core,
			   access_filter_suits(&simulation->geometry, !simulation->by_line));
}

static void end_walks(const struct record_reader *reader, const struct thread_accounts *accounts)
{
	for (uint32_t number = 0; number < accounts->n_pages * ACCOUNT_PAGE; number++) {
		const uint32_t who = thread_accounts_find(accounts, number);
		if (who != NO_ACCOUNT)
			strides_end(reader->simulation->strides, who);
	}
}

void record_reader_deinit(struct record_reader *reader)
{
	end_walks(reader, &reader->accounts);
	for (size_t i = 0; i < reader->n_others; i++) {
		end_walks(reader, &reader->others[i].accounts);
		thread_accounts_deinit(&reader->others[i].accounts);
	}
	free(reader->others);
	access_filter_end(&reader->filter);
	if (reader->simulation->running == &reader->filter)
		reader->simulation->running = NULL;
	tlb_destroy(reader->tlb);
	burst_cache_deinit(&reader->burst_cache);
	thread_accounts_deinit(&reader->accounts);
	free(reader->lines);
}

static inline bool is_simulated(const struct record_reader *reader, uint64_t line)
{
	return class_stages_now(&reader->simulation->stages) >> line % CACHE_CLASSES & 1 &&
	       !(line >> SPACE_SHIFT);
}

static inline uint64_t with_space(const struct record_reader *reader, uint64_t line)
{
	return line | (uint64_t)reader->space << SPACE_SHIFT;
}

static inline uint32_t account_of(struct record_reader *reader, const struct trace_operand *operand)
{
	const uint32_t who = thread_accounts_find(&reader->accounts, operand->number);
	if (who != NO_ACCOUNT)
		return who;
	reader->new_code |= reader->in_burst;
	return thread_accounts_open(&reader->accounts, reader->simulation->accounts, operand);
}

static struct burst_access in_burst(const struct record_reader *reader,
				    const struct trace_operand *operand, uint32_t who)
{
	return (struct burst_access){.who = who,
				     .place = (uint64_t)operand->module << 48 | operand->offset,
				     .burst = reader->burst,
				     .weight = reader->burst_weight,
				     .n_operands = operand->n_operands,
				     .stores = operand->access & OPERAND_STORE};
}

/* Of a burst: what an operand's access tells of lines that threads share. */
static void take_sharing(struct record_reader *reader, const struct trace_operand *operand,
			 uint32_t who, uint64_t address, uint32_t bytes)
{
	const struct sharing_access access = {
		.address = address,
		.bytes = bytes,
		.who = who,
		.loads = operand->access & OPERAND_LOAD,
		.stores = operand->access & (OPERAND_STORE | OPERAND_NON_TEMPORAL),
	};
	if (reader->shares)
		sharing_note(reader->simulation->sharing, &reader->chunk, &access);
}

/* Of a burst: what an operand's access tells of loads behind stores. */
static void take_store(struct record_reader *reader, const struct trace_operand *operand,
		       uint32_t who, uint64_t address, uint32_t bytes)
{
	const struct ordered_access access = {.operand = operand,
					      .block = operand->block,
					      .who = who,
					      .offset = operand->offset,
					      .address = address,
					      .bytes = bytes,
					      .loads = operand->access & OPERAND_LOAD,
					      .stores = operand->access &
							(OPERAND_STORE | OPERAND_NON_TEMPORAL)};
	recent_stores_take(&reader->stores, reader->simulation->store_pairs, &access);
}

/* Of a burst: an operand's access to `bytes` from `address` on, wherever it is. */
static void take_step(struct record_reader *reader, const struct trace_operand *operand,
		      uint64_t address, uint32_t bytes)
{
	const uint32_t who = operand->access & STEPS ? account_of(reader, operand) : NO_ACCOUNT;
	if (who == NO_ACCOUNT)
		return;
	strides_note(reader->simulation->strides, who, !(operand->access & OPERAND_LOAD),
		     (uint32_t)reader->burst, address, bytes);
	take_sharing(reader, operand, who, address, bytes);
	take_store(reader, operand, who, address, bytes);
	const uint64_t line = address / CACHE_LINE;
	if (!reader->burst_cache.lines)
		return;
	const struct burst_access access = in_burst(reader, operand, who);
	struct concentration *concentration = reader->simulation->concentration;
	bool changed;
	const bool misses = burst_cache_misses(&reader->burst_cache, line, access.stores, &changed);
	reader->burst_accesses++;
	if (!reader->judged)
		return;
	struct burst_miss miss = {.class = line % CACHE_CLASSES,
				  .simulated = is_simulated(reader, line)};
	if (misses)
		concentration_miss(concentration, &access, miss);
	miss.written = true;
	if (changed)
		concentration_miss(concentration, &access, miss);
}

/* Of a burst: an operand was executed, wherever its lanes went. */
static void take_execution(struct record_reader *reader, const struct trace_operand *operand)
{
	const uint32_t who = operand->access & STEPS ? account_of(reader, operand) : NO_ACCOUNT;
	if (who == NO_ACCOUNT)
		return;
	if (reader->shares)
		sharing_execution(reader->simulation->sharing, &reader->chunk, who,
				  operand->n_operands);
	if (!reader->burst_cache.lines || !reader->judged)
		return;
	const struct burst_access access = in_burst(reader, operand, who);
	concentration_note(reader->simulation->concentration, &access);
}

/* An operand's access to `bytes` from `address` on, page by page. */
static void take_pages(struct record_reader *reader, const struct trace_operand *operand,
		       uint64_t address, uint64_t bytes)
{
	const uint64_t last = (address + bytes - 1) >> PAGE_SHIFT;
	const uint32_t who = operand->access & STEPS ? account_of(reader, operand) : NO_ACCOUNT;
	if (who == NO_ACCOUNT || !bytes || reader->simulation->looks_ahead)
		return;
	for (uint64_t page = address >> PAGE_SHIFT; page <= last; page++)
		simulation_page(reader->simulation, who, tlb_access(reader->tlb, page));
}

/* Whether a record is the last one of an execution of its group, of another form than the plain. */
static bool ends_execution(const struct record_reader *reader, const struct trace_record *record,
			   const struct trace_group *group)
{
	return group->form == OPERAND_STRING   ? record->extra
	       : group->form == OPERAND_GATHER ? reader->expansion.gather.got == 0
					       : group->form != OPERAND_PLAIN;
}

/* An operand's access to `n` bytes from `address` on, within a line that is simulated. */
static inline void take_access(struct record_reader *reader, const struct trace_operand *operand,
			       uint64_t address, unsigned n)
{
	const unsigned first = address % CACHE_LINE;
	const uint8_t kinds = operand->access;
	const struct access access = {
		.filter = &reader->filter,
		.address = address,
		.line = with_space(reader, address / CACHE_LINE),
		.who = account_of(reader, operand),
		.kinds = kinds,
		.first = (uint8_t)first,
		.n = (uint8_t)n,
		.touched = kinds & (OPERAND_LOAD | OPERAND_STORE) ? line_bytes(first, n) : 0,
	};
	if (access.who != NO_ACCOUNT)
		simulation_access(reader->simulation, &access);
}

/* ---- a record of one operand within a line, as most are ---- */

static bool take_simple(struct record_reader *reader, const struct trace_record *record,
			const struct trace_group *group)
{
	if (group->n != 1 || group->form != OPERAND_PLAIN || trace_record_repeats(record))
		return false;
	const struct trace_operand *operand = &group->operands[0];
	const uint64_t address = record->address + (uint64_t)operand->at;
	if (address % CACHE_LINE + operand->bytes > CACHE_LINE || !operand->bytes)
		return false;
	if (__builtin_expect(reader->in_burst, 0)) {
		reader->judged = reader->burst_accesses >= WARM_UP;
		take_execution(reader, operand);
		take_step(reader, operand, address, operand->bytes);
	}
	if (__builtin_expect(reader->tlb != NULL, 0))
		take_pages(reader, operand, address, operand->bytes);
	if (is_simulated(reader, address / CACHE_LINE))
		take_access(reader, operand, address, operand->bytes);
	return true;
}

/* ---- operand by operand ---- */

/* A record that is taken operand by operand. */
struct operands_of_record {
	struct record_reader *reader;
	bool is_plain; /* each operand is one access */
	bool one_line; /* only one line counts: that with this number in the lower 32 bits */
	uint32_t line;
};

static void take_operand(void *context, const struct trace_operand *operand, uint64_t address,
			 uint64_t bytes)
{
	const struct operands_of_record *of = context;
	if (of->reader->in_burst && !of->one_line) {
		if (of->is_plain)
			take_execution(of->reader, operand);
		take_step(of->reader, operand, address, (uint32_t)bytes);
	}
	if (of->reader->tlb && !of->one_line)
		take_pages(of->reader, operand, address, bytes);
	for (uint64_t done = 0; done < bytes;) {
		const uint64_t at = address + done, rest = bytes - done;
		const uint64_t line = at / CACHE_LINE, to_end = CACHE_LINE - at % CACHE_LINE;
		const unsigned n = (unsigned)(rest < to_end ? rest : to_end);
		if (is_simulated(of->reader, line) && (!of->one_line || (uint32_t)line == of->line))
			take_access(of->reader, operand, at, n);
		done += n;
	}
}

static bool take_operands(struct record_reader *reader, const struct trace_record *record,
			  const struct trace_group *group)
{
	struct operands_of_record of = {reader, group->form == OPERAND_PLAIN,
					trace_record_repeats(record), record->extra};
	reader->judged = reader->burst_accesses >= WARM_UP;
	const bool known =
		trace_expand(reader->config, &reader->expansion, record, take_operand, &of);
	if (reader->in_burst && !of.one_line && ends_execution(reader, record, group))
		take_execution(reader, &group->operands[0]);
	return known;
}

/* What a record does to one line alone. */
static void take_operands_at(struct record_reader *reader, const struct trace_record *record,
			     uint64_t line)
{
	struct operands_of_record of = {reader, false, true, (uint32_t)line};
	(void)trace_expand(reader->config, &reader->expansion, record, take_operand, &of);
}

/* ---- line by line ---- */

/* False, and nothing is done, where one of the instructions has no account yet. */
static bool take_part(struct record_reader *reader, uint64_t line, const struct line_part *part)
{
	const struct thread_accounts *accounts = &reader->accounts;
	const struct filter_rest later = {
		.loaded = part->loaded,
		.stored = part->stored,
		.loads = part->loads,
		.stores = part->stores,
		.load_who = part->loads ? thread_accounts_find(accounts, part->load_who) : 0,
		.store_who = part->stores ? thread_accounts_find(accounts, part->store_who) : 0,
	};
	const struct access access = {
		.filter = &reader->filter,
		.address = line * CACHE_LINE + part->first,
		.line = with_space(reader, line),
		.who = thread_accounts_find(accounts, part->who),
		.kinds = (uint8_t)(1 << part->kind),
		.first = part->first,
		.n = part->n,
		.touched = part->touched,
		.later = later.loads || later.stores ? &later : NULL,
	};
	if (access.who == NO_ACCOUNT || later.load_who == NO_ACCOUNT ||
	    later.store_who == NO_ACCOUNT)
		return false;
	simulation_access(reader->simulation, &access);
	return true;
}

static inline uint64_t rotate_right(uint64_t bits, unsigned n)
{
	return bits >> n % 64 | bits << (64 - n) % 64;
}

/* Whether a record may be taken line by line: steps and pages are not looked at, no line brings in
 * another, none lies outside of the address space, and no other machine's caches want each access.
 */
static bool goes_by_lines(const struct record_reader *reader, const struct trace_record *record)
{
	const uint64_t line = record->address / CACHE_LINE;
	return !reader->in_burst && !reader->tlb && reader->simulation->by_line &&
	       reader->filter.on && !reader->simulation->other && !trace_record_repeats(record) &&
	       line - FARTHEST_LINE < (1ull << SPACE_SHIFT) - 2 * FARTHEST_LINE;
}

static bool take_lines(struct record_reader *reader, const struct trace_record *record,
		       uint32_t number, const struct trace_group *group)
{
	if (!goes_by_lines(reader, record) ||
	    (!reader->lines && !(reader->lines = calloc(1, sizeof(*reader->lines)))))
		return false;
	const struct group_lines *lines =
		group_lines_get(reader->lines, reader->config, number, group, record->address);
	const uint64_t line = record->address / CACHE_LINE;
	if (!lines->n)
		return false;
	uint64_t todo = lines->lines & rotate_right(class_stages_now(&reader->simulation->stages),
						    line % CACHE_CLASSES);
	for (; todo; todo &= todo - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(todo);
		const uint64_t at = k <= FARTHEST_LINE ? line + k : line + k - CACHE_CLASSES;
		if (!take_part(reader, at, &lines->parts[lines->part[k]]))
			take_operands_at(reader, record, at);
	}
	return true;
}

/* ---- records ---- */

static void take_allocation(struct record_reader *reader, const struct trace_record *record)
{
	struct space *space = simulation_space(reader->simulation, reader->space);
	if (space)
		allocation_record_take(&reader->allocation, &space->calls, reader->thread, record);
}

static struct row_accounts *other_accounts(struct record_reader *reader, uint32_t row)
{
	for (size_t i = 0; i < reader->n_others; i++)
		if (reader->others[i].row == row)
			return &reader->others[i];
	return NULL;
}

struct thread_accounts *record_reader_accounts(struct record_reader *reader, uint32_t row)
{
	struct row_accounts *other = row == reader->row ? NULL : other_accounts(reader, row);
	return row == reader->row ? &reader->accounts : other ? &other->accounts : NULL;
}

/* Accesses are those of another row from now on. */
static void take_share(struct record_reader *reader, uint32_t row)
{
	const struct row_accounts new = {.row = row, .accounts = {row}};
	if (row == reader->row)
		return;
	struct row_accounts *other = other_accounts(reader, row);
	if (!other && rf_array_push(reader->others, reader->n_others, reader->cap_others, new))
		other = &reader->others[reader->n_others - 1];
	if (!other) /* they stay those of the row at hand */
		return;
	const struct row_accounts before = {reader->row, reader->accounts};
	reader->row = row;
	reader->accounts = other->accounts;
	*other = before;
}

/* False: it is none of an instruction that is known. */
static bool take_accesses(struct record_reader *reader, const struct trace_record *record)
{
	const uint32_t number = record->word & ((1u << TRACE_GROUP_BITS) - 1);
	const struct trace_group *group = trace_config_group(reader->config, number);
	if (!group || group->form == TRACE_TRANSFER)
		return false;
	if (!take_simple(reader, record, group) && !take_lines(reader, record, number, group))
		take_operands(reader, record, group);
	return true;
}

static void take_record(struct record_reader *reader, const struct trace_record *record)
{
	if (record->word == ALLOCATION_RECORD(ALLOCATION_GAP))
		simulation_gap(reader->simulation, record->address);
	else if (record->word == ALLOCATION_RECORD(ALLOCATION_SHARE))
		take_share(reader, (uint32_t)record->address);
	else if (is_allocation_record(record))
		take_allocation(reader, record);
	else if (!take_accesses(reader, record))
		reader->n_unknown++;
}

static void begin_burst(struct record_reader *reader)
{
	recent_stores_clear(&reader->stores);
	const uint64_t now = clock_now_ns();
	reader->burst = ++reader->simulation->n_bursts;
	reader->burst_weight = (double)(now - reader->burst_ns) + 1;
	reader->burst_ns = now;
	reader->burst_accesses = 0;
}

/* Only now what the parent has mapped for the thread's stack is known. */
static void tell_stack(struct record_reader *reader)
{
	const struct space *space = simulation_space(reader->simulation, reader->space);
	if (space && reader->stack_pointer)
		objects_stack(space->objects, reader->stack_pointer);
	reader->stack_pointer = 0;
}

void record_reader_take(struct record_reader *reader, const struct trace_record *records, size_t n,
			bool is_burst, uint64_t stamp)
{
	size_t i = 0;
	simulation_run(reader->simulation, &reader->filter);
	if (is_burst && !reader->in_burst) /* else the one before goes on */
		begin_burst(reader);
	reader->in_burst = is_burst;
	reader->chunk.burst = reader->burst;
	reader->chunk.from = reader->chunk.to;
	reader->chunk.to = stamp;
	tell_stack(reader);
	for (; i < n && !is_end_of_chunk(&records[i]); i++)
		take_record(reader, &records[i]);
	reader->n_records += i;
	if (is_burst)
		recent_stores_end(&reader->stores, reader->simulation->store_pairs);
}

/* ---- records that will be taken ---- */

void record_reader_look_ahead(struct record_reader *reader, const struct trace_record *records,
			      size_t n)
{
	struct reader_before *before = &reader->before;
	if (!before->is_kept)
		*before = (struct reader_before){true, reader->in_burst, reader->row,
						 reader->expansion};
	reader->in_burst = false;
	simulation_run(reader->simulation, &reader->filter);
	for (size_t i = 0; i < n && !is_end_of_chunk(&records[i]); i++)
		if (records[i].word == ALLOCATION_RECORD(ALLOCATION_SHARE))
			take_share(reader, (uint32_t)records[i].address);
		else if (!is_allocation_record(&records[i]) && reader->row != reader->thread)
			(void)take_accesses(reader, &records[i]);
}

void record_reader_look_back(struct record_reader *reader)
{
	if (!reader->before.is_kept)
		return;
	take_share(reader, reader->before.row);
	reader->in_burst = reader->before.in_burst;
	reader->expansion = reader->before.expansion;
	reader->before.is_kept = false;
}
