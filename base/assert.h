/* Assertions: assert() for what is cheap to check, and stays in every build; rf_assert_dear() for
 * what is not, and is checked only where faults are looked for. */
#pragma once

#include <assert.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

/* Checked under the address sanitizer (also in fuzzing), and where RFPROF_DEAR_ASSERTS is defined.
 */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || \
	defined(RFPROF_DEAR_ASSERTS)
#define rf_assert_dear(condition) assert(condition)
#else
#define rf_assert_dear(condition) ((void)0)
#endif
