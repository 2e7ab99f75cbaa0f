/* The slow and obvious counter: runs a program's functions instruction by instruction under ptrace
 * and counts what they do.
 *
 *	step_count PROGRAM FUNCTION…
 *
 * Prints for each function the line that a target prints as its truth (tests/targets/truth.h),
 * with the word `counted`.  It shares the table of instructions (insn/work.c) with rfprof and
 * nothing else: no translation, no counters, no blocks.  Only the main thread is watched. */
#include "insn/work.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_INSNS = 4096, MAX_FUNCTIONS = 32, MAX_INSN_SIZE = 15, XSTATE_SIZE = 16384 };

struct function {
	const char *name;
	uint64_t start, end;
	long entry_word;
};

struct insn {
	uint64_t address, n, units;
	const struct function *function;
	struct work work;
};

static struct function functions[MAX_FUNCTIONS];
static size_t n_functions;
static struct insn insns[MAX_INSNS];
static pid_t target;

static void fail(const char *what)
{
	fprintf(stderr, "step_count: %s: %s\n", what, strerror(errno));
	if (target > 0)
		kill(target, SIGKILL);
	exit(1);
}

/* The run-time address of the program's first byte: AT_ENTRY minus the file's entry address. */
static uint64_t load_bias(uint64_t entry)
{
	char path[64];
	Elf64_auxv_t item;

	snprintf(path, sizeof(path), "/proc/%d/auxv", target);
	FILE *file = fopen(path, "r");

	if (!file)
		fail(path);
	while (fread(&item, sizeof(item), 1, file) == 1)
		if (item.a_type == AT_ENTRY) {
			fclose(file);
			return item.a_un.a_val - entry;
		}
	fail("no AT_ENTRY");
	return 0;
}

static void take_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t bias)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		for (size_t f = 0; f < n_functions; f++)
			if (name && !strcmp(name, functions[f].name)) {
				functions[f].start = bias + symbol.st_value;
				functions[f].end = bias + symbol.st_value + symbol.st_size;
			}
	}
}

static void find_functions(const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_version(EV_CURRENT) && fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Ehdr file_header;

	if (!gelf_getehdr(elf, &file_header))
		fail(program);
	uint64_t bias = load_bias(file_header.e_entry);

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			take_symbols(elf, section, &header, bias);
	elf_end(elf);
	close(fd);
	for (size_t f = 0; f < n_functions; f++)
		if (!functions[f].start)
			fail(functions[f].name);
}

static long peek(uint64_t address)
{
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, target, address, NULL);

	if (errno)
		fail("reading the program's code");
	return word;
}

static void set_breakpoints(bool on)
{
	for (size_t f = 0; f < n_functions; f++) {
		long word = functions[f].entry_word;

		if (ptrace(PTRACE_POKETEXT, target, functions[f].start,
			   on ? (word & ~0xffl) | 0xcc : word))
			fail("breakpoint");
	}
}

/* The instruction at `address`, decoded when it is met first (open addressing by address). */
static struct insn *insn_at(uint64_t address)
{
	struct insn *insn = &insns[address % MAX_INSNS];

	while (insn->address && insn->address != address)
		insn = insn + 1 == insns + MAX_INSNS ? insns : insn + 1;
	if (insn->address)
		return insn;
	union {
		long words[2];
		uint8_t bytes[16];
	} code = {{peek(address), peek(address + 8)}};

	insn->address = address;
	for (size_t f = 0; f < n_functions; f++)
		if (address >= functions[f].start && address < functions[f].end)
			insn->function = &functions[f];
	if (!work_of_bytes(code.bytes, MAX_INSN_SIZE, &insn->work))
		fail("an instruction cannot be decoded");
	return insn;
}

/* Where XSAVE component `component` starts in the standard format (Intel SDM vol. 1, 13.4.3). */
static unsigned component_offset(int component)
{
	unsigned size, offset, c, d;

	__cpuid_count(0xd, component, size, offset, c, d);
	return offset;
}

enum { YMM_HIGH = 2, OPMASK = 5 };

static const uint8_t *xstate(void)
{
	static uint8_t state[XSTATE_SIZE] __attribute__((aligned(64)));
	struct iovec vector = {state, sizeof(state)};

	if (ptrace(PTRACE_GETREGSET, target, NT_X86_XSTATE, &vector))
		fail("extended registers");
	return state;
}

static uint64_t opmask_lanes(int reg, int lanes)
{
	uint64_t mask;

	memcpy(&mask, xstate() + component_offset(OPMASK) + 8 * reg, sizeof(mask));
	return __builtin_popcountll(lanes < 64 ? mask & ((UINT64_C(1) << lanes) - 1) : mask);
}

/* Set sign bits among the first `lanes` elements of a vector register (at most 32 bytes are
 * masks: AVX2 and older). */
static uint64_t vector_mask_lanes(int reg, int lanes, int element_bits)
{
	const uint8_t *state = xstate();
	uint8_t value[32];
	uint64_t total = 0;

	memcpy(value, state + 160 + 16 * reg, 16); /* XMM in the legacy region */
	memcpy(value + 16, state + component_offset(YMM_HIGH) + 16 * reg, 16);
	for (int lane = 0; lane < lanes; lane++)
		total += value[(lane + 1) * element_bits / 8 - 1] >> 7;
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

static void step(struct user_regs_struct *regs)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, target, NULL, NULL) ||
	    waitpid(target, &status, 0) != target || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, target, NULL, regs))
		fail("single step");
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
		step(regs);
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
	struct user_regs_struct regs;
	int status;

	for (;;) {
		set_breakpoints(true);
		if (ptrace(PTRACE_CONT, target, NULL, NULL) ||
		    waitpid(target, &status, 0) != target)
			fail("continue");
		if (!WIFSTOPPED(status))
			return;
		set_breakpoints(false);
		if (ptrace(PTRACE_GETREGS, target, NULL, &regs))
			fail("registers");
		regs.rip--; /* back over the int3 */
		if (!is_entry(regs.rip)) {
			errno = 0;
			fail("the program stopped elsewhere than at a function's entry");
		}
		if (ptrace(PTRACE_SETREGS, target, NULL, &regs))
			fail("registers");
		step_through(&regs);
		/* A program that saves its flags while it is stepped saves and restores the trap
		 * flag. */
		regs.eflags &= ~TRAP_FLAG;
		if (ptrace(PTRACE_SETREGS, target, NULL, &regs))
			fail("registers");
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

static void start(char *program)
{
	int status;

	target = fork();
	if (target == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl(program, program, (char *)NULL);
		_exit(127);
	}
	if (target < 0 || waitpid(target, &status, 0) != target || !WIFSTOPPED(status))
		fail(program);
	ptrace(PTRACE_SETOPTIONS, target, NULL, PTRACE_O_EXITKILL);
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc - 2 > MAX_FUNCTIONS) {
		fprintf(stderr, "usage: step_count PROGRAM FUNCTION...\n");
		return 2;
	}
	for (int i = 2; i < argc; i++)
		functions[n_functions++].name = argv[i];
	start(argv[1]);
	find_functions(argv[1]);
	for (size_t f = 0; f < n_functions; f++)
		functions[f].entry_word = peek(functions[f].start);
	run();
	for (size_t f = 0; f < n_functions; f++)
		print(&functions[f]);
	return 0;
}
