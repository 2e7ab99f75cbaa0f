/* Out of order a core looks as far ahead as its reorder buffer reaches. */
#include "report/in_core/under_way.h"

#include "report/model/model_traffic.h"

#include <math.h>

/* Instructions in flight, where the machine does not say: what cores have had since 2013 at least
 * (Haswell; Intel's optimisation manual). */
#define REORDER_BUFFER 192

double ecm_reorder_buffer(const struct profile *profile)
{
	return profile_number_fact(profile, "reorder_buffer", REORDER_BUFFER);
}

double ecm_under_way(const struct model_function *function, double buffer, double own, double all,
		     double run_through)
{
	const struct model_traffic *traffic = function->traffic;
	const double share = fmin(1, run_through / buffer),
		     around = traffic && traffic->program_instructions > 0
				      ? all / traffic->program_instructions
				      : 0;
	return fmax(1, buffer * (share * own + (1 - share) * around));
}
