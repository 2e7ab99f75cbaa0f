#include "tests/unit/tracer/translate/lockstep.h"

#include "insn/decode.h"
#include "insn/decode_common.h"
#include "tracer/translate/plan.h"

#include <Zydis/Zydis.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CARRY 0x1u
#define PC 0x400000000000ull

enum {
	A = 1,
	C = 2,
	D = 4,
	B = 8,
	SP = 16,
	BP = 32,
	SI = 64,
	DI = 128,
	R8 = 256,
	R9 = 512,
	R11 = 2048,
	R12 = 4096,
	R15 = 32768
};

static const char *const libraries[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",        "/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libmvec.so.1",     "/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/lib/x86_64-linux-gnu/libopenblas.so.0", "/usr/bin/python3",
};

static struct lockstep lockstep;

/* ---- single instructions, by hand ---- */

#define FLAGS_READ 1
#define FLAGS_KILLED 2

static const struct {
	const char *text;
	uint8_t bytes[16];
	uint8_t length, flow, prefix_end, flags;
	int64_t target; /* relative to PC; 0: none */
	uint16_t pop_bytes;
	unsigned registers; /* at least these are used */
} cases[] = {
	{"xabort, outside of a transaction", {0xc6, 0xf8, 5}, 3, FLOW_NEXT, 0, 0, 0, 0, 0},
	{"xend, outside of a transaction", {0x0f, 0x01, 0xd5}, 3, FLOW_NEXT, 0, 0, 0, 0, 0},
	{"jmp short", {0xeb, 0x10}, 2, FLOW_JUMP, 0, 0, 0x12, 0, 0},
	{"jmp near backward", {0xe9, 0xf0, 0xff, 0xff, 0xff}, 5, FLOW_JUMP, 0, 0, -11, 0, 0},
	{"bnd jmp", {0xf2, 0xe9, 1, 0, 0, 0}, 6, FLOW_JUMP, 1, 0, 7, 0, 0},
	{"jz short", {0x74, 0x7f}, 2, FLOW_BRANCH, 0, FLAGS_READ, 0x81, 0, 0},
	{"ja near, hinted",
	 {0x3e, 0x0f, 0x87, 0, 1, 0, 0},
	 7,
	 FLOW_BRANCH,
	 1,
	 FLAGS_READ,
	 0x107,
	 0,
	 0},
	{"loop", {0xe2, 0xfe}, 2, FLOW_LOOP, 0, 0, 0, 0, C},
	{"loopne", {0xe0, 4}, 2, FLOW_LOOP, 0, FLAGS_READ, 6, 0, C},
	{"jrcxz", {0xe3, 4}, 2, FLOW_LOOP, 0, 0, 6, 0, C},
	{"jecxz", {0x67, 0xe3, 4}, 3, FLOW_LOOP, 1, 0, 7, 0, C},
	{"call", {0xe8, 0, 0, 0, 0x10}, 5, FLOW_CALL, 0, 0, 0x10000005, 0, SP},
	{"data16 data16 rex.W call",
	 {0x66, 0x66, 0x48, 0xe8, 1, 0, 0, 0},
	 8,
	 FLOW_CALL,
	 2,
	 0,
	 9,
	 0,
	 SP},
	{"call *%r11", {0x41, 0xff, 0xd3}, 3, FLOW_CALL_INDIRECT, 0, 0, 0, 0, R11 | SP},
	{"call *8(%rsp)", {0xff, 0x54, 0x24, 8}, 4, FLOW_CALL_INDIRECT, 0, 0, 0, 0, SP},
	{"call *0x20(%rip)", {0xff, 0x15, 0x20, 0, 0, 0}, 6, FLOW_CALL_INDIRECT, 0, 0, 0x26, 0, SP},
	{"notrack jmp *%rax", {0x3e, 0xff, 0xe0}, 3, FLOW_JUMP_INDIRECT, 1, 0, 0, 0, A},
	{"jmp *%fs:0x10",
	 {0x64, 0xff, 0x24, 0x25, 0x10, 0, 0, 0},
	 8,
	 FLOW_JUMP_INDIRECT,
	 1,
	 0,
	 0,
	 0,
	 0},
	{"ret", {0xc3}, 1, FLOW_RETURN, 0, 0, 0, 0, SP},
	{"rep ret", {0xf3, 0xc3}, 2, FLOW_RETURN, 1, 0, 0, 0, SP},
	{"ret $0xfff8", {0xc2, 0xf8, 0xff}, 3, FLOW_RETURN, 0, 0, 0, 0xfff8, SP},
	{"syscall", {0x0f, 0x05}, 2, FLOW_SYSCALL, 0, FLAGS_READ, 0, 0, C | R11},
	{"xbegin", {0xc7, 0xf8, 2, 0, 0, 0}, 6, FLOW_XBEGIN, 0, 0, 8, 0, 0},
	{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, 4, FLOW_NEXT, 1, 0, 0, 0, 0},
	{"add %r9, %r12", {0x4d, 0x01, 0xcc}, 3, FLOW_NEXT, 0, FLAGS_KILLED, 0, 0, R9 | R12},
	{"adc %rax, %rcx", {0x48, 0x11, 0xc1}, 3, FLOW_NEXT, 0, FLAGS_READ, 0, 0, A | C},
	{"inc %edx", {0xff, 0xc2}, 2, FLOW_NEXT, 0, FLAGS_KILLED, 0, 0, D},
	{"lea 8(,%r15,4), %edi",
	 {0x42, 0x8d, 0x3c, 0xbd, 8, 0, 0, 0},
	 8,
	 FLOW_NEXT,
	 0,
	 0,
	 0,
	 0,
	 R15 | DI},
	{"shl %cl, %ebx", {0xd3, 0xe3}, 2, FLOW_NEXT, 0, 0, 0, 0, B | C},
	{"mov %ah, 0x10(%rip)", {0x88, 0x25, 0x10, 0, 0, 0}, 6, FLOW_NEXT, 0, 0, 0x16, 0, A},
	{"cmpb $7, 0x10(%rip)",
	 {0x80, 0x3d, 0x10, 0, 0, 0, 7},
	 7,
	 FLOW_NEXT,
	 0,
	 FLAGS_KILLED,
	 0x17,
	 0,
	 0},
	{"mul %r8", {0x49, 0xf7, 0xe0}, 3, FLOW_NEXT, 0, 0, 0, 0, A | D | R8},
	{"cmpxchg16b (%rsi)",
	 {0x48, 0x0f, 0xc7, 0x0e},
	 4,
	 FLOW_NEXT,
	 0,
	 0,
	 0,
	 0,
	 A | B | C | D | SI},
	{"push %rbp", {0x55}, 1, FLOW_NEXT, 0, 0, 0, 0, BP | SP},
	{"pushfq", {0x9c}, 1, FLOW_NEXT, 0, FLAGS_READ, 0, 0, SP},
	{"lahf", {0x9f}, 1, FLOW_NEXT, 0, FLAGS_READ, 0, 0, A},
	{"setc %bl", {0x0f, 0x92, 0xc3}, 3, FLOW_NEXT, 0, FLAGS_READ, 0, 0, B},
	{"cmovs %ecx, %esi", {0x0f, 0x48, 0xf1}, 3, FLOW_NEXT, 0, FLAGS_READ, 0, 0, C | SI},
	{"rep movsq", {0xf3, 0x48, 0xa5}, 3, FLOW_NEXT, 1, 0, 0, 0, C | SI | DI},
	{"repne scasb", {0xf2, 0xae}, 2, FLOW_NEXT, 1, FLAGS_READ, 0, 0, A | C | DI},
	{"cpuid", {0x0f, 0xa2}, 2, FLOW_NEXT, 0, 0, 0, 0, A | B | C | D},
	{"xgetbv", {0x0f, 0x01, 0xd0}, 3, FLOW_NEXT, 0, 0, 0, 0, A | C | D},
	{"rdtsc", {0x0f, 0x31}, 2, FLOW_NEXT, 0, 0, 0, 0, A | D},
	{"xsave (%rdi)", {0x0f, 0xae, 0x27}, 3, FLOW_NEXT, 0, 0, 0, 0, A | D | DI},
	{"maskmovdqu %xmm1, %xmm0", {0x66, 0x0f, 0xf7, 0xc1}, 4, FLOW_NEXT, 1, 0, 0, 0, DI},
	{"ucomisd %xmm1, %xmm0", {0x66, 0x0f, 0x2e, 0xc1}, 4, FLOW_NEXT, 1, FLAGS_KILLED, 0, 0, 0},
	{"vaddpd 0x40(%rip), %zmm1, %zmm9",
	 {0x62, 0x71, 0xf5, 0x48, 0x58, 0x0d, 0x40, 0, 0, 0},
	 10,
	 FLOW_NEXT,
	 0,
	 0,
	 0x4a,
	 0,
	 0},
	{"mov %gs:8, %rax",
	 {0x65, 0x48, 0x8b, 0x04, 0x25, 8, 0, 0, 0},
	 9,
	 FLOW_NATIVE,
	 1,
	 0,
	 0,
	 0,
	 A},
	{"lcall *(%rax)", {0xff, 0x18}, 2, FLOW_NATIVE, 0, 0, 0, 0, A},
	{"iretq", {0x48, 0xcf}, 2, FLOW_NATIVE, 0, FLAGS_READ, 0, 0, 0},
};

Test(decode, single_instructions)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct decoded insn;
		const char *text = cases[i].text;
		decode_instruction(cases[i].bytes, cases[i].length, PC, &insn);
		cr_expect_eq(insn.length, cases[i].length, "%s", text);
		cr_expect_eq(insn.flow, cases[i].flow, "%s", text);
		cr_expect_eq(insn.prefix_end, cases[i].prefix_end, "%s", text);
		cr_expect_eq(insn.pop_bytes, cases[i].pop_bytes, "%s", text);
		cr_expect_eq(insn.pc, PC, "%s", text);
		cr_expect_eq((insn.why_native != NULL), (insn.flow == FLOW_NATIVE), "%s", text);
		if (cases[i].target)
			cr_expect_eq(insn.target, PC + (uint64_t)cases[i].target, "%s", text);
		if (insn.flow != FLOW_NATIVE)
			cr_expect_eq(insn.reads_flags | insn.kills_flags << 1, cases[i].flags, "%s",
				     text);
		cr_expect_eq(decode_used_registers(&insn) & cases[i].registers, cases[i].registers,
			     "%s", text);
	}
}

Test(decode, cut_short)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		for (size_t size = 0; size < cases[i].length; size++) {
			struct decoded insn;
			decode_instruction(cases[i].bytes, size, PC, &insn);
			cr_expect(insn.flow == FLOW_NATIVE || insn.length <= size, "%s",
				  cases[i].text);
		}
}

/* ---- the short cut against Zydis ---- */

static void compare_decoders(const uint8_t *bytes, size_t size, uint64_t *n_common)
{
	struct decoded common, any;
	if (!decode_common(bytes, size, PC, &common))
		return;
	++*n_common;
	decode_any(bytes, size, PC, &any);
	char text[64] = "";
	for (size_t i = 0; i < size && i < 15; i++)
		snprintf(text + 3 * i, 4, " %02x", bytes[i]);
	const unsigned used = decode_used_registers(&any);
	cr_assert_eq(common.flow, any.flow, "%s: flow %d, not %d", text, common.flow, any.flow);
	cr_assert_eq(common.length, any.length, "%s: length %d, not %d", text, common.length,
		     any.length);
	cr_assert_eq(memcmp(common.bytes, any.bytes, sizeof(any.bytes)), 0, "%s: bytes", text);
	cr_assert_eq(common.target, any.target, "%s: target", text);
	cr_assert_eq(common.rip_relative, any.rip_relative, "%s: rip-relative", text);
	cr_assert_eq(common.disp_offset, any.disp_offset, "%s: displacement", text);
	cr_assert_eq(common.reads_flags, any.reads_flags, "%s: reads flags", text);
	cr_assert_eq(common.kills_flags, any.kills_flags, "%s: kills flags", text);
	cr_assert_eq(common.keeps_carry, any.keeps_carry, "%s: keeps carry", text);
	cr_assert_eq(common.prefix_end, any.prefix_end, "%s: prefixes", text);
	cr_assert_eq(common.modrm_offset, any.modrm_offset, "%s: ModRM", text);
	cr_assert_eq(any.units.units, UNITS_NONE, "%s: units", text);
	cr_assert_eq(used & ~decode_used_registers(&common), 0, "%s: registers %#x, not %#x", text,
		     decode_used_registers(&common), used);
}

/* What goes somewhere that it says itself says it by a distance of 32 bits. */
static void check_target(const uint8_t *bytes, size_t size)
{
	struct decoded insn;
	decode_any(bytes, size, PC, &insn);
	const bool is_direct = insn.flow == FLOW_JUMP || insn.flow == FLOW_BRANCH ||
			       insn.flow == FLOW_LOOP || insn.flow == FLOW_CALL ||
			       insn.flow == FLOW_XBEGIN;
	const int64_t distance = (int64_t)(insn.target - PC - insn.length);
	cr_assert(!is_direct || distance == (int32_t)distance, "%02x %02x %02x goes nowhere",
		  bytes[0], bytes[1], bytes[2]);
}

/* All opcodes with all ModRM bytes, SIB bytes and prefixes of their turn. */
Test(decode, short_cut_is_right)
{
	static const uint8_t prefixes[][3] = {
		{0},          {0x66},       {0x48},       {0x41},      {0x4f},
		{0x66, 0x48}, {0x64, 0x45}, {0x64},       {0x40},      {0x42},
		{0x66, 0x44}, {0x66, 0x64}, {0xf2},       {0xf3},      {0xf2, 0x48},
		{0xf3, 0x45}, {0x66, 0xf2}, {0xf2, 0xf3}, {0x64, 0xf3}};
	uint64_t n_common = 0;
	for (size_t p = 0; p < COUNT(prefixes); p++)
		for (unsigned opcode = 0; opcode < 512; opcode++)
			for (unsigned modrm = 0; modrm < 256; modrm++) {
				uint8_t bytes[24] = {0};
				size_t n = strnlen((const char *)prefixes[p], 3);
				memcpy(bytes, prefixes[p], n);
				if (opcode >= 256)
					bytes[n++] = 0x0f;
				bytes[n++] = (uint8_t)opcode;
				bytes[n++] = (uint8_t)modrm;
				for (size_t i = n; i < sizeof(bytes); i++)
					bytes[i] = (uint8_t)(opcode * 7 + modrm * 13 + i * 29);
				check_target(bytes, sizeof(bytes));
				for (size_t size = 1; size <= 15; size += size < 6 ? 1 : 9)
					compare_decoders(bytes, size, &n_common);
			}
	cr_expect_gt(n_common, 500000);
}

/* ---- real programs ---- */

/* Calls `visit` for instructions of each library; returns how many it was called for. */
static size_t visit_libraries(size_t n_each, void (*visit)(uint64_t pc))
{
	size_t n = 0;
	for (size_t i = 0; i < COUNT(libraries); i++) {
		if (lockstep_open_file(&lockstep, libraries[i], LAYOUT_NEAR, i + 1))
			for (size_t j = 0; j < n_each; j++, n++)
				visit(lockstep_random_pc(&lockstep));
		lockstep_close(&lockstep);
	}
	cr_assert_gt(n, 0, "no library to take code from");
	return n;
}

static unsigned named_registers(const char *text)
{
	static const struct {
		const char *name;
		unsigned bit;
	} names[] = {
		{"rax", A},  {"eax", A},  {"ax", A},   {"al", A},   {"ah", A},   {"rcx", C},
		{"ecx", C},  {"cx", C},   {"cl", C},   {"ch", C},   {"rdx", D},  {"edx", D},
		{"dx", D},   {"dl", D},   {"dh", D},   {"rbx", B},  {"ebx", B},  {"bx", B},
		{"bl", B},   {"bh", B},   {"rsp", SP}, {"esp", SP}, {"sp", SP},  {"spl", SP},
		{"rbp", BP}, {"ebp", BP}, {"bp", BP},  {"bpl", BP}, {"rsi", SI}, {"esi", SI},
		{"si", SI},  {"sil", SI}, {"rdi", DI}, {"edi", DI}, {"di", DI},  {"dil", DI},
	};
	unsigned found = 0, number;
	for (; (text = strchr(text, '%')); text++) {
		if (sscanf(text, "%%r%u", &number) == 1 && number < 16)
			found |= 1u << number;
		const size_t length = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
		for (size_t i = 0; i < COUNT(names); i++)
			if (strlen(names[i].name) == length &&
			    !strncmp(text + 1, names[i].name, length))
				found |= names[i].bit;
	}
	return found;
}

/* Against Zydis' full disassembly: the registers in its text, its operands' addresses. */
static void compare_with_zydis(uint64_t pc)
{
	struct decoded insn;
	ZydisDisassembledInstruction truth;
	const size_t size = lockstep_code_at(&lockstep, pc);
	decode_instruction((void *)pc, size, pc, &insn);
	if (!ZYAN_SUCCESS(ZydisDisassembleATT(ZYDIS_MACHINE_MODE_LONG_64, pc, (void *)pc, size,
					      &truth))) {
		cr_expect_eq(insn.flow, FLOW_NATIVE);
		return;
	}
	cr_expect_eq(insn.length, truth.info.length, "%s", truth.text);
	cr_expect_eq(memcmp(insn.bytes, (void *)pc, insn.length), 0);
	const unsigned named = named_registers(truth.text);
	cr_expect_eq(decode_used_registers(&insn) & named, named, "%s", truth.text);
	bool relative = false;
	for (int i = 0; i < truth.info.operand_count; i++) {
		uint64_t address = 0;
		if (truth.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    truth.operands[i].mem.base != ZYDIS_REGISTER_RIP)
			continue;
		relative = true;
		ZydisCalcAbsoluteAddress(&truth.info, &truth.operands[i], pc, &address);
		cr_expect_eq(insn.target, address, "%s", truth.text);
		int32_t field;
		memcpy(&field, insn.bytes + insn.disp_offset, sizeof(field));
		cr_expect_eq(pc + insn.length + (uint64_t)(int64_t)field, address, "%s",
			     truth.text);
	}
	cr_expect_eq(insn.rip_relative, relative, "%s", truth.text);
	const bool goes_on = truth.info.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE;
	cr_expect((insn.flow == FLOW_NEXT) <= goes_on, "%s", truth.text);
}

Test(decode, agrees_with_the_disassembler)
{
	visit_libraries(5000, compare_with_zydis);
}

static size_t n_dead, n_planned;

static unsigned flags_of(uint8_t dead)
{
	return (dead & DEAD_ARITHMETIC ? STATUS_FLAGS & ~CARRY : 0) |
	       (dead & DEAD_CARRY ? CARRY : 0);
}

/* What the plan takes for dead, the obvious walk must not find read. */
static void check_dead_flags(uint64_t pc)
{
	struct plan plan;
	const char *why;
	lockstep.translator.batch_insns = 60;
	cr_assert_null(plan_build(&plan, &lockstep.translator, pc, &why));
	for (size_t i = 0; i < plan.n_items; i++) {
		const struct planned *item = &plan.items[i];
		n_planned++;
		n_dead += item->dead & DEAD_ARITHMETIC;
		if (item->dead)
			cr_expect_eq(flags_live_at(&lockstep, item->insn.pc) & flags_of(item->dead),
				     0, "flags are read behind %#lx of the image",
				     item->insn.pc - lockstep.image.start);
	}
	const uint8_t dead = plan_dead_at(&lockstep.translator, pc);
	if (dead)
		cr_expect_eq(flags_live_at(&lockstep, pc) & flags_of(dead), 0,
			     "flags are read behind %#lx of the image", pc - lockstep.image.start);
	plan_deinit(&plan);
}

Test(decode, flags_taken_for_dead_are_dead)
{
	visit_libraries(300, check_dead_flags);
	cr_expect_gt(n_planned, 10000);
	cr_expect_gt(n_dead, n_planned / 5, "%zu of %zu: hardly any block finds a place", n_dead,
		     n_planned);
}

/* A second copy of an instruction completes a loop: its run ends in a branch to its last leader. */
static bool completes_loop(const struct plan *plan, size_t i)
{
	size_t leader = i, end = i;
	while (!plan->items[leader].leader)
		leader--;
	while (!plan->items[end].last_of_run)
		end++;
	return leader < i && plan->items[end].insn.flow == FLOW_BRANCH &&
	       plan->items[end].insn.target == plan->items[leader].insn.pc;
}

/* The instructions of a plan are those in memory, each once but in loops, in runs without gaps. */
static void check_plan(uint64_t pc)
{
	struct plan plan;
	const char *why;
	lockstep.translator.batch_insns = 1 + lockstep_random(&lockstep) % 100;
	cr_assert_null(plan_build(&plan, &lockstep.translator, pc, &why));
	cr_expect(plan.n_items || why);
	cr_expect(!plan.n_items || (plan.items[0].insn.pc == pc && plan.items[0].leader));
	for (size_t i = 0; i < plan.n_items; i++) {
		const struct planned *item = &plan.items[i];
		const uint32_t *index = u64_map_find(&plan.index_of_pc, item->insn.pc);
		cr_expect(index && (*index == i || (*index < i && completes_loop(&plan, i))));
		cr_expect_eq(memcmp(item->insn.bytes, (void *)item->insn.pc, item->insn.length), 0);
		cr_expect_neq(item->insn.flow, FLOW_NATIVE);
		if (i + 1 == plan.n_items)
			cr_expect(item->last_of_run);
		else if (!item->last_of_run)
			cr_expect_eq(item[1].insn.pc, item->insn.pc + item->insn.length);
		if (i && (item[-1].last_of_run || item[-1].insn.flow != FLOW_NEXT))
			cr_expect(item->leader);
	}
	plan_deinit(&plan);
}

Test(decode, plans_hold_each_instruction_once_but_in_loops)
{
	visit_libraries(200, check_plan);
}
