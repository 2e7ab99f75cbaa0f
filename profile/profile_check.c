/* What holds for every profile, in one place: the loader refuses a file in which it does not, and
 * builds for tests assert it of what is saved. */
#include "profile/profile_check.h"

#include "profile/profile_schema.h"

#include <stdio.h>

struct rf_error *profile_damaged(const char *path, const char *what)
{
	return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT, "%s is damaged: %s", path, what);
}

static struct rf_error *check_references(const struct profile *profile, const struct table *table,
					 const struct column *column, const char *path)
{
	const struct table *target = &profile_tables[column->target];
	const size_t limit = *profile_table_count(profile, target);
	const bool own = target == table; /* a parent stands before its children */
	const char *row = *profile_table_items(profile, table);
	size_t n = *profile_table_count(profile, table);
	for (size_t i = 0; i < n; i++, row += table->element) {
		uint32_t value = *(const uint32_t *)(row + column->offset);
		const bool none = value == PROFILE_NONE && column->type == COLUMN_REF_NULL;
		if (none || value < (own ? i : limit))
			continue;
		char what[128];
		snprintf(what, sizeof(what), "row %zu of table \"%s\" has a %s that is not there",
			 i, table->name, column->name);
		return profile_damaged(path, what);
	}
	return NULL;
}

static struct rf_error *check_all_references(const struct profile *profile, const char *path)
{
	struct rf_error *error = NULL;
	for (int t = 0; t < N_TABLES; t++)
		for (size_t c = 0; !error && c < profile_tables[t].n_columns; c++) {
			const struct column *column = &profile_tables[t].columns[c];
			if (column->type == COLUMN_REF || column->type == COLUMN_REF_NULL)
				error = check_references(profile, &profile_tables[t], column, path);
		}
	return error;
}

/* Look-ups in inlined_code are by its order. */
static bool inlined_in_order(const struct profile *profile)
{
	const struct profile_inlined_code *code = profile->inlined_code;
	for (size_t i = 0; i < profile->n_inlined_code; i++) {
		if (code[i].start > code[i].end)
			return false;
		if (i &&
		    (code[i].module < code[i - 1].module ||
		     (code[i].module == code[i - 1].module && code[i].start < code[i - 1].end)))
			return false;
	}
	return true;
}

static bool flop_known(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_sum_flop; i++) {
		const struct profile_sum_flop *row = &profile->sum_flop[i];
		if (row->kind >= FLOP_KINDS || row->precision >= FLOP_PRECISIONS ||
		    row->width >= FLOP_WIDTHS)
			return false;
	}
	return true;
}

struct rf_error *profile_check(const struct profile *profile, const char *path)
{
	struct rf_error *error = check_all_references(profile, path);
	if (error)
		return error;
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].start > profile->functions[i].end)
			return profile_damaged(path, "a function ends before it starts");
	for (size_t i = 0; i < profile->n_lines; i++)
		if (profile->lines[i].start > profile->lines[i].end)
			return profile_damaged(path, "a source line ends before it starts");
	if (!inlined_in_order(profile))
		return profile_damaged(path, "inlined code overlaps or is out of order");
	if (!flop_known(profile))
		return profile_damaged(path, "a sum is of a kind of flop that is not known");
	return NULL;
}

bool profile_is_sound(const struct profile *profile)
{
	struct rf_error *error = profile_check(profile, "the profile");
	const bool sound = !error;
	rf_error_destroy(error);
	return sound;
}
