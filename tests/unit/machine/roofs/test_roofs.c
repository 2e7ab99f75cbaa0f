#include "machine/roofs/roofs.h"

#include <criterion/criterion.h>

/* A spell of other load met one of them. */
Test(roofs, a_chase_is_no_slower_than_one_through_more_bytes)
{
	static const struct roof walk = {.op = ROOF_OP_CHASE,
					 .threads = 1,
					 .best = 7.3,
					 .median = 7.2,
					 .q1 = 7.1,
					 .q3 = 7.25,
					 .n_history = 1,
					 .history = {{.when_s = 20, .best = 7.3}}};
	struct roof slow = {.op = ROOF_OP_CHASE,
			    .level = ROOF_LEVEL_L2,
			    .threads = 1,
			    .best = 1.4,
			    .median = 1.3,
			    .q1 = 1,
			    .q3 = 1.38,
			    .noisy = true,
			    .n_history = 1,
			    .history = {{.when_s = 10, .best = 1.4}}},
		    fast = {.op = ROOF_OP_CHASE, .threads = 1, .best = 7.6, .median = 7.5},
		    two = {.op = ROOF_OP_CHASE, .threads = 2, .best = 1.4},
		    random = {.op = ROOF_OP_RANDOM, .threads = 1, .best = 1.4};
	roofs_raise_chase(&slow, &walk);
	cr_expect(slow.best == 7.3 && slow.median == 7.2 && slow.q1 == 7.1 && slow.q3 == 7.25);
	cr_expect(slow.level == ROOF_LEVEL_L2 && !slow.noisy);
	cr_expect(slow.n_history == 1 && slow.history[0].best == 7.3);
	roofs_raise_chase(&fast, &walk);
	cr_expect(fast.best == 7.6 && fast.median == 7.5);
	roofs_raise_chase(&two, &walk);
	roofs_raise_chase(&random, &walk);
	cr_expect(two.best == 1.4 && random.best == 1.4, "not told by it");
}
