/* What the tests of the model and of the report's formats share. */
#pragma once

#include "report/model/model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static inline void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

static inline struct model build(const struct profile *profile)
{
	struct model model;
	assert_ok(model_build(profile, &model));
	return model;
}

static inline struct model build_as(const struct profile *profile, struct model_choice choice)
{
	struct model model;
	assert_ok(model_build_as(profile, &choice, &model));
	return model;
}

static inline const struct model_function *find(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (strcmp(model->functions[i].name, name) == 0)
			return &model->functions[i];
	cr_assert(false, "no function %s", name);
	return NULL;
}

static inline void expect_near(double value, double truth, const char *what)
{
	cr_expect(fabs(value - truth) <= 1e-9 * fabs(truth), "%s: %.12g, not %.12g", what, value,
		  truth);
}

static inline void set_executions(struct profile *p, size_t kernel, int64_t n)
{
	for (size_t i = 0; i < p->n_counts; i++)
		if (p->counts[i].block == kernel)
			p->counts[i].n = n;
}
