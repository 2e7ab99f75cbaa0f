/* Assertions that are dear: they walk over whole tables, and so stand in builds with a sanitizer
 * and for fuzzing alone.  Cheap ones are plain assert, in every build. */
#pragma once

#include <assert.h>

#if defined(__SANITIZE_ADDRESS__)
#define RF_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RF_SANITIZED 1
#endif
#endif

#if defined(RF_SANITIZED) || defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION) || \
	defined(RFPROF_DEAR_ASSERTS)
#define RF_ASSERT_DEAR 1
#endif

/* In other builds the condition is compiled, but not evaluated. */
#ifdef RF_ASSERT_DEAR
#define rf_assert_dear(condition) assert(condition)
#else
#define rf_assert_dear(condition) ((void)sizeof(!(condition)))
#endif
