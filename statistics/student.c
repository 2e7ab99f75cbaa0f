/* The quantiles of Student's t that intervals are made with. */
#include "statistics/student.h"

#include <math.h>

double rf_student(unsigned degrees)
{
	static const double table[] = {
		INFINITY, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201,    2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	};
	const unsigned last = sizeof(table) / sizeof(*table) - 1;
	return degrees <= last ? table[degrees] : 1.96 + 2.4 / degrees;
}
