/* What one would try about system calls depends on what they move. */
#include "profile/profile.h"
#include "report/reasons/kernel_remedy.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/syscall.h>

static void expect_words(const char *remedy, const char *words)
{
	cr_expect(strstr(remedy, words), "%s", remedy);
}

Test(kernel_remedy, more_at_a_time_helps_where_calls_are_small)
{
	expect_words(kernel_call_remedy(SYS_read, 16), "more at a time");
	expect_words(kernel_call_remedy(SYS_read, 4e6), "mmap");
	expect_words(kernel_call_remedy(SYS_write, 4096), "more at a time");
	expect_words(kernel_call_remedy(SYS_write, 1 << 20), "another thread");
}

Test(kernel_remedy, a_row_has_the_calls_of_all_functions)
{
	struct profile_sum_call calls[] = {
		{.function = 0, .number = SYS_read, .n = 3, .failed = 1, .bytes = 1 << 20},
		{.function = 1, .number = SYS_read, .n = 2, .bytes = 1 << 20},
		{.function = 1, .number = SYS_write, .n = 1000, .bytes = 5000}};
	const struct profile p = {.sum_calls = calls, .n_sum_calls = 3};
	expect_words(kernel_row_remedy(&p, "[read]"), "mmap");
	expect_words(kernel_row_remedy(&p, "[write]"), "more at a time");
	calls[1].n = 1000;
	expect_words(kernel_row_remedy(&p, "[read]"), "more at a time");
	expect_words(kernel_row_remedy(&p, "[page faults]"), "larger pages");
}
