/* The work tables against cases made by hand, against a second opinion on every form of every
 * instruction and on real libraries, and against the processor (page-end probe). */
#include "insn/work.h"
#include "insn/work_table.h"

#include "tests/unit/insn/work_forms.h"
#include "tests/unit/insn/work_probe.h"
#include "tests/unit/insn/work_reference.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Cases made by hand ---- */

struct work_case {
	const char *assembly, *bytes;
	size_t size;
	struct work work;
};

#define NO_FLOP .flop_lanes = 0
#define FLOP(kind, precision, width, n_lanes, per_lane)                    \
	.flop_kind = FLOP_##kind, .flop_precision = PRECISION_##precision, \
	.flop_width = WIDTH_##width, .flop_lanes = n_lanes, .flop_per_lane = per_lane
#define INTOP(kind, width, n_lanes, per_lane)                                             \
	.intop_kind = INTOP_##kind, .intop_width = WIDTH_##width, .intop_lanes = n_lanes, \
	.intop_per_lane = per_lane
#define LOAD(n) .is_load = true, .load_bytes = n
#define STORE(n) .is_store = true, .store_bytes = n
#define UNIT_LOAD(n) .is_load = true, .unit_load_bytes = n
#define UNIT_STORE(n) .is_store = true, .unit_store_bytes = n
#define UNITS(kind, reg, n_lanes) .units = UNITS_##kind, .unit_reg = reg, .lanes = n_lanes
#define MASKED(reg, n_lanes) .masked = true, UNITS(KMASK, reg, n_lanes)
#define TILE(dst, src) .masked = true, UNITS(TILE, dst, 0), .unit_reg2 = src
#define CASE(assembly, bytes, class, ...) \
	{assembly,                        \
	 bytes,                           \
	 sizeof bytes - 1,                \
	 {.length = sizeof bytes - 1, .insn_class = INSN_##class, __VA_ARGS__}},

static const struct work_case cases[] = {
#include "tests/unit/insn/work_cases.def"
};

#define assert_field(field)                                                                       \
	cr_expect_eq(work.field, c->work.field, "%s: " #field " is %d, expected %d", c->assembly, \
		     (int)work.field, (int)c->work.field)

Test(work, cases_by_hand)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct work_case *c = &cases[i];
		struct work work;
		cr_expect(work_of_bytes((const uint8_t *)c->bytes, c->size, &work), "%s",
			  c->assembly);
		assert_field(length);
		assert_field(insn_class);
		assert_field(is_load);
		assert_field(is_store);
		assert_field(flop_kind);
		assert_field(flop_precision);
		assert_field(flop_width);
		assert_field(flop_lanes);
		assert_field(flop_per_lane);
		assert_field(intop_kind);
		assert_field(intop_width);
		assert_field(intop_lanes);
		assert_field(intop_per_lane);
		assert_field(intop_address);
		assert_field(load_bytes);
		assert_field(store_bytes);
		assert_field(unit_load_bytes);
		assert_field(unit_store_bytes);
		assert_field(masked);
		assert_field(units);
		assert_field(unit_reg);
		assert_field(unit_reg2);
		assert_field(lanes);
		assert_field(unit_element_bits);
	}
}

/* Assembled with gas 2.40. */
static const struct stream_case {
	const char *assembly, *bytes;
	size_t size;
	bool streams;
	uint32_t store, unit_store;
} stream_cases[] = {
#define STREAM(assembly, bytes, ...) {assembly, bytes, sizeof bytes - 1, __VA_ARGS__},
	STREAM("movnti [rax], ecx", "\x0F\xC3\x08", true, 4, 0) STREAM(
		"movnti [rax], rcx", "\x48\x0F\xC3\x08", true, 8,
		0) STREAM("movntq [rax], mm1", "\x0F\xE7\x08", true, 8,
			  0) STREAM("movntps [rax], xmm1", "\x0F\x2B\x08", true, 16,
				    0) STREAM("movntpd [rax], xmm1", "\x66\x0F\x2B\x08", true, 16,
					      0) STREAM("movntdq [rax], xmm1", "\x66\x0F\xE7\x08",
							true, 16,
							0) STREAM("movntss [rax], xmm1",
								  "\xF3\x0F\x2B\x08", true, 4,
								  0) STREAM("movntsd [rax], xmm1",
									    "\xF2\x0F\x2B\x08",
									    true, 8, 0)
		STREAM("vmovntps [rax], xmm1", "\xC5\xF8\x2B\x08", true, 16, 0) STREAM(
			"vmovntps [rax], ymm1",
			"\xC5\xFC\x2B\x08",
			true, 32,
			0) STREAM("vmovntps [rax], zmm1", "\x62\xF1\x7C\x48\x2B\x08", true, 64,
				  0) STREAM("vmovntpd [rax], xmm1", "\xC5\xF9\x2B\x08", true, 16, 0)
			STREAM("vmovntpd [rax], ymm1", "\xC5\xFD\x2B\x08", true, 32, 0) STREAM(
				"vmovntpd [rax], zmm1",
				"\x62\xF1\xFD\x48\x2B\x08",
				true, 64,
				0) STREAM("vmovntdq [rax], xmm1", "\xC5\xF9\xE7\x08", true, 16, 0)
				STREAM("vmovntdq [rax], ymm1", "\xC5\xFD\xE7\x08", true, 32,
				       0) STREAM("vmovntdq [rax], zmm1",
						 "\x62\xF1\x7D\x48\xE7\x08", true, 64,
						 0) STREAM("maskmovdqu xmm3, xmm5",
							   "\x66\x0F\xF7\xDD", true, 0, 1)
					STREAM("vmaskmovdqu xmm3, xmm5", "\xC5\xF9\xF7\xDD", true,
					       0,
					       1) STREAM("maskmovq mm3, mm5", "\x0F\xF7\xDD", true,
							 0,
							 1) STREAM("movdiri [rax], rcx",
								   "\x48\x0F\x38\xF9\x08", true,
								   8, 0)
						STREAM("movdir64b rax, [rcx]",
						       "\x66\x0F\x38\xF8\x01", true, 64,
						       0) STREAM("clzero", "\x0F\x01\xFC", true, 64,
								 0) STREAM("movntdqa xmm1, [rax]",
									   "\x66\x0F\x38\x2A\x08",
									   false, 0, 0)
							STREAM("vmovntdqa ymm1, [rax]",
							       "\xC4\xE2\x7D\x2A\x08", false, 0,
							       0) STREAM("vmovntdqa zmm1, [rax]",
									 "\x62\xF2\x7D\x48\x2A\x08",
									 false, 0,
									 0) STREAM("movups [rax], "
										   "xmm1",
										   "\x0F\x11\x08",
										   false, 16, 0)
								STREAM("vmovups [rax], zmm1",
								       "\x62\xF1\x7C\x48\x11\x08",
								       false, 64,
								       0) STREAM("vmaskmovps "
										 "[rax], ymm1, "
										 "ymm2",
										 "\xC4\xE2\x75\x2E"
										 "\x10",
										 false, 0, 4)
									STREAM("rep stosb",
									       "\xF3\xAA", false, 0,
									       1)
										STREAM("prefetchnta"
										       " [rax]",
										       "\x0F\x18"
										       "\x00",
										       false, 0, 0)
#undef STREAM
};

Test(work, stores_that_bypass_the_caches_are_told)
{
	for (size_t i = 0; i < sizeof stream_cases / sizeof *stream_cases; i++) {
		const struct stream_case *c = &stream_cases[i];
		struct work work;
		cr_assert(work_of_bytes((const uint8_t *)c->bytes, c->size, &work), "%s",
			  c->assembly);
		cr_expect_eq(work.non_temporal, c->streams, "%s", c->assembly);
		cr_expect_eq(work.store_bytes, c->store, "%s: stores %u", c->assembly,
			     work.store_bytes);
		cr_expect_eq(work.unit_store_bytes, c->unit_store, "%s: stores %u a unit",
			     c->assembly, work.unit_store_bytes);
	}
}

Test(work, cut_short_or_invalid_bytes_are_refused)
{
	static const uint8_t invalid[] = {0x06}; /* push es: not in 64-bit mode */
	struct work work;
	memset(&work, 0xFF, sizeof work);
	cr_expect_not(work_of_bytes(invalid, sizeof invalid, &work));
	cr_expect_eq(work.length, 0);
	cr_expect_eq(work.flop_lanes, 0);
	cr_expect_not(work_of_bytes(invalid, 0, &work));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct work_case *c = &cases[i];
		if (c->size > 1 && c->bytes[0] == '\x62')
			cr_expect_not(work_of_bytes((const uint8_t *)c->bytes, c->size - 1, &work),
				      "%s", c->assembly);
	}
}

/* ---- The second opinion ---- */

static int bits_of_width(int width)
{
	return width == WIDTH_512 ? 512 : width == WIDTH_256 ? 256 : width == WIDTH_128 ? 128 : 80;
}

static int bits_of_precision(int precision)
{
	static const int bits[] = {16, 16, 32, 64, 80};
	return bits[precision];
}

struct tally {
	size_t n, n_flop, n_integer;
};

/* By spelling: the nt of a store, the byte-masked stores, and stores that the manuals call direct.
 */
static bool reference_streams(const char *name)
{
	return (strstr(name, "movnt") && !strstr(name, "dqa")) || strstr(name, "maskmovdqu") ||
	       strcmp(name, "maskmovq") == 0 || strncmp(name, "movdir", 6) == 0 ||
	       strcmp(name, "clzero") == 0;
}

static void compare_with_reference(const ZydisDecodedInstruction *insn,
				   const ZydisDecodedOperand *operands, struct tally *tally)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	struct work work;
	work_of_decoded(insn, operands, &work);
	struct reference r = reference_flop(insn, operands);
	tally->n++;
	cr_assert_eq(work.length, insn->length, "%s", name);
	cr_assert_eq(work.non_temporal, reference_streams(name), "%s: non-temporal", name);
	if (r.kind < 0) {
		cr_assert_eq(work.flop_lanes, 0, "%s has flop", name);
	} else {
		tally->n_flop++;
		cr_assert_eq(work.flop_kind, r.kind, "%s: kind %d, not %d", name, work.flop_kind,
			     r.kind);
		cr_assert_eq(work.flop_precision, r.precision, "%s: precision", name);
		cr_assert_eq(work.flop_lanes, r.lanes, "%s: lanes %d, not %d", name,
			     work.flop_lanes, r.lanes);
		cr_assert_eq(work.flop_per_lane, r.per_lane, "%s: per lane", name);
		cr_assert_eq(work.insn_class, INSN_FP_ARITH, "%s: class", name);
	}
	int lanes = reference_integer_lanes(insn, operands);
	if (lanes) {
		tally->n_integer++;
		cr_assert_eq(work.intop_lanes, lanes, "%s: lanes %d, not %d", name,
			     work.intop_lanes, lanes);
	}
}

static void check_invariants(const ZydisDecodedInstruction *insn,
			     const ZydisDecodedOperand *operands)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);
	struct work work;
	work_of_decoded(insn, operands, &work);
	if (work.flop_lanes && work.flop_width != WIDTH_TILE)
		cr_assert_leq(work.flop_lanes * bits_of_precision(work.flop_precision),
			      bits_of_width(work.flop_width), "%s", name);
	if (work.intop_lanes && work.intop_width != WIDTH_TILE)
		cr_assert_leq(work.intop_lanes * 8, bits_of_width(work.intop_width), "%s", name);
	cr_assert(!work.flop_lanes || !work.intop_lanes, "%s", name);
	if (work.masked || work.unit_load_bytes || work.unit_store_bytes)
		cr_assert_neq(work.units, UNITS_NONE, "%s", name);
	if (work.units == UNITS_KMASK || work.units == UNITS_VMASK)
		cr_assert(work.lanes >= 1 && work.lanes <= 64, "%s: %d lanes", name, work.lanes);
	if (work.units == UNITS_KMASK)
		cr_assert(work.unit_reg >= 1 && work.unit_reg <= 7, "%s", name);
	if (work.masked && work.units == UNITS_KMASK && work.flop_lanes)
		cr_assert_eq(work.lanes, work.flop_lanes, "%s: mask and flop lanes", name);
	if (work.masked && work.units == UNITS_KMASK && work.intop_lanes)
		cr_assert_eq(work.lanes, work.intop_lanes, "%s: mask and integer lanes", name);
	if (work.load_bytes || work.unit_load_bytes)
		cr_assert(work.is_load, "%s", name);
	if (work.store_bytes || work.unit_store_bytes)
		cr_assert(work.is_store, "%s", name);
	if (work.non_temporal)
		cr_assert(work.is_store, "%s", name);
	cr_assert(work.insn_class < INSN_CLASSES, "%s", name);
}

static void visit_reference(const struct form *form, void *data)
{
	compare_with_reference(&form->insn, form->operands, data);
	check_invariants(&form->insn, form->operands);
}

Test(work, every_form_agrees_with_reference)
{
	struct tally tally = {0};
	forms_visit(visit_reference, &tally);
	cr_log_info("%zu forms, %zu with flop, %zu vector integer", tally.n, tally.n_flop,
		    tally.n_integer);
	cr_expect_gt(tally.n_flop, 50000);
	cr_expect_gt(tally.n_integer, 20000);
}

/* Decodes linearly what is executable in an ELF file; at most `limit` instructions. */
static void compare_code(const uint8_t *code, size_t size, size_t limit, struct tally *tally)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (size_t at = 0; at < size && tally->n < limit;) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, size - at, &insn,
							 operands))) {
			at++;
			continue;
		}
		compare_with_reference(&insn, operands, tally);
		check_invariants(&insn, operands);
		at += insn.length;
	}
}

static bool compare_library(const char *path, size_t limit, struct tally *tally)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	cr_assert_eq(fstat(fd, &status), 0);
	const uint8_t *file = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	cr_assert_neq(file, MAP_FAILED);
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Phdr *segments = (const void *)(file + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD && segments[i].p_flags & PF_X)
			compare_code(file + segments[i].p_offset, segments[i].p_filesz, limit,
				     tally);
	munmap((void *)file, status.st_size);
	return true;
}

Test(work, libm_agrees_with_reference)
{
	struct tally tally = {0};
	if (!compare_library("/lib/x86_64-linux-gnu/libm.so.6", SIZE_MAX, &tally))
		cr_skip("no libm.so.6 here");
	cr_log_info("%zu instructions, %zu with flop", tally.n, tally.n_flop);
	cr_expect_gt(tally.n_flop, 10000);
}

Test(work, openblas_agrees_with_reference)
{
	struct tally tally = {0};
	if (!compare_library("/lib/x86_64-linux-gnu/libopenblas.so.0", 2000000, &tally))
		cr_skip("no libopenblas here");
	cr_log_info("%zu instructions, %zu with flop", tally.n, tally.n_flop);
	cr_expect_gt(tally.n_flop, 100000);
}

/* ---- The processor's opinion ---- */

struct hardware {
	struct probe probe;
	uint64_t seen[1 << 16];
	size_t n_probes, n_forms, n_not_here;
};

/* FNV-1a over what distinguishes forms for memory access. */
static uint64_t form_key(const struct form *form)
{
	const ZydisDecodedInstruction *insn = &form->insn;
	uint64_t parts[8 + 4 * ZYDIS_MAX_OPERAND_COUNT] = {
		insn->mnemonic,
		insn->encoding,
		insn->avx.vector_length,
		insn->avx.mask.mode,
		insn->avx.broadcast.mode,
		insn->attributes &
			(ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)};
	size_t n = 8;
	for (int i = 0; i < insn->operand_count; i++) {
		const ZydisDecodedOperand *operand = &form->operands[i];
		parts[n++] = operand->type;
		parts[n++] = operand->size << 8 | operand->element_size;
		parts[n++] = operand->actions;
		parts[n++] = operand->type == ZYDIS_OPERAND_TYPE_REGISTER
				     ? ZydisRegisterGetClass(operand->reg.value)
				     : 0;
	}
	uint64_t hash = 0xCBF29CE484222325;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ parts[i]) * 0x100000001B3;
	return hash | 1;
}

static bool is_new(struct hardware *hardware, uint64_t key)
{
	size_t slot = key >> 16 & 0xFFFF;
	for (; hardware->seen[slot]; slot = (slot + 1) & 0xFFFF)
		if (hardware->seen[slot] == key)
			return false;
	hardware->seen[slot] = key;
	return true;
}

/* Not run: privileged and system instructions, transfers of control, what changes the state that
 * the test itself lives on, and cache control, which checks the address but moves no data. */
static bool is_probe_safe(const struct form *form)
{
	static const uint8_t unsafe_categories[] = {
		ZYDIS_CATEGORY_SYSTEM,    ZYDIS_CATEGORY_VTX,       ZYDIS_CATEGORY_IOSTRINGOP,
		ZYDIS_CATEGORY_IO,        ZYDIS_CATEGORY_SEGOP,     ZYDIS_CATEGORY_RET,
		ZYDIS_CATEGORY_CALL,      ZYDIS_CATEGORY_UNCOND_BR, ZYDIS_CATEGORY_COND_BR,
		ZYDIS_CATEGORY_XSAVE,     ZYDIS_CATEGORY_XSAVEOPT,  ZYDIS_CATEGORY_CET,
		ZYDIS_CATEGORY_INTERRUPT, ZYDIS_CATEGORY_SYSCALL,   ZYDIS_CATEGORY_SYSRET,
		ZYDIS_CATEGORY_SGX,       ZYDIS_CATEGORY_MPX,       ZYDIS_CATEGORY_ENQCMD,
		ZYDIS_CATEGORY_PT,        ZYDIS_CATEGORY_AMX_TILE,  ZYDIS_CATEGORY_CLFLUSHOPT,
		ZYDIS_CATEGORY_CLWB};
	static const uint16_t unsafe_mnemonics[] = {ZYDIS_MNEMONIC_POPF,    ZYDIS_MNEMONIC_POPFQ,
						    ZYDIS_MNEMONIC_ENTER,   ZYDIS_MNEMONIC_LEAVE,
						    ZYDIS_MNEMONIC_INVPCID, ZYDIS_MNEMONIC_UD0,
						    ZYDIS_MNEMONIC_UD1,     ZYDIS_MNEMONIC_CLFLUSH};
	for (size_t i = 0; i < sizeof unsafe_categories; i++)
		if (form->insn.meta.category == unsafe_categories[i])
			return false;
	for (size_t i = 0; i < sizeof unsafe_mnemonics / sizeof *unsafe_mnemonics; i++)
		if (form->insn.mnemonic == unsafe_mnemonics[i])
			return false;
	for (int i = 0; i < form->insn.operand_count_visible; i++) {
		if (form->operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		ZydisRegisterClass class = ZydisRegisterGetClass(form->operands[i].reg.value);
		if (class == ZYDIS_REGCLASS_SEGMENT || class == ZYDIS_REGCLASS_CONTROL ||
		    class == ZYDIS_REGCLASS_DEBUG)
			return false;
		/* bt [rax], rax: the address depends on the bit number. */
		if (form->insn.meta.category == ZYDIS_CATEGORY_BITBYTE &&
		    class != ZYDIS_REGCLASS_GPR8 &&
		    ZydisRegisterGetId(form->operands[i].reg.value) == 0)
			return false;
	}
	return true;
}

static bool is_memory(const ZydisDecodedOperand *operand)
{
	return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static bool is_gather(const ZydisDecodedOperand *operand)
{
	return operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
}

/* Indices 0, 8, 16, … so that the extent shows the number of lanes. */
static void set_indices(const struct form *form, struct probe_registers *registers)
{
	const char *name = ZydisMnemonicGetString(form->insn.mnemonic);
	const char *stem = strstr(name, "ther") ? strstr(name, "ther") : strstr(name, "tter");
	bool is_qword = stem && stem[4] == 'q';
	uint8_t *at = registers->index;
	for (uint64_t i = 0; i < (is_qword ? 8 : 16); i++, at += is_qword ? 8 : 4) {
		uint64_t index = i * 8;
		memcpy(at, &index, is_qword ? 8 : 4);
	}
}

static void set_registers(struct hardware *hardware, const struct form *form,
			  const ZydisDecodedOperand *operand, struct probe_registers *registers)
{
	*registers = (struct probe_registers){0};
	memset(registers->vector, 0x81, sizeof registers->vector); /* all sign bits set */
	memset(registers->index, 0x81, sizeof registers->index);
	if (is_gather(operand))
		set_indices(form, registers);
	/* no byte of its low word is zero: and (%rbx), %sp must change what it loads */
	uint64_t scratch = (uint64_t)hardware->probe.scratch + PROBE_PAGE + 0x140;
	registers->general[4] = scratch;
	registers->general[1] = 3; /* rep */
	/* repne goes on while al or the other operand differs from memory, which is zero. */
	hardware->probe.scratch_fill = !!(form->insn.attributes & ZYDIS_ATTRIB_HAS_REPNE);
	registers->general[0] = hardware->probe.scratch_fill;
	for (int i = 0; i < form->insn.operand_count; i++)
		if (is_memory(&form->operands[i]) && &form->operands[i] != operand)
			registers->general[ZydisRegisterGetId(form->operands[i].mem.base)] =
				scratch;
}

struct expected {
	int load, store;
};

/* Bytes that `operand` reaches with so many active units, by the table. */
static struct expected expected_access(const struct form *form, const ZydisDecodedOperand *operand,
				       const struct work *work, int units)
{
	int readers = 0, writers = 0;
	for (int i = 0; i < form->insn.operand_count; i++) {
		if (!is_memory(&form->operands[i]))
			continue;
		readers += !!(form->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ);
		writers += !!(form->operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
	}
	struct expected e = {0, 0};
	int stride = is_gather(operand) ? 8 : 0;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		e.load = (work->load_bytes + units * work->unit_load_bytes) / readers;
	if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		e.store = (work->store_bytes + units * work->unit_store_bytes) / writers;
	if (stride && work->unit_load_bytes)
		e.load = (units - 1) * stride + work->unit_load_bytes;
	if (stride && work->unit_store_bytes)
		e.store = (units - 1) * stride + work->unit_store_bytes;
	return e;
}

/* Stores whose bytes cannot be told by looking: gaps between elements, reserved bytes that
 * fxsave leaves alone. */
static bool has_visible_effect(const struct form *form, const ZydisDecodedOperand *operand)
{
	return !is_gather(operand) && form->insn.mnemonic != ZYDIS_MNEMONIC_FXSAVE &&
	       form->insn.mnemonic != ZYDIS_MNEMONIC_FXSAVE64;
}

/* They read memory into a register and write another value, or the same one. */
static bool stores_without_trace_of_load(const struct form *form)
{
	switch (form->insn.mnemonic) {
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		return true;
	default:
		return false;
	}
}

static void check_effect(struct hardware *hardware, const struct form *form,
			 const ZydisDecodedOperand *operand, struct probe_registers *registers,
			 struct expected e, int bias)
{
	const char *name = ZydisMnemonicGetString(form->insn.mnemonic);
	uint64_t *pointer = &registers->general[ZydisRegisterGetId(operand->mem.base)];
	if (!e.store || !has_visible_effect(form, operand))
		return;
	struct probe_effect effect =
		probe_effect(&hardware->probe, registers, pointer, bias, e.store);
	if (!e.load)
		cr_expect_eq(effect.bytes, e.store, "%s: stores %d bytes, table says %d", name,
			     effect.bytes, e.store);
	if (!stores_without_trace_of_load(form))
		cr_expect_eq(effect.depends, e.load > 0, "%s: loads before it stores: %d", name,
			     effect.depends);
}

/* A mask that is not full cannot be told from the extent where alignment is checked (E1), where
 * inactive lanes of a store are checked for access (E6NF, maskmov), and where a block of elements
 * is repeated: the processor may then skip those elements of the block that no active lane wants.
 * What is written can be told in each case (check_effect). */
static bool is_extent_beyond_mask(const struct form *form, const ZydisDecodedOperand *operand)
{
	if (form->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ ||
	    form->insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVDQU ||
	    form->insn.mnemonic == ZYDIS_MNEMONIC_VMASKMOVDQU)
		return true;
	if (form->insn.avx.broadcast.is_static)
		return operand->element_count > 1;
	return form->insn.meta.exception_class == ZYDIS_EXCEPTION_CLASS_E1 ||
	       (form->insn.meta.exception_class == ZYDIS_EXCEPTION_CLASS_E6NF &&
		operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
}

/* One operand with `units` active lanes or iterations.  False: it does not run here. */
static bool probe_units(struct hardware *hardware, const struct form *form,
			const ZydisDecodedOperand *operand, const struct work *work, int units,
			bool is_full)
{
	const char *name = ZydisMnemonicGetString(form->insn.mnemonic);
	struct probe_registers registers;
	set_registers(hardware, form, operand, &registers);
	if (work->units == UNITS_VMASK) /* sign bits of the first `units` elements alone */
		memset(registers.vector + units * work->unit_element_bits / 8, 0x01,
		       sizeof registers.vector - units * work->unit_element_bits / 8);
	registers.k1 = units && units < 64 ? (1ULL << units) - 1 : is_full ? UINT64_MAX : 1;
	int base = ZydisRegisterGetId(operand->mem.base);
	uint64_t *pointer = &registers.general[base];
	bool is_push = form->insn.meta.category == ZYDIS_CATEGORY_PUSH && base == 4;
	int bias = is_push ? operand->size / 8 : 0;
	probe_load(&hardware->probe, form->bytes, form->size);
	struct expected e = expected_access(form, operand, work, units);
	int wanted = e.load > e.store ? e.load : e.store;
	int extent = probe_extent(&hardware->probe, &registers, pointer, bias, wanted);
	if (extent < 0)
		return false;
	hardware->n_probes++;
	/* movsxd with 16-bit operands reads 2 bytes on Intel's processors and 4 on AMD's */
	const bool depends_on_maker =
		form->insn.mnemonic == ZYDIS_MNEMONIC_MOVSXD && form->insn.operand_width == 16;
	if (!depends_on_maker && (is_full || !is_extent_beyond_mask(form, operand)))
		cr_expect_eq(extent, wanted,
			     "%s L%d: reaches %d bytes with %d units, table says %d", name,
			     form->insn.avx.vector_length, extent, units, wanted);
	int stores = probe_stores(&hardware->probe, &registers, pointer);
	if (stores >= 0)
		cr_expect_eq(stores, e.store > 0, "%s: stores: %d", name, stores);
	check_effect(hardware, form, operand, &registers, e, bias);
	return true;
}

static void probe_operand(struct hardware *hardware, const struct form *form,
			  const ZydisDecodedOperand *operand)
{
	struct work work;
	work_of_decoded(&form->insn, form->operands, &work);
	int units = work.units == UNITS_REP ? 3 : work.units ? work.lanes : 0;
	bool has_mask =
		form->insn.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED || work.units == UNITS_VMASK;
	bool is_counted = work.units == UNITS_KMASK || work.units == UNITS_VMASK;
	if (!probe_units(hardware, form, operand, &work, units, true)) {
		hardware->n_not_here++;
		return;
	}
	hardware->n_forms++;
	if (has_mask)
		probe_units(hardware, form, operand, &work, is_counted ? (units + 1) / 2 : 0,
			    units == 1);
}

static void visit_hardware(const struct form *form, void *data)
{
	struct hardware *hardware = data;
	if (!is_probe_safe(form))
		return;
	ZydisRegister bases[2] = {ZYDIS_REGISTER_NONE, ZYDIS_REGISTER_NONE};
	int n = 0;
	for (int i = 0; i < form->insn.operand_count && n < 2; i++)
		if (is_memory(&form->operands[i]))
			bases[n++] = form->operands[i].mem.base;
	if (bases[0] == bases[1] || !is_new(hardware, form_key(form)))
		return; /* no memory, or two operands that cannot be told apart, or done already */
	for (int i = 0; i < form->insn.operand_count; i++)
		if (is_memory(&form->operands[i]) &&
		    ZydisRegisterGetClass(form->operands[i].mem.base) == ZYDIS_REGCLASS_GPR64)
			probe_operand(hardware, form, &form->operands[i]);
}

Test(work, processor_accesses_what_the_table_says, .timeout = 100)
{
	static struct hardware hardware;
	probe_init(&hardware.probe);
	forms_visit(visit_hardware, &hardware);
	cr_log_info("%zu memory forms in %zu probes, %zu not on this processor", hardware.n_forms,
		    hardware.n_probes, hardware.n_not_here);
	cr_expect_gt(hardware.n_forms, 400);
}
