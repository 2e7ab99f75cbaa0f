/* What the assembler emits, against what Zydis reads: each function's instruction in its forms, for
 * low and high registers. */
#include "tracer/translate/assemble.h"

#include <Zydis/Zydis.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#define BASE 0x10000000ull
#define BEGIN 64

static uint8_t memory[65536];
static struct arena arena;

static void open_arena(void)
{
	memset(memory, 0xa5, sizeof(memory));
	arena = (struct arena){.base = BASE, .host = memory, .size = sizeof(memory), .used = BEGIN};
	cr_assert_null(arena_begin_piece(&arena, &(struct piece){.block = NO_BLOCK}));
}

static void close_arena(void)
{
	piece_list_deinit(&arena.pieces);
}

/* The instructions from `at` on, in Intel's syntax, with "; " between them. */
static const char *read_back(size_t at)
{
	static char text[512];
	ZydisDecoder decoder;
	ZydisFormatter formatter;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
	text[0] = 0;
	while (at < arena.used) {
		char one[128];
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, memory + at, arena.used - at,
							 &insn, operands)))
			return "no instruction";
		ZydisFormatterFormatInstruction(&formatter, &insn, operands,
						insn.operand_count_visible, one, sizeof(one),
						BASE + at, NULL);
		if (text[0])
			strcat(text, "; ");
		strcat(text, one);
		at += insn.length;
	}
	return text;
}

#define EXPECT(call, expected)                                                          \
	do {                                                                            \
		const size_t at = arena.used;                                           \
		call;                                                                   \
		cr_expect_str_eq(read_back(at), expected, "%s gives %s, not %s", #call, \
				 read_back(at), expected);                              \
	} while (0)

Test(assemble, moves_read_back, .init = open_arena, .fini = close_arena)
{
	EXPECT(emit_load(&arena, RAX, mem_at(RSP, -8)), "mov rax, [rsp-0x08]");
	EXPECT(emit_load(&arena, R9, mem_at(R12, 0)), "mov r9, [r12]");
	EXPECT(emit_load(&arena, RCX, mem_at(RBP, 0)), "mov rcx, [rbp]");
	EXPECT(emit_load(&arena, RCX, mem_at(R13, 0x1234)), "mov rcx, [r13+0x1234]");
	EXPECT(emit_load(&arena, R15, gs_at(0x150)), "mov r15, gs:[0x0000000000000150]");
	EXPECT(emit_load_signed_32(&arena, R15, gs_at(0x150)),
	       "movsxd r15, dword ptr gs:[0x0000000000000150]");
	EXPECT(emit_load_8(&arena, RAX, gs_at(0x130)),
	       "movzx eax, byte ptr gs:[0x0000000000000130]");
	EXPECT(emit_load_16(&arena, RDI, mem_at(RSP, 0)), "movzx edi, word ptr [rsp]");
	EXPECT(emit_store(&arena, R8, gs_at(0x20)), "mov gs:[0x0000000000000020], r8");
	EXPECT(emit_store_32(&arena, R11, gs_at(0x17c)), "mov gs:[0x000000000000017C], r11d");
	EXPECT(emit_store_32(&arena, RDX, gs_at(0x17c)), "mov gs:[0x000000000000017C], edx");
	EXPECT(emit_store_imm32(&arena, 0x80000001, gs_at(0x178)),
	       "mov dword ptr gs:[0x0000000000000178], 0x80000001");
	EXPECT(emit_mov_imm64(&arena, R10, 0x123456789abcdef0), "mov r10, 0x123456789ABCDEF0");
	EXPECT(emit_mov_imm32(&arena, RAX, 7), "mov eax, 0x07");
	EXPECT(emit_mov_imm32(&arena, R9, 7), "mov r9d, 0x07");
	EXPECT(emit_mov_simm32(&arena, RAX, -16), "mov rax, 0xFFFFFFFFFFFFFFF0");
	EXPECT(emit_mov_16(&arena, RAX, RCX), "movzx eax, cx");
	EXPECT(emit_read_fs_base(&arena, R11), "rdfsbase r11");
}

Test(assemble, addresses_read_back, .init = open_arena, .fini = close_arena)
{
	EXPECT(emit_lea(&arena, RSP, mem_at(RSP, 8)), "lea rsp, [rsp+0x08]");
	EXPECT(emit_lea(&arena, RSP, mem_at(RSP, 0x208)), "lea rsp, [rsp+0x208]");
	EXPECT(emit_lea(&arena, R12, mem_at(R12, 1)), "lea r12, [r12+0x01]");
	EXPECT(emit_lea(&arena, RAX, mem_indexed(RAX, RCX, 1, 1)), "lea rax, [rax+rcx*1+0x01]");
	EXPECT(emit_lea(&arena, R11, mem_indexed(R13, R12, 8, 0)), "lea r11, [r13+r12*8]");
	EXPECT(emit_lea(&arena, R11, mem_indexed(RSP, R9, 1, 0)), "lea r11, [rsp+r9*1]");
	EXPECT(emit_lea(&arena, RDI, mem_indexed(NO_REGISTER, R9, 4, -0x1000)),
	       "lea rdi, [r9*4-0x1000]");
	EXPECT(emit_lea(&arena, RAX, mem_at(RBX, -128)), "lea rax, [rbx-0x80]");
	EXPECT(emit_lea(&arena, RAX, mem_at(RBX, 128)), "lea rax, [rbx+0x80]");
}

Test(assemble, arithmetic_reads_back, .init = open_arena, .fini = close_arena)
{
	EXPECT(emit_not(&arena, RCX), "not rcx");
	EXPECT(emit_rorx(&arena, R11, 6), "rorx r11, r11, 0x06");
	EXPECT(emit_rorx(&arena, RDX, 32), "rorx rdx, rdx, 0x20");
	EXPECT(emit_shrx(&arena, R11, gs_at(0x200)), "shrx r11, gs:[0x0000000000000200], r11");
	EXPECT(emit_shrx(&arena, RSI, gs_at(0x208)), "shrx rsi, gs:[0x0000000000000208], rsi");
	EXPECT(emit_pext(&arena, RCX, gs_at(0x1e0)), "pext rcx, rcx, gs:[0x00000000000001E0]");
	EXPECT(emit_save_flags(&arena), "lahf; seto al");
	EXPECT(emit_restore_flags(&arena), "add al, 0x7F; sahf");
	EXPECT(emit_test_32(&arena, 0x80000000, gs_at(0x204)),
	       "test dword ptr gs:[0x0000000000000204], 0x80000000");
	EXPECT(emit_increment(&arena, gs_at(0x110008)), "inc gs:[0x0000000000110008]");
	EXPECT(emit_add_to(&arena, RAX, gs_at(0x110008)), "add gs:[0x0000000000110008], rax");
	EXPECT(emit_imul(&arena, RAX, RCX), "imul rax, rcx");
	EXPECT(emit_shr(&arena, RAX, 4), "shr rax, 0x04");
	EXPECT(emit_and_eax(&arena, 0xff), "and eax, 0xFF");
	EXPECT(emit_popcnt(&arena, RAX), "popcnt rax, rax");
	EXPECT(emit_test_bits(&arena, RSI, 1), "test sil, 0x01");
	EXPECT(emit_test_bits(&arena, R11, 7), "test r11b, 0x07");
	EXPECT(emit_compare_32(&arena, 0x7fff0000, mem_at(RSP, -4)),
	       "cmp dword ptr [rsp-0x04], 0x7FFF0000");
	EXPECT(emit_compare_64(&arena, 0x400000, mem_at(RSP, -8)),
	       "cmp qword ptr [rsp-0x08], 0x400000");
	EXPECT(emit_compare_32_near(&arena, BASE + 0x100000, 5),
	       "cmp dword ptr [0x0000000010100000], 0x05");
}

Test(assemble, masks_read_back, .init = open_arena, .fini = close_arena)
{
	EXPECT(emit_read_mask(&arena, RAX, 3, 16), "kmovw eax, k3");
	EXPECT(emit_read_mask(&arena, R9, 7, 32), "kmovd r9d, k7");
	EXPECT(emit_read_mask(&arena, R11, 1, 64), "kmovq r11, k1");
	EXPECT(emit_read_signs(&arena, RAX, 9, 32, 8), "vmovmskps eax, ymm9");
	EXPECT(emit_read_signs(&arena, R11, 2, 64, 2), "vmovmskpd r11d, xmm2");
	EXPECT(emit_read_signs(&arena, R8, 15, 8, 16), "vpmovmskb r8d, xmm15");
	EXPECT(emit_read_signs(&arena, RDX, 5, 8, 8), "pmovmskb edx, mm5");
	EXPECT(emit_read_signs(&arena, R10, 5, 8, 8), "pmovmskb r10d, mm5");
	EXPECT(emit_store_ymm(&arena, 12, gs_at(0x280)), "vmovdqu gs:[0x0000000000000280], ymm12");
	EXPECT(emit_store_zmm(&arena, 29, gs_at(0x280)),
	       "vmovdqu64 zmmword ptr gs:[0x0000000000000280], zmm29");
	EXPECT(emit_store_zmm(&arena, 6, gs_at(0x280)),
	       "vmovdqu64 zmmword ptr gs:[0x0000000000000280], zmm6");
	EXPECT(emit_store_tile_config(&arena, gs_at(0x100)), "sttilecfg gs:[0x0000000000000100]");
}

Test(assemble, transfers_read_back, .init = open_arena, .fini = close_arena)
{
	EXPECT(emit_jump_through(&arena, gs_at(0x60)), "jmp gs:[0x0000000000000060]");
	EXPECT(emit_jump_through(&arena, gs_indexed(RAX, 0x10000)), "jmp gs:[rax*8+0x10000]");
	EXPECT(emit_push(&arena, gs_indexed(RDI, 0x90000)), "push gs:[rdi*8+0x90000]");
	EXPECT(emit_push_imm32(&arena, 0x401000), "push 0x401000");
	EXPECT(emit_return(&arena), "ret");
	for (size_t n = 1; n < 30; n++) {
		const size_t at = arena.used;
		arena_append_nops(&arena, n);
		cr_expect_eq(arena.used, at + n);
		cr_expect_eq(strncmp(read_back(at), "nop", 3), 0, "%s", read_back(at));
	}
	const size_t at = arena.used;
	uint64_t target;
	emit_jump_far(&arena, 0x7f0012345678);
	memcpy(&target, memory + at + 6, sizeof(target));
	cr_expect_eq(target, 0x7f0012345678);
	cr_expect_eq(memcmp(memory + at, "\xff\x25\0\0\0", 6), 0, "%s", read_back(at));
}

/* Every instruction that uses a label leads to where it is bound, forward and backward. */
Test(assemble, labels_lead_to_their_place, .init = open_arena, .fini = close_arena)
{
	struct label back = {0}, forward[8] = {0};
	label_bind(&arena, &back);
	EXPECT(emit_jump(&arena, &back), "jmp 0x0000000010000040");
	EXPECT(emit_branch(&arena, CONDITION_NOT_EQUAL, &back), "jnz 0x0000000010000040");
	EXPECT(emit_jrcxz(&arena, &back), "jrcxz 0x0000000010000040");
	EXPECT(emit_loop_to(&arena, &back), "loop 0x0000000010000040");
	const size_t at = arena.used;
	emit_jump(&arena, &forward[0]);
	emit_branch(&arena, 4, &forward[0]);
	emit_call(&arena, &forward[1]);
	emit_lea_label(&arena, R11, &forward[2]);
	emit_push_label(&arena, &forward[3]);
	emit_jump_short(&arena, &forward[4]);
	emit_short_transfer(&arena, (const uint8_t[]){0xe2, 0x55}, 2, &forward[5]);
	cr_expect_eq(arena.n_open, 7);
	for (int i = 0; i < 6; i++)
		label_bind(&arena, &forward[i]);
	cr_expect_eq(arena.n_open, 0);
	cr_expect_eq(arena.used, 0x70);
	cr_expect_str_eq(read_back(at),
			 "jmp 0x0000000010000070; jz 0x0000000010000070; call 0x0000000010000070; "
			 "lea r11, [0x0000000010000070]; push [0x0000000010000070]; "
			 "jmp 0x0000000010000070; loop 0x0000000010000070",
			 "%s", read_back(at));
}

Test(assemble, a_field_that_is_handed_over_can_be_aimed, .init = open_arena, .fini = close_arena)
{
	struct label label = {0};
	emit_jump(&arena, &label);
	const uint32_t site = label_hand_over(&label);
	cr_expect_eq(arena.n_open, 1);
	arena_aim(&arena, site, (uint32_t)arena.used);
	cr_expect_eq(arena.n_open, 0);
	cr_expect_str_eq(read_back(BEGIN), "jmp 0x0000000010000045");
}

/* ---- what is assumed is asserted ---- */

Test(assemble, code_outside_of_a_piece_is_refused, .init = open_arena, .signal = SIGABRT)
{
	arena_end_piece(&arena);
	emit_not(&arena, RCX);
}

Test(assemble, code_beyond_the_arena_is_refused, .init = open_arena, .signal = SIGABRT)
{
	arena.size = BEGIN + 2;
	emit_not(&arena, RCX);
}

Test(assemble, a_short_jump_too_far_is_refused, .init = open_arena, .signal = SIGABRT)
{
	struct label label = {0};
	emit_jrcxz(&arena, &label);
	arena_append_nops(&arena, 128);
	label_bind(&arena, &label);
}

Test(assemble, a_label_is_bound_once, .init = open_arena, .signal = SIGABRT)
{
	struct label label = {0};
	label_bind(&arena, &label);
	label_bind(&arena, &label);
}
