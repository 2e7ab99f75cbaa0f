/* What changes are worth: bounds that hold whatever the figures behind them are. */
#include "report/reasons/evidence.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

static double saved_by_short_loops(const struct profile *p, const struct model_function *of,
				   double entries, double share_of_time)
{
	struct model_function f = *of;
	f.code.short_entries = (uint64_t)entries;
	f.code.short_turns = 4 * f.code.short_entries;
	f.code.short_ns = (uint64_t)((double)f.time_ns * share_of_time);
	return model_evidence(p, &f).saved[CAUSE_SHORT_LOOP];
}

/* Ends of short loops may cost a part of the time that nothing else needs; but not more than the
 * loops take that they are the ends of. */
Test(worth, short_loops_save_no_more_than_they_take)
{
	struct profile *p = report_sample();
	struct model model = build_as(p, (struct model_choice){.loops = true});
	size_t n = 0;
	for (size_t i = 0; i < model.n_functions; i++) {
		const struct model_function *f = &model.functions[i];
		const double entries = (double)f->tally.instructions / 100;
		const double all = saved_by_short_loops(p, f, entries, 1),
			     few = saved_by_short_loops(p, f, entries, 1e-4);
		const double loops_s = 1e-13 * (double)f->time_ns / f->concurrency;
		cr_expect(all <= 1e-9 * (double)f->time_ns / f->concurrency * 1.000001, "%s: %g",
			  f->name, all);
		cr_expect(few <= loops_s * 1.000001, "%s: %g of %g", f->name, few, loops_s);
		n += all > 10 * loops_s;
	}
	cr_expect_gt(n, 0, "none is bounded");
	model_deinit(&model);
	profile_destroy(p);
}
