/* Where functions return. */
#include "tracer/calls/call_places.h"

#include <criterion/criterion.h>

Test(call_places, returns)
{
	/* test edi, edi; je +1; ret; mov eax, 0xc3; repz ret; ret 8; jmp -2 */
	const uint8_t code[] = {0x85, 0xff, 0x74, 0x01, 0xc3, 0xb8, 0xc3, 0x00, 0x00,
				0x00, 0xf3, 0xc3, 0xc2, 0x08, 0x00, 0xeb, 0xfe};
	uint64_t returns[2] = {0};
	cr_assert_eq(call_places_returns(code, sizeof(code), 0x1000, returns, 2), 3);
	cr_assert(returns[0] == 0x1004 && returns[1] == 0x100a);
	cr_assert_eq(call_places_returns(code, 4, 0x1000, returns, 2), 0);
	cr_assert_eq(call_places_returns(code, 0, 0x1000, returns, 2), 0);
}

static size_t count(const struct call_places *places, enum call_place_kind kind)
{
	size_t n = 0;
	for (size_t i = 0; i < places->n; i++)
		n += places->items[i].kind == kind;
	return n;
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
	const uint64_t returns[4] = {1, 2, 3, 4};
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct call_places places = {0};
		for (size_t i = 0; i < cases[c].functions; i++)
			if (call_places_add(&places, 100 + i, returns, cases[c].returns[i]))
				places.n_kernels++;
		call_places_fill(&places);
		cr_assert_eq(count(&places, PLACE_ENTRY), cases[c].entries, "case %zu", c);
		cr_assert_eq(count(&places, PLACE_ENTRY_ALONE), cases[c].alone, "case %zu", c);
		cr_assert_eq(count(&places, PLACE_BACK), cases[c].back, "case %zu", c);
		cr_assert_leq(places.n, MOST_CALL_PLACES);
	}
}
