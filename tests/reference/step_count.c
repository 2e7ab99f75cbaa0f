/* The slow and obvious counter: runs a program's functions instruction by instruction under ptrace
 * and counts what they do.
 *
 *	step_count PROGRAM FUNCTION…
 *
 * Prints for each function the line that a target prints as its truth (tests/targets/truth.h),
 * with the word `counted`.  It shares the table of instructions (insn/work.c) with rfprof and
 * nothing else: no translation, no counters, no blocks.  Only the main thread is watched. */
#include "insn/work.h"
#include "tests/reference/stepped.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_INSNS = 4096, MAX_FUNCTIONS = 32, MAX_INSN_SIZE = 15 };

struct function {
	const char *name;
	uint64_t start, end;
	uint8_t entry_byte;
};

struct insn {
	uint64_t address, n, units;
	const struct function *function;
	struct work work;
};

static struct function functions[MAX_FUNCTIONS];
static size_t n_functions;
static struct insn insns[MAX_INSNS];

static void take_symbol(const char *name, uint64_t start, uint64_t end)
{
	for (size_t f = 0; f < n_functions; f++)
		if (!strcmp(name, functions[f].name)) {
			functions[f].start = start;
			functions[f].end = end;
		}
}

static void find_functions(const char *program)
{
	stepped_symbols(program, take_symbol);
	for (size_t f = 0; f < n_functions; f++) {
		if (!functions[f].start)
			stepped_fail(functions[f].name);
		functions[f].entry_byte = stepped_code(functions[f].start).bytes[0];
	}
}

static void set_breakpoints(bool on)
{
	for (size_t f = 0; f < n_functions; f++)
		stepped_set_byte(functions[f].start, on ? 0xcc : functions[f].entry_byte);
}

/* The instruction at `address`, decoded when it is met first (open addressing by address). */
static struct insn *insn_at(uint64_t address)
{
	struct insn *insn = &insns[address % MAX_INSNS];

	while (insn->address && insn->address != address)
		insn = insn + 1 == insns + MAX_INSNS ? insns : insn + 1;
	if (insn->address)
		return insn;
	const struct stepped_bytes code = stepped_code(address);

	insn->address = address;
	for (size_t f = 0; f < n_functions; f++)
		if (address >= functions[f].start && address < functions[f].end)
			insn->function = &functions[f];
	if (!work_of_bytes(code.bytes, MAX_INSN_SIZE, &insn->work))
		stepped_fail("an instruction cannot be decoded");
	return insn;
}

static uint64_t opmask_lanes(int reg, int lanes)
{
	const uint64_t mask = stepped_mask(reg);

	return __builtin_popcountll(lanes < 64 ? mask & ((UINT64_C(1) << lanes) - 1) : mask);
}

/* Set sign bits among the first `lanes` elements of a vector register. */
static uint64_t vector_mask_lanes(int reg, int lanes, int element_bits)
{
	const struct stepped_vector value = stepped_vector(reg);
	uint64_t total = 0;

	for (int lane = 0; lane < lanes; lane++)
		total += value.bytes[(lane + 1) * element_bits / 8 - 1] >> 7;
	return total;
}

static uint64_t units_before(const struct work *work)
{
	switch (work->units) {
	case UNITS_KMASK:
		return opmask_lanes(work->unit_reg, work->lanes);
	case UNITS_VMASK:
		return vector_mask_lanes(work->unit_reg, work->lanes, work->unit_element_bits);
	default:
		return 0;
	}
}

/* Steps from a function's entry to its return, when the stack pointer is above the return address.
 * A repeated instruction traps after each repeat and is one execution. */
static void step_through(struct user_regs_struct *regs)
{
	uint64_t entry_rsp = regs->rsp;
	const struct insn *before = NULL;

	while (regs->rsp <= entry_rsp) {
		struct insn *insn = insn_at(regs->rip);
		uint64_t rcx = regs->rcx;

		insn->n += insn != before || insn->work.units != UNITS_REP;
		insn->units += units_before(&insn->work);
		if (!stepped_step(regs))
			stepped_fail("the program ended within a function");
		if (insn->work.units == UNITS_REP)
			insn->units += rcx - regs->rcx;
		before = regs->rip == insn->address ? insn : NULL;
	}
}

#define TRAP_FLAG 0x100ull

static bool is_entry(uint64_t address)
{
	for (size_t f = 0; f < n_functions; f++)
		if (functions[f].start == address)
			return true;
	return false;
}

static void run(void)
{
	for (;;) {
		set_breakpoints(true);
		if (!stepped_continue())
			return;
		set_breakpoints(false);
		struct user_regs_struct regs = stepped_registers();
		regs.rip--; /* back over the int3 */
		if (!is_entry(regs.rip)) {
			errno = 0;
			stepped_fail("the program stopped elsewhere than at a function's entry");
		}
		stepped_set_registers(&regs);
		step_through(&regs);
		/* A program that saves its flags while it is stepped saves and restores the trap
		 * flag. */
		regs.eflags &= ~TRAP_FLAG;
		stepped_set_registers(&regs);
	}
}

struct totals {
	uint64_t n, load, store, flop, kinds[FLOP_KINDS][FLOP_PRECISIONS][FLOP_WIDTHS];
};

static void add(struct totals *totals, const struct insn *insn)
{
	const struct work *work = &insn->work;
	uint64_t lanes = work->masked ? insn->units : insn->n * work->flop_lanes;
	uint64_t flop = lanes * work->flop_per_lane;

	totals->n += insn->n;
	totals->load += insn->n * work->load_bytes + insn->units * work->unit_load_bytes;
	totals->store += insn->n * work->store_bytes + insn->units * work->unit_store_bytes;
	totals->flop += flop;
	totals->kinds[work->flop_kind][work->flop_precision][work->flop_width] += flop;
}

static void print(const struct function *function)
{
	static const char *const kinds[] = {"add", "mul", "fma", "div", "sqrt", "other"};
	static const char *const precisions[] = {"half", "bfloat16", "single", "double", "x87"};
	static const char *const widths[] = {"scalar", "128", "256", "512", "tile"};
	struct totals totals = {0};

	for (size_t i = 0; i < MAX_INSNS; i++)
		if (insns[i].function == function)
			add(&totals, &insns[i]);
	printf("counted kernel='%s' flop=%" PRIu64 " load_bytes=%" PRIu64 " store_bytes=%" PRIu64
	       " instructions=%" PRIu64,
	       function->name, totals.flop, totals.load, totals.store, totals.n);
	for (int kind = 0; kind < FLOP_KINDS; kind++)
		for (int precision = 0; precision < FLOP_PRECISIONS; precision++)
			for (int width = 0; width < FLOP_WIDTHS; width++)
				if (totals.kinds[kind][precision][width])
					printf(" %s_%s_%s=%" PRIu64, kinds[kind],
					       precisions[precision], widths[width],
					       totals.kinds[kind][precision][width]);
	printf("\n");
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc - 2 > MAX_FUNCTIONS) {
		fprintf(stderr, "usage: step_count PROGRAM FUNCTION...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		functions[n_functions++].name = argv[i];
	stepped_start((char *[]){argv[1], NULL});
	find_functions(argv[1]);
	run();
	for (size_t f = 0; f < n_functions; f++)
		print(&functions[f]);
	return 0;
}
