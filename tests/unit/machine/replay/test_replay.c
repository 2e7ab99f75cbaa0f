/* Loops whose time is known without a table: each chain of dependent additions of general registers
 * takes a cycle for each of them, which is what the clock beside it goes by.  And loops that are no
 * good: the process that runs them may end, this one must not. */
#include "machine/replay/replay.h"

#include "base/clock.h"
#include "insn/flow.h"
#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define START 0x1000
#define MOST 300
#define ATTEMPTS 6

/* The code of a turn, between labels; its last instruction leads back to the first. */
#define LOOP(name, text)                                                                 \
	__asm__(".pushsection .rodata\n.intel_syntax noprefix\n.globl " #name ", " #name \
		"_end\n" #name ":\n" text "\njnz " #name "\n" #name                      \
		"_end:\n.att_syntax\n.popsection\n");                                    \
	extern const uint8_t name[], name##_end[];

LOOP(additions, ".rept 8\nadd rax, rbx\n.endr\ndec rdi")
LOOP(additions_apart, ".rept 4\nadd rax, rbx\nadd rcx, rbx\n.endr\ndec rdi")
LOOP(chase, "mov rax, [rax]\ndec rdi")
LOOP(chased_and_added, "add rax, [rsi]\n.rept 9\nadd rax, rbx\n.endr\nadd rsi, 8\ndec rdi")
LOOP(stored, ".rept 8\nadd rax, rbx\n.endr\nmov [rsi], rax\nadd rsi, 8\ndec rdi")
LOOP(strided, ".rept 8\nadd rax, rbx\n.endr\nmov rcx, [rsi]\nadd rsi, 4096\ndec rdi")
/* rax is below rbx in the replay, but on the way through the loop it is not */
LOOP(other_way,
     ".rept 8\nadd rcx, rdx\n.endr\ncmp rax, rbx\njb 1f\n1: cmp rax, rbx\njae 1f\n1: dec rdi")
LOOP(jumps, "add rax, rbx\nadd rax, rbx\njmp 1f\nud2\nud2\n1: add rax, rbx\nadd rax, rbx\ndec rdi")
LOOP(all_registers, ".irp r, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15\n"
		    "add rax, \\r\n.endr\nmov [rsp], rax\ndec rdi")
LOOP(relative, "addsd xmm0, [rip + 0x200000]\nadd rax, rbx\ndec rdi")
LOOP(no_divisor, "xor ebx, ebx\nxor edx, edx\ndiv ebx\ndec rdi")
LOOP(far_away, "mov rax, -4096\nmov rcx, [rax]\ndec rdi")
LOOP(no_address, "mov rax, 0x1234567890abcdef\nmov rcx, [rax]\ndec rdi")
LOOP(not_aligned, "movaps xmm0, [rsi + 4]\ndec rdi")
LOOP(asks_system, "syscall\ndec rdi")
LOOP(calls, "call rax\ndec rdi")
LOOP(of_thread, "mov rax, fs:[0]\ndec rdi")
LOOP(gathers, "vgatherdpd ymm0, [rax + xmm1*8], ymm2\ndec rdi")
LOOP(old, "fadd st, st(1)\ndec rdi")
LOOP(repeats, "rep movsb\ndec rdi")
LOOP(pushes, "push rax\ndec rdi")
LOOP(sets_segment, "mov ds, eax\ndec rdi")
LOOP(stops, "hlt\ndec rdi")
LOOP(asks_clock, "rdtsc\ndec rdi")

/* Jumps are followed; conditional branches but for the last one are not taken. */
static size_t way_of(const uint8_t *start, const uint8_t *end, struct way_step *steps)
{
	size_t n = 0;
	for (const uint8_t *at = start; at < end; n++) {
		const struct branch branch =
			branch_of_bytes(at, (size_t)(end - at), START + (uint64_t)(at - start));
		struct full_insn full;
		cr_assert_lt(n, MOST);
		cr_assert(decode_full(at, (size_t)(end - at), &full));
		steps[n] = (struct way_step){at, full.insn.length, START + (uint64_t)(at - start)};
		at = branch.kind == BRANCH_JUMP ? start + (branch.target - START)
						: at + full.insn.length;
		steps[n].next = at < end ? START + (uint64_t)(at - start) : START;
	}
	return n;
}

static struct replay replayed(const uint8_t *start, const uint8_t *end, enum replay_variant variant)
{
	struct way_step steps[MOST];
	struct replay found;
	const size_t n = way_of(start, end, steps);
	assert_ok(replay_measure(steps, n, variant, &found));
	return found;
}
#define REPLAYED(name, variant) replayed(name, name##_end, variant)

/* Others may use the machine: one of some attempts has the time. */
static void expect_cycles(const char *name, const uint8_t *start, const uint8_t *end,
			  enum replay_variant variant, double least, double most)
{
	struct replay found = {0};
	for (int i = 0; i < ATTEMPTS; i++) {
		found = replayed(start, end, variant);
		if (found.why == REPLAY_DONE && found.cycles >= least && found.cycles <= most)
			return;
	}
	cr_expect(false, "%s, %d: %.2f cycles, not %.2f to %.2f: %s", name, (int)variant,
		  found.cycles, least, most, replay_why_words(found.why));
}
#define EXPECT_CYCLES(name, variant, least, most) \
	expect_cycles(#name, name, name##_end, variant, least, most)

static void expect_why(const char *name, const uint8_t *start, const uint8_t *end,
		       enum replay_why why)
{
	const struct replay found = replayed(start, end, REPLAY_WHOLE);
	cr_expect_eq(found.why, why, "%s: %s", name, replay_why_words(found.why));
	cr_expect(isnan(found.cycles), "%s", name);
}
#define EXPECT_WHY(name, why) expect_why(#name, name, name##_end, why)

Test(replay, chains_of_additions_take_a_cycle_each)
{
	EXPECT_CYCLES(additions, REPLAY_WHOLE, 7.85, 8.15);
	EXPECT_CYCLES(additions_apart, REPLAY_WHOLE, 3.95, 4.15);
	EXPECT_CYCLES(jumps, REPLAY_WHOLE, 3.95, 4.15);
	EXPECT_CYCLES(all_registers, REPLAY_WHOLE, 13.9, 14.3);
	EXPECT_CYCLES(stored, REPLAY_WHOLE, 7.85, 8.15);
}

Test(replay, branches_lead_where_the_way_goes)
{
	/* the same additions as without them: a branch that is guessed wrongly takes more than 8 */
	EXPECT_CYCLES(other_way, REPLAY_WHOLE, 7.85, 8.3);
}

Test(replay, data_are_in_l1)
{
	EXPECT_CYCLES(chase, REPLAY_WHOLE, 2.9, 6.1);
	EXPECT_CYCLES(chased_and_added, REPLAY_WHOLE, 9.85, 10.2);
	/* more pages than there is room for share their memory: where ways are predicted by the
	 * address of the program (Zen 4), each of them is looked for in L2, in 5.5 cycles more */
	EXPECT_CYCLES(strided, REPLAY_WHOLE, 7.85, 14.3);
	cr_expect(REPLAYED(strided, REPLAY_WHOLE).folded);
	cr_expect_not(REPLAYED(stored, REPLAY_WHOLE).folded);
	EXPECT_CYCLES(relative, REPLAY_WHOLE, 1.9, 6.1);
}

Test(replay, variants_tell_the_parts)
{
	/* without arithmetic nothing waits for the one before */
	EXPECT_CYCLES(chased_and_added, REPLAY_MEMORY, 0.3, 2.1);
	EXPECT_CYCLES(chased_and_added, REPLAY_ARITHMETIC, 9.85, 10.2);
	EXPECT_CYCLES(stored, REPLAY_MEMORY, 0.3, 2.1);
	EXPECT_CYCLES(stored, REPLAY_ARITHMETIC, 7.85, 8.15);
	/* a chase without its addresses is none, and with nothing but memory still one */
	EXPECT_CYCLES(chase, REPLAY_MEMORY, 2.9, 6.1);
	EXPECT_CYCLES(chase, REPLAY_ONE_LINE, 0.2, 2.1);
	cr_expect_eq(REPLAYED(additions, REPLAY_MEMORY).why, REPLAY_NO_VARIANT);
	cr_expect_eq(REPLAYED(additions, REPLAY_ARITHMETIC).why, REPLAY_NO_VARIANT);
	cr_expect_eq(REPLAYED(additions, REPLAY_ONE_LINE).why, REPLAY_NO_VARIANT);
}

Test(replay, what_could_do_harm_does_not_run)
{
	EXPECT_WHY(asks_system, REPLAY_REFUSED);
	EXPECT_WHY(calls, REPLAY_CALLS);
	EXPECT_WHY(of_thread, REPLAY_SEGMENT);
	EXPECT_WHY(gathers, REPLAY_SCATTERED);
	EXPECT_WHY(old, REPLAY_REFUSED);
	EXPECT_WHY(repeats, REPLAY_REFUSED);
	EXPECT_WHY(pushes, REPLAY_REFUSED);
	EXPECT_WHY(sets_segment, REPLAY_REFUSED);
	EXPECT_WHY(stops, REPLAY_REFUSED);
	EXPECT_WHY(asks_clock, REPLAY_REFUSED);
}

Test(replay, what_fails_is_told)
{
	EXPECT_WHY(no_divisor, REPLAY_FAULT);
	EXPECT_WHY(far_away, REPLAY_ADDRESS);
	EXPECT_WHY(no_address, REPLAY_ADDRESS);
	EXPECT_WHY(not_aligned, REPLAY_ADDRESS);
}

Test(replay, too_long_a_turn_is_told)
{
	static const uint8_t nop[] = {0x90}, back[] = {0x75, 0x00};
	static struct way_step steps[REPLAY_MOST_STEPS + 2];
	struct replay found;
	const size_t n = REPLAY_MOST_STEPS + 2;
	for (size_t i = 0; i + 1 < n; i++)
		steps[i] = (struct way_step){nop, 1, START + i, START + i + 1};
	steps[n - 1] = (struct way_step){back, 2, START + n - 1, START};
	assert_ok(replay_measure(steps, n, REPLAY_WHOLE, &found));
	cr_expect_eq(found.why, REPLAY_LONG);
	assert_ok(replay_measure(steps, 0, REPLAY_WHOLE, &found));
	cr_expect_eq(found.why, REPLAY_LONG);
}

/* Instructions by chance, of bytes by chance: most are refused, many fault, some store where they
 * like.  Whatever comes of it, it comes soon, and is one of the answers. */
Test(replay, loops_by_chance_harm_nobody, .timeout = 120)
{
	static const uint8_t back[] = {0x75, 0x00};
	uint64_t random = 4711;
	const uint64_t end = clock_now_ns() + UINT64_C(8000000000);
	size_t n_run = 0, n_done = 0;
	for (int loop = 0; loop < 4000 && clock_now_ns() < end; loop++) {
		static uint8_t bytes[12][16];
		struct way_step steps[13];
		size_t n = 0;
		uint64_t at = START;
		const size_t wanted = 1 + random_number(&random) % 12;
		while (n < wanted) {
			struct full_insn full;
			for (int i = 0; i < 16; i++)
				bytes[n][i] = (uint8_t)random_number(&random);
			if (!decode_full(bytes[n], 15, &full) || !code_may_run(&full))
				continue;
			steps[n] = (struct way_step){bytes[n], full.insn.length, at,
						     at + full.insn.length};
			at += full.insn.length;
			n++;
		}
		steps[n++] = (struct way_step){back, 2, at, START};
		struct replay found;
		const uint64_t start = clock_now_ns();
		assert_ok(
			replay_measure(steps, n, random_number(&random) % REPLAY_VARIANTS, &found));
		cr_assert_lt(clock_now_ns() - start, UINT64_C(20000000000));
		cr_assert_lt(found.why, REPLAY_WHYS);
		cr_assert_eq(found.why == REPLAY_DONE, found.cycles > 0 && found.cycles < 1e7);
		n_run++;
		n_done += found.why == REPLAY_DONE;
	}
	cr_expect_gt(n_run, 20);
	cr_expect_gt(n_done, 5);
}
