/* That there is no error; else its message is shown. */
#pragma once

#include "base/error.h"

#include <criterion/criterion.h>

static inline void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}
