#include "statistics/summary.h"

#include <criterion/criterion.h>

Test(summary, of_known_figures)
{
	double five[] = {4, 1, 5, 3, 2};
	struct summary s = rf_summary(five, 5);
	cr_expect(s.least == 1 && s.q1 == 2 && s.median == 3 && s.q3 == 4 && s.most == 5);
	double four[] = {4, 2, 3, 1};
	s = rf_summary(four, 4);
	cr_expect(s.least == 1 && s.q1 == 1.75 && s.median == 2.5 && s.q3 == 3.25 && s.most == 4);
	double two[] = {3, 1};
	s = rf_summary(two, 2);
	cr_expect(s.least == 1 && s.q1 == 1.5 && s.median == 2 && s.q3 == 2.5 && s.most == 3);
	double one[] = {7};
	s = rf_summary(one, 1);
	cr_expect(s.least == 7 && s.q1 == 7 && s.median == 7 && s.q3 == 7 && s.most == 7);
}
