/* Compares all that is kept, list by list and member by member: structures have holes. */
#include "tests/unit/tracer/stock/same_code.h"

#include "tests/unit/tracer/translate/translated_process.h"
#include "tracer/stock/code_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME(member) cr_assert_eq(a->member, b->member, "%s of %zu", #member, i)
#define EACH(type, x, y, list, n)               \
	cr_assert_eq((x)->n, (y)->n, "%s", #n); \
	for (size_t i = 0; i < (x)->n; i++)     \
		for (const type *a = &(x)->list[i], *b = &(y)->list[i], *end = a + 1; a < end; a++)

struct profile *profile_with_modules(unsigned shift)
{
	struct profile *profile = profile_create();
	char path[32];
	cr_assert(profile);
	for (unsigned i = 0; i < FIRST_MODULE + shift; i++) {
		snprintf(path, sizeof(path), "/other/%u.so", i);
		cr_assert_eq(profile_module(profile, path, "0123"), i);
	}
	for (unsigned i = 0; i <= MODULES; i++) {
		snprintf(path, sizeof(path), "/module/%u.so", i);
		cr_assert_eq(profile_module(profile, path, i ? "abcd" : ""),
			     FIRST_MODULE + shift + i);
	}
	return profile;
}

static void compare_arenas(const struct arena *x, const struct arena *y)
{
	cr_assert_eq(x->base, y->base);
	cr_assert_eq(x->size, y->size);
	cr_assert_eq(x->used, y->used);
	cr_assert(memcmp(x->host, y->host, x->used) == 0);
	cr_assert_eq(x->pieces.n, y->pieces.n);
	cr_assert_eq(x->pieces.n_bytes, y->pieces.n_bytes);
	cr_assert(memcmp(x->pieces.bytes, y->pieces.bytes, x->pieces.n_bytes) == 0);
	EACH(struct piece_mark, &x->pieces, &y->pieces, marks, n_marks)
	{
		SAME(cache);
		SAME(at);
	}
	EACH(struct field, x, y, fields, n_fields)
	{
		SAME(pc);
		SAME(at);
		SAME(kind);
	}
}

static void compare_blocks(const struct code_cache *x, const struct code_cache *y, unsigned shift)
{
	EACH(struct code_block, x, y, blocks, n_blocks)
	{
		SAME(pc);
		SAME(size);
		SAME(n_insns);
		SAME(arena);
		SAME(stale);
		SAME(falls_in);
		SAME(provisional);
		SAME(dead);
		SAME(inner);
		SAME(body);
		SAME(called);
		SAME(entry);
		SAME(counter);
		SAME(counted_at);
		SAME(n_untraced);
		SAME(in);
		SAME(out);
		SAME(module_offset);
		cr_assert_eq(a->module + shift, b->module);
		cr_assert(!b->has_row && !b->is_met);
		cr_assert_eq(!a->bytes, !b->bytes);
		cr_assert(!a->bytes || memcmp(a->bytes, b->bytes, a->size) == 0);
	}
}

static void compare_links(const struct code_cache *x, const struct code_cache *y)
{
	EACH(struct link, x, y, links, n_links)
	{
		SAME(target);
		SAME(site);
		SAME(next);
		SAME(junction);
		SAME(arena);
		SAME(kind);
		SAME(is_stub);
		SAME(by_got);
	}
	EACH(struct stub, x, y, stubs, n_stubs)
	{
		SAME(pc);
		SAME(arena);
		SAME(is_call);
		SAME(linked);
	}
	EACH(struct landing, x, y, landings, n_landings)
	{
		SAME(pc);
		SAME(at);
		SAME(behind);
		SAME(next);
		SAME(arena);
		SAME(keeps_flags);
	}
}

static void compare_counters(const struct code_cache *x, const struct code_cache *y, unsigned shift)
{
	cr_assert_eq(x->n_counters, y->n_counters);
	EACH(struct unit_counter, x, y, units, n_units)
	{
		SAME(counter);
		SAME(kind);
		SAME(module_offset);
		cr_assert_eq(a->module + shift, b->module);
	}
	EACH(struct crossing, x, y, crossings, n_crossings)
	{
		SAME(from);
		SAME(to);
		SAME(counter);
	}
	EACH(struct derived, x, y, derived, n_derived)
	{
		SAME(block);
		SAME(at_in);
	}
	EACH(uint32_t, x, y, leaving, n_junctions)
	cr_assert_eq(*a, *b);
}

static void compare_indexes(const struct pc_index *one, const struct pc_index *other)
{
	const struct u64_map *x = &one->own, *y = &other->own;
	cr_assert_eq(x->n_used, y->n_used);
	EACH(struct u64_map_cell, x, y, cells, n_cells)
	{
		SAME(key);
		SAME(value);
	}
	cr_assert(!x->n_cells || memcmp(x->filter, y->filter, x->n_cells) == 0);
}

static void compare_orders(const struct by_module *x, const struct by_module *y)
{
	cr_assert(memcmp(x->begin, y->begin, sizeof(x->begin)) == 0);
	for (size_t i = 0; x->numbers && i < x->begin[KEPT_MODULES]; i++)
		cr_assert_eq(x->numbers[i], y->numbers[i]);
}

static void compare_modules(const struct kept_code *x, const struct kept_code *y, unsigned shift)
{
	EACH(struct kept_module, x, y, modules, n_modules)
	{
		SAME(bias);
		SAME(low);
		SAME(high);
		cr_assert_eq(a->module + shift, b->module);
		cr_assert(memcmp(a->reach, b->reach, sizeof(a->reach)) == 0);
	}
	EACH(struct kept_run, x, y, runs, n_runs)
	{
		SAME(start);
		SAME(size);
		SAME(at);
	}
	cr_assert_eq(x->n_code, y->n_code);
	cr_assert(memcmp(x->code, y->code, x->n_code) == 0);
	EACH(struct kept_entry, x, y, entries, n_entries)
	{
		SAME(pc);
		SAME(at);
		SAME(arena);
		SAME(is_return);
	}
}

static void compare_operands(const struct kept_code *x, const struct kept_code *y, unsigned shift)
{
	EACH(struct trace_group, x, y, groups, n_groups)
	{
		SAME(n);
		SAME(form);
		cr_assert_eq(a->operands - x->operands, b->operands - y->operands);
	}
	EACH(struct trace_operand, x, y, operands, n_operands)
	{
		SAME(offset);
		SAME(number);
		SAME(block);
		SAME(at);
		SAME(bytes);
		SAME(access);
		SAME(lanes);
		SAME(scale);
		SAME(index_bits);
		SAME(base);
		SAME(n_operands);
		cr_assert_eq(a->module + shift, b->module);
	}
}

static void compare(const struct kept_code *x, const struct kept_code *y, unsigned shift)
{
	cr_assert_eq(x->batch_insns, y->batch_insns);
	cr_assert_eq(x->is_plain, y->is_plain);
	cr_assert_eq(x->is_traced, y->is_traced);
	cr_assert_eq(x->traces_all, y->traces_all);
	cr_assert_eq(x->n_numbers, y->n_numbers);
	cr_assert_eq(x->cache.n_arenas, y->cache.n_arenas);
	for (int i = 0; i < x->cache.n_arenas; i++) {
		compare_arenas(&x->cache.arenas[i], &y->cache.arenas[i]);
		compare_orders(&x->of_fields[i], &y->of_fields[i]);
	}
	compare_modules(x, y, shift);
	compare_blocks(&x->cache, &y->cache, shift);
	compare_links(&x->cache, &y->cache);
	compare_counters(&x->cache, &y->cache, shift);
	compare_indexes(&x->cache.block_of_pc, &y->cache.block_of_pc);
	compare_indexes(&x->cache.links_to, &y->cache.links_to);
	compare_indexes(&x->cache.landing_of_pc, &y->cache.landing_of_pc);
	compare_indexes(&x->cache.calls, &y->cache.calls);
	compare_operands(x, y, shift);
	compare_orders(&x->of_runs, &y->of_runs);
	compare_orders(&x->of_blocks, &y->of_blocks);
	compare_orders(&x->of_links, &y->of_links);
	compare_orders(&x->of_stubs, &y->of_stubs);
	compare_orders(&x->of_landings, &y->of_landings);
	compare_orders(&x->of_entries, &y->of_entries);
}

char *file_bytes(const struct kept_code *kept, const struct code_names *names, size_t *size)
{
	size_t n;
	struct kept_piece *pieces = code_file_pieces(kept, names, &n);
	cr_assert(pieces);
	*size = 0;
	for (size_t i = 0; i < n; i++)
		*size += pieces[i].size;
	char *bytes = malloc(*size + 1), *to = bytes;
	cr_assert(bytes);
	for (size_t i = 0; i < n; i++)
		to = mempcpy(to, pieces[i].bytes, pieces[i].size);
	free(pieces);
	return bytes;
}

struct kept_code *keep_in_file(struct kept_code *kept, unsigned shift)
{
	struct profile *profile = profile_with_modules(0), *other = profile_with_modules(shift);
	struct code_names names;
	size_t size;
	cr_assert(code_names_take(&names, kept, profile));
	char *bytes = file_bytes(kept, &names, &size);
	struct kept_bytes file = {.file = bytes, .bytes = bytes, .size = size};
	bool broken;
	struct kept_code *read = code_file_read(&file, other, &broken);
	cr_assert(read && !broken);
	cr_assert_eq(other->n_modules, FIRST_MODULE + shift + MODULES + 1);
	compare(kept, read, shift);
	code_names_deinit(&names);
	kept_code_release(kept);
	profile_destroy(profile);
	profile_destroy(other);
	return read;
}
