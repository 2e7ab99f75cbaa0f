/* Forms of all code at random places of libraries: each has a name, and is found by it again. */
#include "insn/dataflow.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 3000
#define ROW 40

static const char *const libraries[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
	"/usr/bin/python3",
};

/* Assembled with gas 2.40. */
static const struct {
	const char *code;
	uint32_t size;
	const char *form; /* "": nothing to execute */
	enum access_width load, store;
	enum form_branch branch;
} known[] = {
	{"\x48\x8b\x18", 3, "", ACCESS_GENERAL, ACCESS_NONE, FORM_NO_BRANCH}, /* mov rbx,[rax] */
	{"\x48\x89\xd9", 3, "mov r64, r64", 0, 0, 0},                         /* mov rcx,rbx */
	{"\x0f\xb6\x08", 3, "", ACCESS_GENERAL, ACCESS_NONE, 0},              /* movzx ecx,[rax] */
	{"\x0f\x10\x00", 3, "", ACCESS_128, ACCESS_NONE, 0},         /* movups xmm0,[rax] */
	{"\xc4\xe2\x7d\x19\x00", 5, "", ACCESS_256, ACCESS_NONE, 0}, /* vbroadcastsd ymm0,[rax] */
	{"\x66\x0f\x16\x00", 4, "movhpd xmm, m64", ACCESS_128, ACCESS_NONE,
	 0}, /* movhpd xmm0,[rax] */
	{"\x62\xf1\xf5\x58\x58\x00", 6, "vaddpd zmm, zmm, zmm", ACCESS_512, 0,
	 0}, /* vaddpd zmm0,zmm1,[rax]{1to8} */
	{"\x62\xf1\xfd\x49\x58\xc1", 6, "vaddpd zmm{k}, zmm, zmm", 0, 0,
	 0}, /* vaddpd zmm0{k1},zmm0,zmm1 */
	{"\xc4\xe2\xf5\xb8\x07", 5, "vfmadd231pd ymm, ymm, ymm", ACCESS_256, 0,
	 0}, /* vfmadd231pd ymm0,ymm1,[rdi] */
	{"\x48\xd3\xe0", 3, "shl r64, cl", 0, 0, 0},
	{"\x48\xd1\xe0", 3, "shl r64, i8", 0, 0, 0},
	{"\x48\x8d\x4c\x98\x08", 5, "lea r64, [b+s+d]", 0, 0, 0}, /* lea rcx,[rax+rbx*4+8] */
	{"\x48\x01\x03", 3, "add r64, r64", ACCESS_GENERAL, ACCESS_GENERAL, 0}, /* add [rbx],rax */
	{"\xf0\x48\x01\x03", 4, "lock add m64, r64", ACCESS_GENERAL, ACCESS_GENERAL, 0},
	{"\x50", 1, "", ACCESS_NONE, ACCESS_GENERAL, 0}, /* push rax */
	{"\xc3", 1, "ret", ACCESS_GENERAL, ACCESS_NONE, FORM_JUMP},
	{"\x75\xfe", 2, "jz rel", 0, 0, FORM_CONDITIONAL}, /* jnz */
	{"\x31\xc0", 2, "", 0, 0, 0},                      /* xor eax,eax */
	{"\x90", 1, "", 0, 0, 0},
	{"\xf2\x48\x0f\x2a\x00", 5, "cvtsi2sd xmm, r64", ACCESS_128, 0,
	 0}, /* cvtsi2sd xmm0,[rax] */
	{"\xc4\xe2\xed\x92\x04\xc8", 6, "vgatherdpd ymm, vx, ymm", ACCESS_128, 0,
	 0}, /* vgatherdpd ymm0,[rax+xmm1*8],ymm2 */
};

Test(form, of_known_instructions)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		struct dataflow flow;
		char name[FORM_NAME] = "";
		cr_assert(dataflow_of_bytes((const uint8_t *)known[i].code, known[i].size, &flow));
		if (flow.parts.form.mnemonic)
			form_name(flow.parts.form, name);
		cr_expect_str_eq(name, known[i].form);
		cr_expect_eq(flow.parts.load, known[i].load, "%zu %s: load %d", i, name,
			     flow.parts.load);
		cr_expect_eq(flow.parts.store, known[i].store, "%zu %s", i, name);
		cr_expect_eq(flow.parts.branch, known[i].branch, "%zu %s", i, name);
	}
}

static void check_row(const uint8_t *bytes, size_t size, uint64_t *n)
{
	struct dataflow flow;
	for (int i = 0; i < ROW && dataflow_of_bytes(bytes, size, &flow); i++) {
		const struct form_parts *parts = &flow.parts;
		struct insn_form found = {0};
		char name[FORM_NAME];
		form_name(parts->form, name);
		if (parts->form.mnemonic) {
			cr_assert(form_find(name, &found), "%s is not found", name);
			cr_assert_eq(form_key(found), form_key(parts->form), "%s", name);
		}
		cr_assert(!flow.loads || parts->load, "%s loads", name);
		cr_assert(!flow.stores || parts->store, "%s stores", name);
		for (int r = 0; r < flow.n_reads; r++)
			cr_assert_leq(flow.read_as[r], FORM_HIDDEN);
		(*n)++;
		bytes += flow.work.length;
		size -= flow.work.length;
	}
}

Test(form, of_all_code_round_trips_by_its_name)
{
	uint64_t state = 5, n = 0;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
		FILE *file = fopen(libraries[i], "rb");
		if (!file)
			continue;
		fseek(file, 0, SEEK_END);
		const size_t size = (size_t)ftell(file);
		uint8_t *bytes = malloc(size);
		rewind(file);
		cr_assert_eq(fread(bytes, 1, size, file), size);
		fclose(file);
		for (int place = 0; place < PLACES; place++) {
			const size_t at = random_number(&state) % size;
			check_row(bytes + at, size - at, &n);
		}
		free(bytes);
	}
	cr_expect_gt(n, 20000);
}

Test(form, what_is_no_name_is_not_found)
{
	static const char *const names[] = {"",          "ad r64, r64",
					    "add",       "add r64,r64",
					    "add r64 ",  "add r64, r65",
					    "add r64, ", "vaddpd zmm{q}, zmm"};
	struct insn_form form;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect(i == 2 || !form_find(names[i], &form), "%s", names[i]);
}
