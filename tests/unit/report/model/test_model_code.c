/* What code shows of why it takes its time, of code whose answer is known. */
#include "insn/dataflow.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 100

/* Assembled with gas 2.40; the comments are its disassembly.  Each is a loop of 100 turns. */
static const struct {
	const char *what, *code;
	uint32_t size;
	uint32_t cycles; /* of a chain, a turn; 0: none */
	enum step_kind kind;
	uint32_t fusible; /* flop a turn */
	bool memory, chased;
} loops[] = {
	{"movsd xmm0,[rsi+rax]; mulsd xmm0,[rdx+rax]; addsd xmm1,xmm0; add rax,8; cmp rax,rcx; jb",
	 "\xf2\x0f\x10\x04\x06\xf2\x0f\x59\x04\x02\xf2\x0f\x58\xc8\x48\x83\xc0\x08\x48\x39\xc8\x72"
	 "\xe9",
	 23, 3, STEP_ADD, 2, false, false},
	{"mulsd xmm0,xmm2; addsd xmm1,xmm2; movapd xmm3,xmm0; addsd xmm4,xmm2; dec rcx; jnz",
	 "\xf2\x0f\x59\xc2\xf2\x0f\x58\xca\x66\x0f\x28\xd8\xf2\x0f\x58\xe2\x48\xff\xc9\x75\xeb", 21,
	 3, STEP_MULTIPLY, 0, false, false},
	{"movapd xmm3,xmm2; mulsd xmm3,xmm5; movapd xmm0,xmm3; addsd xmm0,xmm5; dec rcx; jnz",
	 "\x66\x0f\x28\xda\xf2\x0f\x59\xdd\x66\x0f\x28\xc3\xf2\x0f\x58\xc5\x48\xff\xc9\x75\xeb", 21,
	 0, STEP_INTEGER, 2, false, false},
	{"mov rax,[rax]; dec rcx; jnz", "\x48\x8b\x00\x48\xff\xc9\x75\xf8", 8, 4, STEP_LOAD, 0,
	 false, true},
	{"movsd xmm0,[rsp+8]; addsd xmm0,[rdi]; add rdi,8; movsd [rsp+8],xmm0; dec rcx; jnz",
	 "\xf2\x0f\x10\x44\x24\x08\xf2\x0f\x58\x07\x48\x83\xc7\x08\xf2\x0f\x11\x44\x24\x08\x48\xff"
	 "\xc9"
	 "\x75\xe7",
	 25, 7, STEP_LOAD, 0, true, false},
	{"fld [rdi]; add rdi,8; faddp; dec rcx; jnz",
	 "\xdd\x07\x48\x83\xc7\x08\xde\xc1\x48\xff\xc9\x75\xf3", 13, 3, STEP_ADD, 0, false, false},
	{"xorps xmm0,xmm0; addsd xmm0,[rdi]; movsd [rdi],xmm0; add rdi,8; dec rcx; jnz",
	 "\x0f\x57\xc0\xf2\x0f\x58\x07\xf2\x0f\x11\x07\x48\x83\xc7\x08\x48\xff\xc9\x75\xec", 20, 0,
	 STEP_INTEGER, 0, false, false},
	{"vfmadd231pd ymm0,ymm1,[rdi]; add rdi,32; dec rcx; jnz",
	 "\xc4\xe2\xf5\xb8\x07\x48\x83\xc7\x20\x48\xff\xc9\x75\xf2", 14, 4, STEP_FMA, 0, false,
	 false},
	{"xor rax,[rdi]; imul rax,rdx; add rdi,8; dec rcx; jnz",
	 "\x48\x33\x07\x48\x0f\xaf\xc2\x48\x83\xc7\x08\x48\xff\xc9\x75\xf0", 16, 4, STEP_INTEGER, 0,
	 false, false},
	{"add rax,rbx; imul rax,rdx; dec rcx; jnz",
	 "\x48\x01\xd8\x48\x0f\xaf\xc2\x48\xff\xc9\x75\xf4", 12, 4, STEP_INTEGER, 0, false, false},
};

static void add_sample(struct profile *p, uint64_t offset)
{
	struct profile_sample sample = {profile_thread(p, RUN_TIMED, 2, 2, ""), 1000, 1000,
					profile_frame(p, PROFILE_NONE, 0, offset)};
	cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
}

/* One function of `size` bytes of code at 0x100, with a sample at its first instruction. */
static struct profile *function_of(uint32_t size)
{
	struct profile *p = profile_create();
	sample_function(p, profile_module(p, "/x", ""), 0x100, 0x100 + size, "f", "", 0);
	add_sample(p, 0x100);
	return p;
}

static void add_block(struct profile *p, const char *code, uint32_t from, uint32_t to, int64_t n)
{
	sample_block(p, 0, 0x100 + from, code + from, to - from,
		     profile_thread(p, RUN_COUNTED, 1, 1, ""), n);
}

/* What the model says of the function's code; takes the profile. */
static struct profile_sum_code code_of(struct profile *p, bool *waits)
{
	struct model model = build(p);
	const struct model_function *f = find(&model, "f");
	const struct profile_sum_code code = f->code;
	if (waits)
		*waits = f->waits && f->place.bound == BOUND_WAITING && isnan(f->place.headroom_s);
	model_deinit(&model);
	profile_destroy(p);
	return code;
}

Test(model_code, chains_and_products_are_found)
{
	for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++) {
		struct profile *p = function_of(loops[i].size);
		add_block(p, loops[i].code, 0, loops[i].size, TURNS);
		const struct profile_sum_code code = code_of(p, NULL);
		cr_expect_eq(code.chain_cycles, TURNS * loops[i].cycles, "%s: %llu cycles",
			     loops[i].what, (unsigned long long)code.chain_cycles);
		cr_expect_eq(code.chain_kind, loops[i].kind, "%s: %u", loops[i].what,
			     code.chain_kind);
		cr_expect_eq(code.chain_in_memory, loops[i].memory, "%s", loops[i].what);
		cr_expect_eq(code.chased_loads, loops[i].chased ? TURNS : 0, "%s: %llu loads",
			     loops[i].what, (unsigned long long)code.chased_loads);
		cr_expect_eq(code.fusible_flop, TURNS * loops[i].fusible, "%s: %llu flop",
			     loops[i].what, (unsigned long long)code.fusible_flop);
		cr_expect_geq(code.taken, TURNS - 1, "%s: %llu taken", loops[i].what,
			      (unsigned long long)code.taken);
	}
}

/* 0 xor edx,edx; 2 div rcx; 5 divsd xmm0,xmm1; 9 dec rsi; c jnz 0; e ret */
Test(model_code, divisions_of_integers_are_counted)
{
	static const char code[] = "\x31\xd2\x48\xf7\xf1\xf2\x0f\x5e\xc1\x48\xff\xce\x75\xf2\xc3";
	struct profile *p = function_of(15);
	add_block(p, code, 0, 14, TURNS);
	add_block(p, code, 14, 15, 1);
	cr_expect_eq(code_of(p, NULL).integer_divisions, TURNS);
}

/* 0 lock inc qword [rdi]; 4 xchg [rdi],rax; 7 inc qword [rdi]; a xchg rax,rbx; c dec rsi; f jnz 0;
 * 11 ret */
Test(model_code, atomic_updates_are_counted)
{
	static const char code[] =
		"\xf0\x48\xff\x07\x48\x87\x07\x48\xff\x07\x48\x93\x48\xff\xce\x75\xef\xc3";
	struct profile *p = function_of(18);
	add_block(p, code, 0, 17, TURNS);
	add_block(p, code, 17, 18, 1);
	cr_expect_eq(code_of(p, NULL).atomic_updates, 2 * TURNS);
}

/* 0 test byte [rdi],1; 3 jz 9; 5 add rax,1; 9 inc rdi; c dec rcx; f jnz 0; 11 ret */
Test(model_code, branches_that_go_either_way_are_counted)
{
	static const char code[] =
		"\xf6\x07\x01\x74\x04\x48\x83\xc0\x01\x48\xff\xc7\x48\xff\xc9\x75\xef\xc3";
	struct profile *p = function_of(18);
	add_block(p, code, 0, 5, TURNS);
	add_block(p, code, 5, 17, 70);
	add_block(p, code, 9, 17, 30);
	add_block(p, code, 17, 18, 1);
	const struct profile_sum_code found = code_of(p, NULL);
	cr_expect_eq(found.rare_ways, 30);
	cr_expect_eq(found.taken, 30 + 99 + 1);
}

/* 0 mov eax,[rdi]; 2 test eax,eax; 4 jnz a; 6 pause; 8 jmp 0; a ret */
Test(model_code, who_pauses_waits)
{
	static const char code[] = "\x8b\x07\x85\xc0\x75\x04\xf3\x90\xeb\xf6\xc3";
	bool waits;
	struct profile *p = function_of(11);
	add_block(p, code, 0, 6, TURNS);
	add_block(p, code, 6, 10, TURNS - 1);
	add_block(p, code, 10, 11, 1);
	cr_expect_eq(code_of(p, &waits).pause_ns, 1000);
	cr_expect(waits);
	p = function_of(11);
	for (int i = 0; i < 2; i++)
		add_sample(p, 0x10a);
	add_block(p, code, 0, 6, TURNS);
	add_block(p, code, 6, 10, TURNS - 1);
	add_block(p, code, 10, 11, 1);
	cr_expect_eq(code_of(p, &waits).pause_ns, 1000);
	cr_expect_not(waits, "most of its time is elsewhere");
}

/* As in libgomp's barrier when nobody has paused yet: the library is known to poll. */
Test(model_code, who_polls_in_a_library_that_is_known_for_it_waits)
{
	static const char polls[] = "\x8b\x07\x85\xc0\x74\xfa\xc3";      /* mov; test; jz 0; ret */
	static const char stores[] = "\x89\x07\x48\xff\xc9\x75\xf9\xc3"; /* mov; dec; jnz 0; ret */
	for (int i = 0; i < 2; i++) {
		bool waits;
		struct profile *p = profile_create();
		const uint32_t module = profile_module(p, "/usr/lib/libgomp.so.1.0.0", "");
		sample_function(p, module, 0x100, 0x108, "f", "", 0);
		add_sample(p, 0x100);
		add_block(p, i ? stores : polls, 0, i ? 7 : 6, TURNS);
		(void)code_of(p, &waits);
		cr_expect_eq(waits, i == 0);
	}
}

/* 0 xor eax,eax; 2 inc rax; 5 cmp rax,3; 9 jb 2; b dec rdx; e jnz 0; 10 ret */
Test(model_code, short_loops_are_summed_up)
{
	static const char code[] =
		"\x31\xc0\x48\xff\xc0\x48\x83\xf8\x03\x72\xf7\x48\xff\xca\x75\xf0\xc3";
	struct profile *p = function_of(17);
	add_sample(p, 0x102);
	add_block(p, code, 0, 11, TURNS);
	add_block(p, code, 2, 11, 2 * TURNS);
	add_block(p, code, 11, 16, TURNS);
	add_block(p, code, 16, 17, 1);
	const struct profile_sum_code found = code_of(p, NULL);
	cr_expect_eq(found.short_turns, 3 * TURNS);
	cr_expect_eq(found.short_entries, TURNS);
	cr_expect_eq(found.short_ns, 1000);
}

/* ---- what a file claims ---- */

/* 4,000 times imul rax,rdx; jmp 0: 12,000 cycles a turn.  vmulpd ymm0,ymm1,ymm2; vaddpd
 * ymm3,ymm3,ymm0: 8 flop. */
Test(model_code, what_adds_up_to_more_than_can_be_stays_at_the_most)
{
	enum { N = 4000, SIZE = 4 * N + 5 };
	static char code[SIZE + 1];
	for (int i = 0; i < N; i++)
		memcpy(code + 4 * i, "\x48\x0f\xaf\xc2", 4);
	memcpy(code + 4 * N, "\xe9\x7b\xc1\xff\xff", 5);
	struct profile *p = function_of(SIZE);
	add_block(p, code, 0, SIZE, INT64_C(1) << 40);
	struct profile_sum_code found = code_of(p, NULL);
	cr_expect_eq(found.chain_turns, UINT64_C(1) << 40);
	cr_expect_eq(found.chain_cycles, (UINT64_C(1) << 40) * 3 * N);
	p = function_of(SIZE);
	add_block(p, code, 0, SIZE, INT64_C(1) << 60);
	found = code_of(p, NULL);
	cr_expect_eq(found.chain_turns, UINT64_C(1) << 60);
	cr_expect_eq(found.chain_cycles, INT64_MAX);
	p = function_of(8);
	add_block(p, "\xc5\xf5\x59\xc2\xc5\xe5\x58\xd8", 0, 8, INT64_C(1) << 61);
	cr_expect_eq(code_of(p, NULL).fusible_flop, INT64_MAX);
}

/* jmp to the next, which is a jump to itself, and so on.  In a file such blocks may overlap, so
 * that each has as many executions. */
Test(model_code, so_do_turns_of_many_loops)
{
	enum { N = 16 };
	char code[4 * N + 1];
	struct profile *p = function_of(4 * N);
	for (uint32_t i = 0; i < N; i++)
		memcpy(code + (size_t)4 * i, "\xeb\x00\xeb\xfe", 4);
	for (uint32_t at = 0; at < 4 * N; at += 2)
		add_block(p, code, at, at + 2, INT64_C(1) << 61);
	const struct profile_sum_code found = code_of(p, NULL);
	cr_expect_eq(found.taken, INT64_MAX);
	cr_expect_eq(found.short_turns, INT64_MAX);
	cr_expect_eq(found.short_entries, INT64_MAX);
}

/* 0 jmp 2; 2 jmp 0, and eight times jz behind the next; jmp 0: no loop was entered so often. */
Test(model_code, executions_below_0_are_no_entries)
{
	struct profile *p = function_of(4);
	add_block(p, "\xeb\x00\xeb\xfc", 0, 2, -5);
	add_block(p, "\xeb\x00\xeb\xfc", 2, 4, -10);
	struct profile_sum_code found = code_of(p, NULL);
	cr_expect_eq(found.short_turns, 0);
	cr_expect_eq(found.short_entries, 0);
	char code[33];
	p = function_of(32);
	for (uint32_t at = 0; at < 32; at += 4) {
		memcpy(code + at, "\x74\x02\xeb", 3);
		code[at + 3] = (char)-(int)(at + 4);
	}
	for (uint32_t at = 0; at < 32; at += 2)
		add_block(p, code, at, at + 2, at % 4 ? -(INT64_C(1) << 60) : 1);
	found = code_of(p, NULL);
	cr_expect_eq(found.short_turns, 0);
	cr_expect_eq(found.short_entries, 0);
}

/* mov rax,[rip+0x7fffffff]; dec rcx; jnz 0, at the end of all addresses. */
Test(model_code, places_beyond_the_last_address_are_looked_at)
{
	static const char code[] = "\x48\x8b\x05\xff\xff\xff\x7f\x48\xff\xc9\x75\xf4";
	const uint64_t start = INT64_MAX - 64;
	struct profile *p = profile_create();
	sample_function(p, profile_module(p, "/x", ""), start, start + 12, "f", "", 0);
	add_sample(p, start);
	sample_block(p, 0, start, code, 12, profile_thread(p, RUN_COUNTED, 1, 1, ""), TURNS);
	cr_expect_eq(code_of(p, NULL).chain_cycles, 0);
}
