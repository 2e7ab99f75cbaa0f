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
