#include "tracer/target/windows.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define STEP_NS 100000ull

/* What became of some time, or of some between windows, looked at every 0.1 ms. */
struct passed {
	double in_windows_s, between_s;
	uint32_t n; /* windows */
	unsigned n_by_chance;
	double longest_s;
};

static struct passed pass(struct windows *windows, double seconds, double between_s)
{
	struct passed passed = {0};
	double length = 0;
	uint64_t now = 1000000;
	bool by_chance;
	for (; (double)now * 1e-9 < seconds && passed.between_s < between_s; now += STEP_NS) {
		const uint32_t before = passed.n;
		const bool in_window = windows_wanted(windows, now) == COPY_FIRST;
		*(in_window ? &passed.in_windows_s : &passed.between_s) += STEP_NS * 1e-9;
		passed.n = windows_number(windows, &by_chance);
		passed.n_by_chance += passed.n != before && by_chance;
		length = in_window ? length + STEP_NS * 1e-9 : 0;
		passed.longest_s = length > passed.longest_s ? length : passed.longest_s;
	}
	return passed;
}

/* How much windows may take for so much time outside of them, summed up moment by moment: as much a
 * second as the slowdown says until the native time is over, and less by the square of the time
 * behind that, down to a tenth. */
static double may_take(double slowdown, double native_s, double between_s)
{
	double sum = 0;
	for (double at = 0; at < between_s; at += 1e-3) {
		const double part = native_s > 0 && at > native_s ? native_s / at : 1;
		sum += 1e-3 * (part * part > 0.1 ? part * part : 0.1);
	}
	return (slowdown - 1) * sum;
}

Test(windows, take_their_share)
{
	const double slowdowns[] = {1.1, 1.5, 3}, natives_s[] = {0, 5, 20, 50};
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 4; k++) {
			struct windows *windows = windows_create(slowdowns[i], natives_s[k], 0);
			cr_assert_not_null(windows);
			const struct passed passed = pass(windows, 60, 60);
			const double share = passed.in_windows_s /
					     may_take(slowdowns[i], natives_s[k], passed.between_s);
			cr_expect(share > 0.9 && share < 1.1, "%g times, %g s: %g", slowdowns[i],
				  natives_s[k], share);
			cr_expect_gt(passed.n, 15);
			cr_expect_eq(passed.n_by_chance, passed.n - 1);
			cr_expect_lt(passed.longest_s, 0.16);
			windows_destroy(windows);
		}
}

/* Until a program is through that takes that long natively. */
Test(windows, take_as_long_in_any_case)
{
	const double natives_s[] = {0.25, 0.5, 1, 1.4}, least_s = 0.5;
	for (size_t k = 0; k < 4; k++) {
		double in_windows_s = 0;
		for (int i = 0; i < 20; i++) {
			struct windows *windows = windows_create(1.35, natives_s[k], least_s);
			in_windows_s += pass(windows, 60, natives_s[k]).in_windows_s / 20;
			windows_destroy(windows);
		}
		cr_expect(in_windows_s > 0.9 * least_s && in_windows_s < 1.2 * least_s, "%g s: %g",
			  natives_s[k], in_windows_s);
	}
}

/* The end of each window takes two threads as long as the window: that of the second one is paid
 * for, and half of what windows may take is left for them. */
Test(windows, pay_for_their_ends)
{
	struct windows *windows = windows_create(1.5, 1000, 0);
	double in_windows_s = 0, ends_s = 0, between_s = 0;
	uint64_t now = 1000000, since = now;
	enum copy before = COPY_FIRST;
	bool by_chance;
	while (now < 600000000000) {
		const enum copy wanted = windows_wanted(windows, now);
		if (before == COPY_FIRST && wanted == COPY_PLAIN) {
			const uint64_t took = now - since;
			const uint32_t number = windows_number(windows, &by_chance);
			now += took;
			ends_s += (double)took * 1e-9;
			(void)windows_wanted(windows, now);
			windows_pay(windows, number, took);
			windows_pay(windows, number, took);
		} else if (before == COPY_PLAIN && wanted == COPY_FIRST) {
			since = now;
		}
		*(wanted == COPY_FIRST ? &in_windows_s : &between_s) += STEP_NS * 1e-9;
		before = wanted;
		now += STEP_NS;
	}
	const double share = (in_windows_s + ends_s) / between_s;
	cr_expect(share > 0.47 && share < 0.53, "%g", share);
	windows_destroy(windows);
}

Test(windows, begin_with_the_program)
{
	struct windows *windows = windows_create(1.5, 1, 0);
	bool by_chance;
	cr_expect_eq(windows_wanted(windows, 5), COPY_FIRST);
	cr_expect_eq(windows_number(windows, &by_chance), 1);
	cr_expect(!by_chance);
	windows_destroy(windows);
}

/* New code has a window at once, but not without an end. */
Test(windows, new_code_spends_no_more_than_there_will_be)
{
	struct windows *windows = windows_create(1.5, 2, 0);
	double in_windows_s = 0;
	uint64_t now = 1000000;
	bool by_chance, refused = false;
	for (; now < 2000000000; now += STEP_NS) {
		if (windows_wanted(windows, now) == COPY_PLAIN &&
		    !windows_begin_for_new_code(windows, now))
			refused = true;
		in_windows_s += windows_wanted(windows, now) == COPY_FIRST ? STEP_NS * 1e-9 : 0;
		(void)windows_number(windows, &by_chance);
	}
	cr_expect(refused);
	cr_expect(in_windows_s > 1 && in_windows_s < 1.6, "%g s", in_windows_s);
	windows_destroy(windows);
}

Test(windows, patience_ends_with_a_change)
{
	struct windows *windows = windows_create(1.5, 2, 0);
	uint64_t now = 1000000;
	for (int changes = 0; changes < 40; changes++) {
		const enum copy before = windows_wanted(windows, now);
		const uint64_t patience = windows_patience(windows);
		cr_expect_eq(windows_wanted(windows, now + patience / 2), before);
		now += patience + 1000;
		cr_expect_neq(windows_wanted(windows, now), before);
	}
	windows_destroy(windows);
}
