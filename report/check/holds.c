/* Comparisons of figures that write a line where they do not hold. */
#include "report/check/holds.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>

static const char *const sentences[N_INVARIANTS] = {
#define INVARIANT(id, sentence) [INVARIANT_##id] = sentence,
#include "report/check/invariants.def"
#undef INVARIANT
};

/* "function triad: …"; names of programs may hold anything. */
static void put_place(const struct check *check)
{
	char *clean = text_clean(check->row);
	if (check->row[0])
		fprintf(check->stream, "%s %s: ", check->view, clean ? clean : "?");
	free(clean);
}

static void broken(struct check *check, enum invariant invariant, const char *what, double left,
		   const char *relation, double right)
{
	check->n_broken++;
	put_place(check);
	fprintf(check->stream, "%s: %s: %.12g, which is not %s %.12g\n", sentences[invariant], what,
		left, relation, right);
}

static double rounding(double a, double b)
{
	return CHECK_ROUNDING * fmax(fabs(a), fabs(b));
}

void check_part(struct check *check, enum invariant invariant, const char *what, double part,
		double whole)
{
	if (part > whole + rounding(part, whole))
		broken(check, invariant, what, part, "at most", whole);
}

void check_equal(struct check *check, enum invariant invariant, const char *what, double value,
		 double wanted)
{
	if (value != wanted && fabs(value - wanted) > rounding(value, wanted))
		broken(check, invariant, what, value, "equal to", wanted);
}

void check_range(struct check *check, enum invariant invariant, const char *what, double value,
		 double low, double high)
{
	if (value < low - rounding(value, low))
		broken(check, invariant, what, value, "at least", low);
	check_part(check, invariant, what, value, high);
}

void check_number(struct check *check, enum invariant invariant, const char *what, double value)
{
	if (!(value >= 0))
		broken(check, invariant, what, value, "at least", 0);
}
