#include "tracer/span/duration.h"

#include <criterion/criterion.h>

Test(duration, lengths_of_time)
{
	static const struct {
		const char *text;
		double seconds;
	} cases[] = {{"90", 90},      {"1.5", 1.5},     {"1.5s", 1.5},  {"1m30s", 90}, {"2h", 7200},
		     {"250ms", 0.25}, {"1h1m1s", 3661}, {"10us", 1e-5}, {"0", 0},      {".5m", 30}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double seconds = -1;
		cr_expect(duration_parse(cases[i].text, &seconds), "%s", cases[i].text);
		cr_expect_float_eq(seconds, cases[i].seconds, 1e-12, "%s", cases[i].text);
	}
}

Test(duration, what_is_none_changes_nothing)
{
	static const char *const texts[] = {"",    "s",     "-1",    "1m30", "1s1m",      "1s1s",
					    "1d",  "1e3",   "0x10",  " 1",   "1 ",        "nan",
					    "inf", "1..5s", "1m 3s", "1ss",  "99999999h", "."};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		double seconds = -1;
		cr_expect_not(duration_parse(texts[i], &seconds), "%s", texts[i]);
		cr_expect_eq(seconds, -1);
	}
}
