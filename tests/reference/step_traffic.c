/* The slow and obvious simulation of caches: runs a program instruction by instruction from its
 * first to its last, and tells each access, as it is made, to slow simulators (cache_reference.h).
 *
 *	step_traffic GEOMETRY … -- PROGRAM [WORD …]
 *
 * Prints for each geometry and each function of the program that moves anything one line: number of
 * the geometry, name, and the lines moved by each kind of event (cache/traffic.h).  It shares
 * with rfprof what an instruction's operands are (insn/operands.h), which the unit tests hold
 * against Zydis, and nothing else: no translation, no checks, no classes, no windows, no rings.
 * Only the main thread is watched. */
#include "insn/operands.h"
#include "tests/reference/cache_reference.h"
#include "tests/reference/stepped.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INSNS = 1 << 16, MAX_FUNCTIONS = 1 << 13, MAX_GEOMETRIES = 8, ELSEWHERE = 0 };

struct insn {
	uint64_t address;
	uint32_t function;
	struct operands operands;
};

static struct function {
	char name[64];
	uint64_t start, end;
} functions[MAX_FUNCTIONS] = {{"-", 0, 0}}; /* the first one: code of none */
static size_t n_functions = 1;
static struct insn insns[MAX_INSNS];

static struct simulated {
	struct reference *caches;
	uint64_t lines[MAX_FUNCTIONS][N_TRAFFIC];
} simulated[MAX_GEOMETRIES];
static size_t n_simulated;

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct simulated *of = context;
	of->lines[who][event]++;
}

/* ---- the program ---- */

static void take_function(const char *name, uint64_t start, uint64_t end)
{
	if (n_functions == MAX_FUNCTIONS)
		stepped_fail("too many functions");
	struct function *function = &functions[n_functions++];
	snprintf(function->name, sizeof(function->name), "%s", name);
	function->start = start;
	function->end = end;
}

static uint32_t function_at(uint64_t address)
{
	for (uint32_t f = 1; f < n_functions; f++)
		if (address >= functions[f].start && address < functions[f].end)
			return f;
	return ELSEWHERE;
}

/* The instruction at `address`, decoded when it is met first (open addressing by address). */
static const struct insn *insn_at(uint64_t address)
{
	struct insn *insn = &insns[address % MAX_INSNS];
	while (insn->address && insn->address != address)
		insn = insn + 1 == insns + MAX_INSNS ? insns : insn + 1;
	if (insn->address)
		return insn;
	const struct stepped_bytes code = stepped_code(address);
	struct decoded decoded;
	decode_any(code.bytes, LONGEST_INSN, address, &decoded);
	insn->address = address;
	insn->function = function_at(address);
	operands_of(&decoded, &insn->operands);
	return insn;
}

static uint64_t general_register(const struct user_regs_struct *regs, uint8_t number)
{
	static const size_t places[16] = {
		offsetof(struct user_regs_struct, rax), offsetof(struct user_regs_struct, rcx),
		offsetof(struct user_regs_struct, rdx), offsetof(struct user_regs_struct, rbx),
		offsetof(struct user_regs_struct, rsp), offsetof(struct user_regs_struct, rbp),
		offsetof(struct user_regs_struct, rsi), offsetof(struct user_regs_struct, rdi),
		offsetof(struct user_regs_struct, r8),  offsetof(struct user_regs_struct, r9),
		offsetof(struct user_regs_struct, r10), offsetof(struct user_regs_struct, r11),
		offsetof(struct user_regs_struct, r12), offsetof(struct user_regs_struct, r13),
		offsetof(struct user_regs_struct, r14), offsetof(struct user_regs_struct, r15),
	};
	uint64_t value = 0;
	if (number != NO_BASE)
		memcpy(&value, (const char *)regs + places[number], sizeof(value));
	return value;
}

/* ---- accesses ---- */

static void access_line(uint64_t address, unsigned bytes, uint8_t kinds, uint32_t who)
{
	for (int kind = CACHE_LOAD; kind <= CACHE_LINE_ZERO; kind++)
		for (size_t i = 0; kinds >> kind & 1 && i < n_simulated; i++)
			reference_access(simulated[i].caches, 0, address / CACHE_LINE,
					 (enum cache_access)kind, address % CACHE_LINE, bytes, who);
}

static void access_bytes(uint64_t address, uint64_t bytes, uint8_t kinds, uint32_t who)
{
	while (bytes) {
		const uint64_t to_end = CACHE_LINE - address % CACHE_LINE;
		const unsigned n = (unsigned)(bytes < to_end ? bytes : to_end);
		access_line(address, n, kinds, who);
		address += n;
		bytes -= n;
	}
}

static uint64_t lanes_on(const struct operand *operand)
{
	uint64_t mask = 0;
	if (!operand->mask_bits)
		return stepped_mask(operand->mask);
	const struct stepped_vector value = stepped_vector(operand->mask);
	for (unsigned lane = 0; lane < operand->lanes; lane++)
		mask |= (uint64_t)(value.bytes[(lane + 1) * operand->mask_bits / 8 - 1] >> 7)
			<< lane;
	return mask;
}

static int64_t index_of(const struct operand *operand, unsigned lane)
{
	const struct stepped_vector value = stepped_vector(operand->vector);
	int64_t wide = 0;
	int32_t narrow = 0;
	if (operand->index_bits == 32)
		memcpy(&narrow, value.bytes + 4 * lane, sizeof(narrow));
	else
		memcpy(&wide, value.bytes + 8 * lane, sizeof(wide));
	return narrow + wide;
}

static void access_lanes(const struct operand *operand, uint64_t address, uint32_t who)
{
	const uint64_t mask = lanes_on(operand);
	unsigned next = 0;
	for (unsigned lane = 0; lane < operand->lanes; lane++) {
		if (!(mask >> lane & 1))
			continue;
		uint64_t at = address + (uint64_t)lane * operand->bytes;
		if (operand->form == OPERAND_PACKED)
			at = address + (uint64_t)next++ * operand->bytes;
		else if (operand->form == OPERAND_GATHER)
			at = address + (uint64_t)(index_of(operand, lane) * operand->scale);
		access_bytes(at, operand->bytes, operand->access, who);
	}
}

static void access_operand(const struct operand *operand, const struct user_regs_struct *regs,
			   uint32_t who)
{
	uint64_t address = (uint64_t)operand->displacement + general_register(regs, operand->base) +
			   (operand->fs ? regs->fs_base : 0);
	if (operand->form != OPERAND_GATHER)
		address += general_register(regs, operand->index) * operand->scale;
	switch ((enum operand_form)operand->form) {
	case OPERAND_PLAIN:
		access_bytes(address, operand->bytes, operand->access, who);
		break;
	case OPERAND_STRING: /* each step is a turn */
		if (regs->rcx)
			access_bytes(address, operand->bytes, operand->access, who);
		break;
	case OPERAND_MASKED:
	case OPERAND_PACKED:
	case OPERAND_GATHER:
		access_lanes(operand, address, who);
		break;
	case OPERAND_UNTRACED:
		break;
	}
}

/* A gather may stop for the step with lanes left: it is one execution all the same. */
static bool is_gather(const struct insn *insn)
{
	for (unsigned k = 0; k < insn->operands.n; k++)
		if (insn->operands.items[k].form == OPERAND_GATHER)
			return true;
	return false;
}

static uint64_t run(void)
{
	struct user_regs_struct regs = stepped_registers();
	const struct insn *before = NULL;
	uint64_t n = 0;
	do {
		const struct insn *insn = insn_at(regs.rip);
		for (unsigned k = 0; (insn != before || !is_gather(insn)) && k < insn->operands.n;
		     k++)
			access_operand(&insn->operands.items[k], &regs, insn->function);
		before = insn;
		n++;
	} while (stepped_step(&regs));
	return n;
}

/* ---- the whole ---- */

static void print(size_t number)
{
	for (size_t f = 0; f < n_functions; f++) {
		const uint64_t *lines = simulated[number].lines[f];
		uint64_t all = 0;
		for (int event = 0; event < N_TRAFFIC; event++)
			all += lines[event];
		if (!all)
			continue;
		printf("%zu %s", number, functions[f].name);
		for (int event = 0; event < N_TRAFFIC; event++)
			printf(" %" PRIu64, lines[event]);
		printf("\n");
	}
}

static void add_geometry(const char *text)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	if (error || n_simulated == MAX_GEOMETRIES) {
		rf_error_print(error, stderr);
		exit(2);
	}
	struct simulated *new = &simulated[n_simulated++];
	new->caches = reference_create(&geometry, false, count, new);
}

int main(int argc, char **argv)
{
	int i = 1;
	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		add_geometry(argv[i]);
	if (i + 1 >= argc || !n_simulated) {
		fprintf(stderr, "usage: step_traffic GEOMETRY... -- PROGRAM [WORD...]\n");
		return 2;
	}
	stepped_start(&argv[i + 1]);
	stepped_symbols(argv[i + 1], take_function);
	errno = 0;
	fprintf(stderr, "%" PRIu64 " instructions\n", run());
	for (size_t k = 0; k < n_simulated; k++) {
		reference_finish(simulated[k].caches);
		print(k);
		reference_destroy(simulated[k].caches);
	}
	return 0;
}
