#include "base/error.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(error, says_what_cause_and_next_step)
{
	struct rf_error *error =
		rf_error_errno(RF_EACCESS, ENOENT, "check the path", "cannot open %s", "x.rfp");
	cr_assert_str_eq(error->message, "cannot open x.rfp: No such file or directory");
	cr_assert_str_eq(error->hint, "check the path");
	cr_assert_eq(error->errnum, ENOENT);
	rf_error_destroy(error);
	rf_error_destroy(NULL);
}
