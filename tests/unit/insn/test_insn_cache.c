/* What is told of an instruction in a short way, against Zydis: of code at random places of
 * libraries, some of it met again with other displacements, cut short, or data taken for code. */
#include "insn/flow.h"
#include "insn/insn_cache.h"
#include "insn/operand_cache.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 4000 /* of each library */
#define ROW 40      /* instructions from a place on */
#define AT UINT64_C(0x400000)

static const char *const libraries[] = {
	"/lib/x86_64-linux-gnu/libc.so.6",
	"/lib/x86_64-linux-gnu/libm.so.6",
	"/lib/x86_64-linux-gnu/libmvec.so.1",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	"/usr/lib/x86_64-linux-gnu/libopenblas.so.0",
	"/usr/bin/python3",
};

static struct insn_cache *cache;
static struct operand_cache *operands;
static uint64_t n_compared;

static void compare_branches(const uint8_t *bytes, size_t size)
{
	const struct branch got = branch_of_bytes(bytes, size, AT),
			    want = branch_of_any(bytes, size, AT);
	cr_assert_eq(got.kind, want.kind);
	cr_assert_eq(got.target, want.target);
	cr_assert_eq(got.length, want.length);
}

#define SAME(field) cr_assert_eq(got->field, want->field, #field)

static void compare_works(const struct work *got, const struct work *want)
{
	SAME(length);
	SAME(insn_class);
	SAME(is_load);
	SAME(is_store);
	SAME(non_temporal);
	SAME(flop_kind);
	SAME(flop_precision);
	SAME(flop_width);
	SAME(flop_lanes);
	SAME(flop_per_lane);
	SAME(intop_kind);
	SAME(intop_width);
	SAME(intop_lanes);
	SAME(intop_per_lane);
	SAME(intop_address);
	SAME(load_bytes);
	SAME(store_bytes);
	SAME(unit_load_bytes);
	SAME(unit_store_bytes);
	SAME(masked);
	SAME(units);
	SAME(unit_reg);
	SAME(unit_reg2);
	SAME(lanes);
	SAME(unit_element_bits);
}

static void compare_flows(const struct dataflow *got, const struct dataflow *want)
{
	compare_works(&got->work, &want->work);
	SAME(n_reads);
	SAME(n_writes);
	SAME(kind);
	SAME(latency);
	SAME(loads);
	SAME(stores);
	SAME(copies);
	SAME(adds);
	SAME(pauses);
	SAME(locks);
	SAME(calls);
	SAME(pushed);
	cr_assert_eq(memcmp(got->reads, want->reads, want->n_reads), 0);
	cr_assert_eq(memcmp(got->writes, want->writes, want->n_writes), 0);
	cr_assert(memory_place_same(&got->memory, &want->memory));
}

/* The same instruction at other addresses. */
static void compare_operands(const uint8_t *bytes, size_t size)
{
	struct decoded insn;
	struct operands got, want;
	decode_instruction(bytes, size, AT + n_compared * 64, &insn);
	operand_cache_find(operands, &insn, &got);
	operands_of(&insn, &want);
	cr_assert(got.n == want.n && got.written == want.written && got.moved == want.moved);
	cr_assert(got.moved == NO_BASE || (got.from == want.from && got.by == want.by));
	for (unsigned i = 0; i < want.n; i++) {
		const struct operand *a = &got.items[i], *b = &want.items[i];
		cr_assert(a->form == b->form && a->access == b->access && a->base == b->base &&
			  a->index == b->index && a->scale == b->scale && a->fs == b->fs &&
			  a->rip_relative == b->rip_relative && a->aligned == b->aligned &&
			  a->displacement == b->displacement && a->bytes == b->bytes &&
			  a->lanes == b->lanes && a->mask == b->mask &&
			  a->mask_bits == b->mask_bits && a->mask_shift == b->mask_shift &&
			  a->vector == b->vector && a->index_bits == b->index_bits);
	}
}

/* Returns the length of the instruction, or 0. */
static size_t compare(const uint8_t *bytes, size_t size, bool flow)
{
	struct dataflow want;
	if (flow) {
		const bool known = dataflow_of_bytes(bytes, size, &want);
		const struct dataflow *got = insn_cache_dataflow(cache, bytes, size);
		cr_assert_eq(got != NULL, known);
		if (known)
			compare_flows(got, &want);
		n_compared++;
		return known ? want.work.length : 0;
	}
	const bool known = work_of_bytes(bytes, size, &want.work);
	const struct work *got = insn_cache_work(cache, bytes, size);
	cr_assert_eq(got != NULL, known);
	if (known)
		compare_works(got, &want.work);
	compare_branches(bytes, size);
	compare_operands(bytes, size);
	n_compared++;
	return known ? want.work.length : 0;
}

/* Other bytes in its place, mostly the last ones, where displacements and immediates are. */
static void compare_changed(const uint8_t *bytes, size_t length, uint64_t *state)
{
	uint8_t changed[15] = {0};
	const uint64_t random = random_number(state);
	memcpy(changed, bytes, length);
	changed[random % 4 ? length - 1 : random / 4 % length] ^= (uint8_t)(random >> 8);
	changed[length > 4 ? length - 4 : 0] ^= (uint8_t)(random >> 16);
	compare(changed, random >> 24 & 1 ? length : sizeof(changed), random >> 25 & 1);
	if (length > 1)
		compare(bytes, length - 1, random >> 26 & 1);
}

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	if (!file)
		return NULL;
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size);
	cr_assert_eq(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

/* Transfers in other lengths than compilers write, each with two distances. */
Test(insn_cache, knows_rare_forms_of_transfers)
{
	static const struct {
		uint8_t bytes[8], length, distance;
	} forms[] = {
		{{0xe3, 5}, 2, 1},
		{{0x48, 0xe3, 5}, 3, 2},
		{{0x67, 0xe3, 5}, 3, 2},
		{{0x2e, 0x75, 5}, 3, 2},
		{{0xeb, 5}, 2, 1},
		{{0x48, 0xe8, 5, 0, 0, 0}, 6, 2},
		{{0x66, 0xe8, 5, 0, 0, 0}, 6, 2},
		{{0xf2, 0xe9, 5, 0, 0, 0}, 6, 2},
		{{0x0f, 0x84, 5, 0, 0, 0}, 6, 2},
		{{0x40, 0x0f, 0x84, 5, 0, 0, 0}, 7, 3},
		{{0x3e, 0x0f, 0x84, 5, 0, 0, 0}, 7, 3},
	};
	cache = insn_cache_create();
	operands = operand_cache_create();
	cr_assert(cache && operands);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
			uint8_t bytes[8];
			memcpy(bytes, forms[i].bytes, sizeof(bytes));
			bytes[forms[i].distance] += (uint8_t)(16 * round);
			compare(bytes, forms[i].length, false);
			compare(bytes, forms[i].length, true);
		}
	insn_cache_destroy(cache);
	operand_cache_destroy(operands);
}

Test(insn_cache, tells_what_zydis_tells)
{
	uint64_t state = 7;
	cache = insn_cache_create();
	operands = operand_cache_create();
	cr_assert(cache && operands);
	for (size_t l = 0; l < sizeof(libraries) / sizeof(*libraries); l++) {
		size_t size = 0;
		uint8_t *bytes = read_file(libraries[l], &size);
		for (size_t p = 0; bytes && p < PLACES; p++) {
			size_t at = random_number(&state) % size;
			for (size_t i = 0; i < ROW && at < size; i++) {
				const size_t room = size - at,
					     length = compare(bytes + at, room,
							      random_number(&state) % 2);
				if (length)
					compare_changed(bytes + at, length, &state);
				at += length ? length : 1;
			}
		}
		free(bytes);
	}
	insn_cache_destroy(cache);
	operand_cache_destroy(operands);
	cr_expect_gt(n_compared, 500000);
}
