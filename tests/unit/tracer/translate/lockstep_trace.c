#include "tests/unit/tracer/translate/lockstep_trace.h"

#include "tests/unit/tracer/translate/lockstep_reference.h"

#include "tracer/gate/protocol.h"
/* tracer/gate/gate.S */
extern const char gate_begin[], gate_record[], gate_call_number[], gate_call_result[], gate_end[];
#include "tracer/traffic/allocation_records.h"
#include "tracer/traffic/trace_expand.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GATE_AT 0x400 /* in the page of traps */
#define MAX_LINES (1u << 20)
#define MOST_TOUCHED (1u << 12) /* counts of accesses, by the line modulo that */

/* An access to one line, by bits: what and where. */
struct line_access {
	uint64_t line;
	uint64_t offset;
	uint8_t access;
	uint8_t first, n;
};

struct accesses {
	struct line_access *items;
	size_t n;
	uint64_t classes;
	uint64_t left_out_start, left_out_end; /* offsets of instructions that do not count */
};

static struct accesses truth, seen;
static uint32_t touched[MOST_TOUCHED]; /* in truth, also by instructions that do not count */

void lockstep_trace_place_gate(struct lockstep *lockstep)
{
	const size_t size = (size_t)(gate_end - gate_begin);
	if (GATE_AT + size > TRAPS_SIZE)
		abort();
	memcpy(lockstep->traps + GATE_AT, gate_begin, size);
	const struct {
		uint32_t entry;
		const char *label;
	} entries[] = {{G_AT_RECORD, gate_record},
		       {G_AT_CALL_NUMBER, gate_call_number},
		       {G_AT_CALL_RESULT, gate_call_result}};
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++)
		*lockstep_slot_word(lockstep, entries[i].entry) =
			(uint64_t)lockstep->traps + GATE_AT +
			(uint64_t)(entries[i].label - gate_begin);
}

static void add_bytes(struct accesses *accesses, uint64_t offset, uint8_t access, uint64_t address,
		      uint64_t bytes)
{
	while (bytes && accesses->n < MAX_LINES) {
		const uint64_t line = address / CACHE_LINE;
		const unsigned first = address % CACHE_LINE;
		const unsigned n =
			bytes < CACHE_LINE - first ? (unsigned)bytes : CACHE_LINE - first;
		const bool counts = accesses->classes >> line % CACHE_CLASSES & 1 &&
				    offset - accesses->left_out_start >=
					    accesses->left_out_end - accesses->left_out_start;
		touched[line % MOST_TOUCHED] += accesses == &truth;
		if (counts)
			accesses->items[accesses->n++] =
				(struct line_access){line, offset, access, (uint8_t)first,
						     (uint8_t)n};
		address += n;
		bytes -= n;
	}
}

/* ---- the truth ---- */

static uint8_t access_of(const ZydisDecodedOperand *operand)
{
	return (uint8_t)((operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? OPERAND_LOAD : 0) |
			 (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? OPERAND_STORE : 0));
}

static bool touches_nothing(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	       insn->meta.category == ZYDIS_CATEGORY_NOP ||
	       insn->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	       insn->mnemonic == ZYDIS_MNEMONIC_CLDEMOTE ||
	       insn->mnemonic == ZYDIS_MNEMONIC_PREFETCHW || insn->mnemonic == ZYDIS_MNEMONIC_NOP;
}

/* Instructions whose accesses are said to be untraced, and those compared elsewhere. */
static bool is_left_out(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operand)
{
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		return operand[1].type ==
		       ZYDIS_OPERAND_TYPE_REGISTER; /* the bit string is the first operand */
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
		return true;
	default:
		return operand->mem.type != ZYDIS_MEMOP_TYPE_MEM &&
		       operand->mem.type != ZYDIS_MEMOP_TYPE_VSIB;
	}
}

/* The stack pointer moves before a push writes, and before the address of a pop to memory is
 * formed. */
static uint64_t moved(const struct full *full, const ZydisDecodedOperand *operand, uint64_t address)
{
	const bool hidden = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
	const bool pushes = full->insn.meta.category == ZYDIS_CATEGORY_PUSH ||
			    full->insn.meta.category == ZYDIS_CATEGORY_CALL;
	if (operand->mem.base != ZYDIS_REGISTER_RSP)
		return address;
	if (hidden && pushes)
		return address - operand->size / 8;
	return address +
	       (!hidden && full->insn.mnemonic == ZYDIS_MNEMONIC_POP ? operand->size / 8 : 0);
}

/* Instructions whose memory is governed by a mask lane by lane. */
static bool has_lanes(const struct step *step, const struct full *full,
		      const ZydisDecodedOperand *operand, struct work *work)
{
	if (!step->has_units || step->repeats ||
	    !work_of_bytes((void *)step->regs.rip, full->insn.length, work))
		return false;
	return operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? work->unit_store_bytes
								  : work->unit_load_bytes;
}

/* By the letter behind "gather" or "scatter". */
static bool has_wide_index(const struct full *full)
{
	const char *name = ZydisMnemonicGetString(full->insn.mnemonic),
		   *gather = strstr(name, "gather");
	return gather ? gather[6] == 'q' : strstr(name, "scatter")[7] == 'q';
}

static void add_lanes(size_t at, const struct full *full, const ZydisDecodedOperand *operand,
		      const struct work *work, uint64_t offset)
{
	const struct step *step = &reference.steps[at];
	const uint32_t size =
		work->unit_load_bytes ? work->unit_load_bytes : work->unit_store_bytes;
	const bool packed = full->insn.meta.category == ZYDIS_CATEGORY_COMPRESS ||
			    full->insn.meta.category == ZYDIS_CATEGORY_EXPAND;
	uint64_t base = 0, next = 0;
	struct user_regs_struct regs = step->regs;
	if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		base = operand->mem.base == ZYDIS_REGISTER_NONE
			       ? 0
			       : *register_number(&regs, (unsigned)(operand->mem.base -
								    ZYDIS_REGISTER_RAX));
		base += (uint64_t)operand->mem.disp.value;
	} else if (!reference_address(full, operand, at, &base)) {
		return;
	}
	for (unsigned lane = 0; lane < work->lanes; lane++) {
		uint64_t address = base + (packed ? next : lane) * size;
		if (!(step->mask >> lane & 1))
			continue;
		next++;
		if (operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
			int64_t index = 0;
			int32_t narrow;
			memcpy(&index, step->index + 8 * (lane % 8), 8);
			memcpy(&narrow, step->index + 4 * (lane % 16), 4);
			address = base + (uint64_t)((has_wide_index(full) ? index : narrow) *
						    operand->mem.scale);
		}
		add_bytes(&truth, offset, access_of(operand), address, size);
	}
}

static void add_string(const struct step *step, const ZydisDecodedOperand *operand,
		       uint64_t address, uint64_t offset)
{
	const unsigned size = operand->size / 8;
	const bool down = step->regs.eflags & 0x400;
	for (uint64_t i = 0; i < step->units; i++)
		add_bytes(&truth, offset, access_of(operand),
			  down ? address - i * size : address + i * size, size);
}

static void add_step(const struct lockstep *lockstep, size_t at)
{
	const struct step *step = &reference.steps[at];
	const uint64_t offset = step->regs.rip - lockstep->image.start;
	struct full full;
	struct work work;
	if (!reference_decode(lockstep, at, &full) || touches_nothing(&full.insn) ||
	    full.insn.address_width != 64)
		return;
	for (unsigned i = 0; i < full.insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &full.operands[i];
		uint64_t address;
		if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    is_left_out(&full.insn, operand) || !access_of(operand))
			continue;
		if (has_lanes(step, &full, operand, &work))
			add_lanes(at, &full, operand, &work, offset);
		else if (!reference_address(&full, operand, at, &address))
			continue;
		else if (step->repeats)
			add_string(step, operand, address, offset);
		else if (operand->size <= 512)
			add_bytes(&truth, offset, access_of(operand),
				  moved(&full, operand, address), operand->size / 8);
	}
}

/* ---- what was recorded ---- */

static void add_seen(void *context, const struct trace_operand *operand, uint64_t address,
		     uint64_t bytes)
{
	(void)context;
	const uint8_t access =
		(uint8_t)((operand->access & OPERAND_LOAD) |
			  (operand->access & (OPERAND_STORE | OPERAND_NON_TEMPORAL) ? OPERAND_STORE
										    : 0));
	if (access)
		add_bytes(&seen, operand->offset, access, address, bytes);
}

static bool read_records(const struct lockstep *lockstep, struct trace_expansion *expansion,
			 const struct trace_record *records, size_t n)
{
	bool known = true;
	for (size_t i = 0; i < n && !is_end_of_chunk(&records[i]); i++)
		known &= trace_record_repeats(&records[i]) ||
			 trace_expand(lockstep->translator.trace, expansion, &records[i], add_seen,
				      NULL);
	return known;
}

static bool read_ring(struct lockstep *lockstep)
{
	struct trace_ring ring = {lockstep->slot, (uint64_t)lockstep->slot, 0};
	struct trace_expansion expansion = {0};
	uint64_t stamp;
	size_t n;
	bool known = true;
	while (trace_ring_pending(&ring, &stamp)) {
		const struct trace_record *records = trace_ring_chunk(&ring, &n);
		known &= read_records(lockstep, &expansion, records, n);
		ring.taken++;
	}
	const struct trace_record *records = trace_ring_rest(&ring, &n);
	return read_records(lockstep, &expansion, records, n) && known;
}

/* ---- the comparison ---- */

static int by_place(const void *a, const void *b)
{
	const struct line_access *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return 0;
}

/* The bytes of all accesses of one instruction to one line: loads, stores; how many bytes in all.
 */
struct sum {
	uint64_t loads, stores, bytes;
	size_t n;
};

static struct sum sum_from(const struct accesses *accesses, size_t i)
{
	struct sum sum = {0};
	for (; i < accesses->n && by_place(&accesses->items[i], &accesses->items[i - sum.n]) == 0;
	     i++) {
		const struct line_access *access = &accesses->items[i];
		const uint64_t bits = (access->n == 64 ? ~0ull : (1ull << access->n) - 1)
				      << access->first;
		sum.loads |= access->access & OPERAND_LOAD ? bits : 0;
		sum.stores |= access->access & OPERAND_STORE ? bits : 0;
		sum.bytes += access->n * (unsigned)__builtin_popcount(access->access);
		sum.n++;
	}
	return sum;
}

static bool differ(struct lockstep *lockstep, const struct line_access *access,
		   const struct sum *true_sum, const struct sum *seen_sum)
{
	snprintf(lockstep->failure, sizeof(lockstep->failure),
		 "instruction at offset %#" PRIx64 ", line %#" PRIx64 ": loads of bytes %#" PRIx64
		 " not %#" PRIx64 ", stores %#" PRIx64 " not %#" PRIx64 ", %" PRIu64
		 " bytes not %" PRIu64 "; ",
		 access->offset, access->line, seen_sum->loads, true_sum->loads, seen_sum->stores,
		 true_sum->stores, seen_sum->bytes, true_sum->bytes);
	return false;
}

/* Of many accesses to a line some may be left out. */
static bool is_same(const struct sum *true_sum, const struct sum *seen_sum, uint64_t line)
{
	if (touched[line % MOST_TOUCHED] > TRACE_SETTLED_FIRST / 2)
		return !(seen_sum->loads & ~true_sum->loads) &&
		       !(seen_sum->stores & ~true_sum->stores) &&
		       seen_sum->bytes <= true_sum->bytes;
	return true_sum->loads == seen_sum->loads && true_sum->stores == seen_sum->stores &&
	       true_sum->bytes == seen_sum->bytes;
}

static bool compare(struct lockstep *lockstep)
{
	static const struct sum none;
	qsort(truth.items, truth.n, sizeof(truth.items[0]), by_place);
	qsort(seen.items, seen.n, sizeof(seen.items[0]), by_place);
	for (size_t t = 0, s = 0; t < truth.n || s < seen.n;) {
		const int order = t == truth.n  ? 1
				  : s == seen.n ? -1
						: by_place(&truth.items[t], &seen.items[s]);
		const struct sum true_sum = order <= 0 ? sum_from(&truth, t) : none;
		const struct sum seen_sum = order >= 0 ? sum_from(&seen, s) : none;
		if (!is_same(&true_sum, &seen_sum,
			     order <= 0 ? truth.items[t].line : seen.items[s].line))
			return differ(lockstep, order <= 0 ? &truth.items[t] : &seen.items[s],
				      &true_sum, &seen_sum);
		t += true_sum.n;
		s += seen_sum.n;
	}
	lockstep->traced += truth.n;
	return true;
}

static bool make(struct accesses *accesses, const struct lockstep *lockstep,
		 const struct code_block *last)
{
	if (!accesses->items)
		accesses->items = malloc(MAX_LINES * sizeof(*accesses->items));
	accesses->n = 0;
	accesses->classes = lockstep->trace_classes;
	accesses->left_out_start = last ? last->module_offset : 0;
	accesses->left_out_end = last ? last->module_offset + last->size : 0;
	return accesses->items;
}

void lockstep_trace_begin(struct lockstep *lockstep)
{
	struct trace_ring ring;
	struct translator *translator = &lockstep->translator;
	if (!lockstep->trace_classes)
		return;
	if (!translator->trace)
		translator->trace = trace_config_create(lockstep->trace_classes);
	const struct line_sample full = {lockstep->trace_classes, 0};
	trace_ring_init(&ring, lockstep->slot, (uint64_t)lockstep->slot, lockstep->trace_classes,
			&full, WINDOW_WAYS, UINT32_MAX);
	/* no burst, which would have all that is checked recorded */
	trace_config_masks(lockstep->trace_classes, (uint64_t *)(lockstep->slot + G_TRACE_MASKS));
	*(uint64_t *)(lockstep->slot + G_TRACE_CLASSES) = lockstep->trace_classes;
}

bool lockstep_trace_compare(struct lockstep *lockstep, size_t at, const struct code_block *last)
{
	if (!lockstep->trace_classes)
		return true;
	if (!make(&truth, lockstep, last) || !make(&seen, lockstep, last))
		return false;
	memset(touched, 0, sizeof(touched));
	for (size_t i = 0; i < at; i++)
		add_step(lockstep, i);
	if (!read_ring(lockstep)) {
		snprintf(lockstep->failure, sizeof(lockstep->failure),
			 "a record of no known group; ");
		return false;
	}
	return compare(lockstep);
}
