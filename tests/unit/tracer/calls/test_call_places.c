/* Where functions return. */
#include "tracer/calls/call_places.h"

#include <criterion/criterion.h>
#include <string.h>

Test(call_places, returns)
{
	/* test edi, edi; je +1; ret; mov eax, 0xc3; repz ret; ret 8; jmp -2 */
	const uint8_t code[] = {0x85, 0xff, 0x74, 0x01, 0xc3, 0xb8, 0xc3, 0x00, 0x00,
				0x00, 0xf3, 0xc3, 0xc2, 0x08, 0x00, 0xeb, 0xfe};
	struct call_function function = {.entry = 0x1000};
	call_places_read(code, sizeof(code), &function);
	cr_assert(function.n_returns == 3 && function.returns[0] == 0x1004 &&
		  function.returns[1] == 0x100a && function.returns[2] == 0x100c);
	call_places_read(code, 4, &function);
	cr_assert_eq(function.n_returns, 0);
	call_places_read(code, 0, &function);
	cr_assert_eq(function.n_returns, 0);
}

/* nop ...; dec edi; jnz -4; nop ...; ret: where the loop and the return are. */
Test(call_places, loops)
{
	static const struct {
		uint64_t entry, loop, ret;
		bool at_entry, at_return;
	} cases[] = {
		{0x1000, 0x10, 0x14, true, true},   {0x1000, 0x10, 0x40, true, false},
		{0x1000, 0x40, 0x44, false, true},  {0x1000, 0x3e, 0x60, true, true},
		{0x1020, 0x20, 0x70, false, false}, {0x1020, 0x1c, 0x70, true, false},
		{0x1020, 0x24, 0x5f, false, true},  {0x1000, 0x80, 0xc0, false, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t code[256];
		struct call_function function = {.entry = cases[i].entry};
		memset(code, 0x90, sizeof(code));
		memcpy(code + cases[i].loop, "\xff\xcf\x75\xfc", 4);
		code[cases[i].ret] = 0xc3;
		call_places_read(code, sizeof(code), &function);
		cr_assert(function.n_returns == 1 && function.loops_at_entry == cases[i].at_entry &&
				  function.loops_at_return == cases[i].at_return,
			  "case %zu", i);
	}
}

static size_t count(const struct call_places *places, enum call_place_kind kind)
{
	size_t n = 0;
	for (size_t i = 0; i < places->n; i++)
		n += places->items[i].kind == kind;
	return n;
}

/* Where a breakpoint slows its line down none is put next to a loop. */
Test(call_places, avoids_loops)
{
	const struct call_function at_entry = {100, 0, {200}, 1, .loops_at_entry = true},
				   at_return = {100, 0, {200}, 1, .loops_at_return = true};
	struct call_places places = {0};
	cr_assert_null(call_places_add(&places, "a", &at_entry, 1));
	places = (struct call_places){.avoids_loops = true};
	cr_assert_null(call_places_add(&places, "a", &at_entry, 1));
	cr_assert(places.n == 1 && places.items[0].kind == PLACE_ENTRY_NEAR);
	places = (struct call_places){.avoids_loops = true};
	cr_assert_null(call_places_add(&places, "a", &at_return, 1));
	cr_assert(places.n == 1 && places.items[0].kind == PLACE_ENTRY_ALONE);
	call_places_fill(&places, false);
	cr_assert_eq(count(&places, PLACE_BACK), 3);
}

/* Functions with so many returns, as long as there are breakpoints. */
Test(call_places, four_breakpoints)
{
	static const struct {
		size_t functions, returns[4], entries, alone, back;
	} cases[] = {
		{1, {3}, 1, 0, 0},    {1, {0}, 0, 1, 3},    {1, {4}, 0, 1, 3},
		{2, {1, 1}, 2, 0, 0}, {2, {1, 0}, 1, 1, 1}, {2, {0, 1}, 1, 1, 1},
		{2, {0, 0}, 0, 2, 2}, {2, {2, 9}, 1, 0, 0}, {2, {1, 2}, 1, 1, 1},
		{4, {0}, 0, 3, 1},
	};
	static const char *const names[] = {"a", "b", "c", "d"};
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct call_places places = {0};
		for (size_t i = 0; i < cases[c].functions; i++) {
			const struct call_function function = {
				100 + i, 0, {1, 2, 3, 4}, cases[c].returns[i]};
			call_places_add(&places, names[i], &function, 1);
		}
		call_places_fill(&places, false);
		cr_assert_eq(count(&places, PLACE_ENTRY), cases[c].entries, "case %zu", c);
		cr_assert_eq(count(&places, PLACE_ENTRY_ALONE), cases[c].alone, "case %zu", c);
		cr_assert_eq(count(&places, PLACE_BACK), cases[c].back, "case %zu", c);
		cr_assert_leq(places.n, MOST_CALL_PLACES);
	}
}

/* A function that comes later gets breakpoints that are not used yet, but for one that another one
 * needs; what is gone leaves its own for others. */
Test(call_places, later)
{
	const struct call_function first = {100, 0, {101}, 1, false, false},
				   alone = {200, 1, {0}, 0, false, false},
				   second = {300, 2, {301}, 1, false, false},
				   wide = {400, 2, {1, 2, 3}, 3, false, false};
	struct call_places places = {0};
	cr_assert_null(call_places_add(&places, "a", &first, 1));
	call_places_fill(&places, false);
	cr_assert_eq(places.n, 2);
	call_places_fill(&places, true);
	cr_assert(places.n == 4 && count(&places, PLACE_BACK) == 2);
	cr_assert_null(call_places_add(&places, "b", &alone, 1));
	cr_assert(places.n == 4 && places.n_kernels == 2 && call_places_has(&places, 200));
	cr_assert_not_null(call_places_add(&places, "c", &second, 1));
	cr_assert(places.n_kernels == 2 && !call_places_has(&places, 300));
	call_places_drop(&places, 200);
	cr_assert(!call_places_has(&places, 200) && count(&places, PLACE_BACK) == 2);
	cr_assert_null(call_places_add(&places, "c", &second, 1));
	cr_assert(places.n_kernels == 3 && places.kernels[2] == 2);
	call_places_drop(&places, 100);
	call_places_drop(&places, 300);
	cr_assert_null(call_places_add(&places, "c", &wide, 1));
	cr_assert(places.n_kernels == 3 && count(&places, PLACE_RETURN) == 3);
	for (size_t i = 0; i < places.n; i++)
		cr_assert(places.items[i].kernel == 2 && places.items[i].entry == 400);
}
