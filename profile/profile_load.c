/* Reading a profile from its file.  Nothing in the file is trusted. */
#include "base/search.h"
#include "profile/page_walk_order.h"
#include "profile/profile_open.h"
#include "profile/profile_schema.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct profile_file file;
	struct profile *profile;
	uint64_t budget; /* bytes of text, code and rows that a file of this size can hold */
	unsigned parts;  /* enum profile_part */
};

static struct rf_error *damaged(const struct reader *reader, const char *what)
{
	return profile_file_damaged(reader->file.path, what);
}

static struct rf_error *no_memory(const char *path)
{
	return rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot read %s", path);
}

/* The table must be the one that the file's version creates, word for word. */
static struct rf_error *check_table(const struct reader *reader, const struct table *table)
{
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(reader->file.db,
			       "SELECT sql FROM sqlite_schema WHERE type='table' AND name=?1 "
			       "AND rootpage > 0",
			       -1, &statement, NULL) != SQLITE_OK)
		return profile_file_error(&reader->file);
	sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
	int status = sqlite3_step(statement);
	const char *sql =
		status == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	char *wanted = profile_table_sql(table, reader->file.version);
	bool same = sql && wanted && strcmp(sql, wanted) == 0;
	sqlite3_free(wanted);
	struct rf_error *error = NULL;
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		error = profile_file_error(&reader->file);
	sqlite3_finalize(statement);
	if (error || same)
		return error;
	char what[64];
	snprintf(what, sizeof(what), "table \"%s\" is missing or changed", table->name);
	return damaged(reader, what);
}

/* Takes `bytes` from what a file of this size can hold: overlapping pages cannot make a small file
 * fill the memory. */
static bool take_budget(struct reader *reader, uint64_t bytes)
{
	if (bytes > reader->budget)
		return false;
	reader->budget -= bytes;
	return true;
}

static bool read_text(struct reader *reader, sqlite3_stmt *statement, int at, char **field)
{
	const char *text = (const char *)sqlite3_column_text(statement, at);
	size_t length = (size_t)sqlite3_column_bytes(statement, at);
	if (!text || strlen(text) != length || !take_budget(reader, length))
		return false;
	*field = strdup(text);
	return *field != NULL;
}

static bool read_chars(sqlite3_stmt *statement, int at, const struct column *column, char *field)
{
	const char *text = (const char *)sqlite3_column_text(statement, at);
	if (!text || strlen(text) >= column->size)
		return false;
	strcpy(field, text);
	return true;
}

static bool read_roof_term(sqlite3_stmt *statement, int at, const struct column *column,
			   void *field)
{
	const char *word = (const char *)sqlite3_column_text(statement, at);
	if (!word || strlen(word) >= ROOF_WORD_BYTES)
		return false;
	*(unsigned *)field = roof_term_find(column->term, word);
	return true;
}

static bool read_blob(struct reader *reader, sqlite3_stmt *statement, int at,
		      const struct column *column, char *row)
{
	const void *bytes = sqlite3_column_blob(statement, at);
	size_t length = (size_t)sqlite3_column_bytes(statement, at);
	assert(column->type == COLUMN_BLOB);
	if (length != *(const uint32_t *)(row + column->length) || !take_budget(reader, length))
		return false;
	uint8_t *copy = malloc(length ? length : 1);
	if (!copy)
		return false;
	if (length)
		memcpy(copy, bytes, length);
	*(uint8_t **)(row + column->offset) = copy;
	return true;
}

static bool read_integer(const struct column *column, int64_t value, void *field)
{
	const struct column_storage *storage = &profile_storage[column->type];
	if (column->type == COLUMN_BOOL)
		*(bool *)field = value == 1;
	else if (column->size == sizeof(int64_t))
		*(int64_t *)field = value;
	else
		*(uint32_t *)field = (uint32_t)value;
	if (column->low || column->high)
		return value >= column->low && value <= column->high;
	return value >= storage->low && value <= storage->high;
}

static bool read_real(const struct column *column, double value, double *field)
{
	const struct column_storage *storage = &profile_storage[column->type];
	*field = value;
	return value == 0 || (value >= storage->least && value <= storage->most);
}

static bool read_column(struct reader *reader, sqlite3_stmt *statement, int at,
			const struct column *column, char *row)
{
	void *field = row + column->offset;
	int class = sqlite3_column_type(statement, at);
	if (column->type == COLUMN_REF_NULL && class == SQLITE_NULL) {
		*(uint32_t *)field = PROFILE_NONE;
		return true;
	}
	if (class != profile_storage[column->type].class)
		return false;
	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_KEY:
		return read_text(reader, statement, at, field);
	case COLUMN_CHARS:
		return read_chars(statement, at, column, field);
	case COLUMN_ROOF_TERM:
		return read_roof_term(statement, at, column, field);
	case COLUMN_BLOB:
		return read_blob(reader, statement, at, column, row);
	case COLUMN_DOUBLE:
	case COLUMN_SQUARE:
	case COLUMN_RATE:
	case COLUMN_REAL:
		return read_real(column, sqlite3_column_double(statement, at), field);
	default:
		return read_integer(column, sqlite3_column_int64(statement, at), field);
	}
}

static struct rf_error *bad_row(const struct reader *reader, const struct table *table, size_t row,
				const char *why)
{
	char what[192];
	snprintf(what, sizeof(what), "row %zu of table \"%s\" makes no sense: %s", row, table->name,
		 why);
	return damaged(reader, what);
}

/* Says which column it is, and its value where that is a number. */
static struct rf_error *bad_column(const struct reader *reader, const struct table *table,
				   size_t row, const struct column *column, sqlite3_stmt *statement,
				   int at)
{
	const int class = sqlite3_column_type(statement, at);
	char why[96];
	if (class == SQLITE_INTEGER)
		snprintf(why, sizeof(why), "%s %" PRId64, column->name,
			 (int64_t)sqlite3_column_int64(statement, at));
	else if (class == SQLITE_FLOAT)
		snprintf(why, sizeof(why), "%s %g", column->name,
			 sqlite3_column_double(statement, at));
	else
		snprintf(why, sizeof(why), "%s", column->name);
	return bad_row(reader, table, row, why);
}

static struct rf_error *read_row(struct reader *reader, const struct table *table,
				 sqlite3_stmt *statement)
{
	const size_t n = *profile_table_count(reader->profile, table);
	if (sqlite3_column_int64(statement, 0) != (int64_t)n)
		return bad_row(reader, table, n, "its number");
	if (!take_budget(reader, 4))
		return bad_row(reader, table, n, "the file is too small for it");
	uint64_t room[PACKED_WORDS] = {0};
	char *row = table->packed ? (char *)room : profile_append_row(reader->profile, table);
	if (!row)
		return no_memory(reader->file.path);
	for (size_t c = 0, at = 1; c < table->n_columns; c++) {
		const struct column *column = &table->columns[c];
		if (column->since <= reader->file.version &&
		    !read_column(reader, statement, (int)at++, column, row))
			return bad_column(reader, table, n, column, statement, (int)at - 1);
	}
	return !table->packed || packed_rows_add(profile_table_packed(reader->profile, table), row,
						 table->element)
		       ? NULL
		       : no_memory(reader->file.path);
}

static struct rf_error *read_table(struct reader *reader, const struct table *table)
{
	struct rf_error *error = NULL;
	char *sql = sqlite3_mprintf("SELECT * FROM %s ORDER BY id", table->name);
	sqlite3_stmt *statement = NULL;
	int status =
		sql ? sqlite3_prepare_v2(reader->file.db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (status != SQLITE_OK)
		return profile_file_error(&reader->file);
	while (!error && (status = sqlite3_step(statement)) == SQLITE_ROW)
		error = read_row(reader, table, statement);
	if (!error && status != SQLITE_DONE)
		error = profile_file_error(&reader->file);
	sqlite3_finalize(statement);
	return error;
}

/* All tables have to be there as they were made, also those that are not read now. */
static struct rf_error *read_tables(struct reader *reader, enum table_kind kind)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct table *table = &profile_tables[t];
		if (table->since > reader->file.version)
			continue;
		struct rf_error *error = kind == TABLE_PLAIN ? check_table(reader, table) : NULL;
		if (!error && table->kind == kind)
			error = profile_file_check(&reader->file, table->name)
					?: read_table(reader, table);
		if (error)
			return error;
	}
	return NULL;
}

#define MOST_COLUMNS 64
/* ---- what holds for every profile: a file in which it does not is refused ---- */

static struct rf_error *check_reference(const struct profile *profile, const struct table *table,
					const struct column *column, size_t i, const char *row,
					const char *path)
{
	const struct table *target = &profile_tables[column->target];
	const bool own = target == table; /* a parent stands before its children */
	const uint32_t value = *(const uint32_t *)(row + column->offset);
	const bool none = value == PROFILE_NONE && column->type == COLUMN_REF_NULL;
	if (none || value < (own ? i : *profile_table_count(profile, target)))
		return NULL;
	char what[128];
	snprintf(what, sizeof(what), "row %zu of table \"%s\" has a %s that is not there", i,
		 table->name, column->name);
	return profile_file_damaged(path, what);
}

static double size_of(const struct column *column, const char *row)
{
	const int64_t value = *(const int64_t *)(row + column->offset);
	assert(column->size == sizeof(value));
	return fabs((double)value);
}

/* What is added up stays within 64 bits, whichever rows are taken together. */
static struct rf_error *check_total(const struct table *table, const struct column *column,
				    double total, const char *path)
{
	if (!(profile_storage[column->type].total > 0) ||
	    total <= profile_storage[column->type].total)
		return NULL;
	char what[128];
	snprintf(what, sizeof(what), "column %s of table \"%s\" adds up to more than can be",
		 column->name, table->name);
	return profile_file_damaged(path, what);
}

static struct rf_error *check_rows(const struct profile *profile, const struct table *table,
				   const char *path)
{
	double totals[MOST_COLUMNS] = {0};
	struct row_reader reader = row_reader_of(profile, table);
	struct rf_error *error = NULL;
	const char *row;
	assert(table->n_columns <= MOST_COLUMNS);
	for (size_t i = 0; !error && (row = row_reader_next(&reader)); i++)
		for (size_t c = 0; !error && c < table->n_columns; c++) {
			const struct column *column = &table->columns[c];
			if (column->type == COLUMN_REF || column->type == COLUMN_REF_NULL)
				error = check_reference(profile, table, column, i, row, path);
			else if (profile_storage[column->type].total > 0)
				totals[c] += size_of(column, row);
		}
	for (size_t c = 0; !error && c < table->n_columns; c++)
		error = check_total(table, &table->columns[c], totals[c], path);
	return error;
}

static struct rf_error *check_columns(const struct profile *profile, const char *path)
{
	struct rf_error *error = NULL;
	for (int t = 0; !error && t < N_TABLES; t++)
		error = check_rows(profile, &profile_tables[t], path);
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

/* Places of a line are looked up by their order, and each one beside all others of its line. */
static bool shared_in_order(const struct profile *profile)
{
	const struct profile_shared_place *places = profile->shared_places;
	size_t n = 0;
	for (size_t i = 0; i < profile->n_shared_places; i++) {
		if (i && places[i].line < places[i - 1].line)
			return false;
		n = i && places[i].line == places[i - 1].line ? n + 1 : 1;
		if (n > PROFILE_SHARED_PLACES)
			return false;
	}
	return profile->n_shared_lines <= PROFILE_SHARED_LINES;
}

static bool branches_in_order(const struct profile *profile)
{
	const struct profile_branch *rows = profile->branches;
	for (size_t i = 1; i < profile->n_branches; i++)
		if (rows[i].module < rows[i - 1].module ||
		    (rows[i].module == rows[i - 1].module && rows[i].offset <= rows[i - 1].offset))
			return false;
	return true;
}

static bool page_walks_in_order(const struct profile *profile)
{
	const struct profile_page_walk *rows = profile->page_walks;
	for (size_t i = 0; i < profile->n_page_walks; i++)
		if (rows[i].walks > rows[i].near_misses || rows[i].near_misses > rows[i].accesses ||
		    (i && page_walk_compare(&rows[i - 1], &rows[i]) >= 0))
			return false;
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

/* What a sample costs is in proportion to its call path.  `frames`: rows that begin with their
 * parent, of `size` bytes each. */
static struct rf_error *check_call_paths(const void *frames, size_t size, size_t n,
					 const char *path)
{
	uint32_t *length = malloc((n + 1) * sizeof(*length));
	bool right = true;
	if (!length)
		return no_memory(path);
	for (size_t i = 0; right && i < n; i++) {
		const uint32_t parent = *(const uint32_t *)((const char *)frames + i * size);
		length[i] = parent == PROFILE_NONE ? 1 : length[parent] + 1;
		right = length[i] <= PROFILE_MAX_FRAMES;
	}
	free(length);
	return right ? NULL : profile_file_damaged(path, "a call path is longer than any can be");
}

static bool python_in_order(const struct profile *profile)
{
	for (size_t i = 1; i < profile->n_python_samples; i++)
		if (profile->python_samples[i].sample <= profile->python_samples[i - 1].sample)
			return false;
	return true;
}

/* Each row refers only to rows that are there (a parent to an earlier one), call paths are not too
 * long, code ends behind its start, inlined code is in order, runs are not too many, sums are of
 * known kinds of flop, and what is added up is not too much. */
static struct rf_error *check_profile(const struct profile *profile, const char *path)
{
	struct rf_error *error = check_columns(profile, path)
		?: check_call_paths(profile->frames, sizeof(*profile->frames), profile->n_frames, path)
		?: check_call_paths(profile->python_frames, sizeof(*profile->python_frames),
				    profile->n_python_frames, path);
	if (error)
		return error;
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].start > profile->functions[i].end)
			return profile_file_damaged(path, "a function ends before it starts");
	for (size_t i = 0; i < profile->n_lines; i++)
		if (profile->lines[i].start > profile->lines[i].end)
			return profile_file_damaged(path, "a source line ends before it starts");
	if (!inlined_in_order(profile))
		return profile_file_damaged(path, "inlined code overlaps or is out of order");
	if (!python_in_order(profile))
		return profile_file_damaged(path, "Python of samples is out of order");
	if (profile->n_timed_runs > PROFILE_MAX_RUNS)
		return profile_file_damaged(path, "more timed runs than there can be");
	if (!shared_in_order(profile))
		return profile_file_damaged(path, "shared lines are too many or out of order");
	if (!branches_in_order(profile))
		return profile_file_damaged(path, "branches are out of order");
	if (!page_walks_in_order(profile))
		return profile_file_damaged(path, "page walks are out of order");
	if (!flop_known(profile))
		return profile_file_damaged(path, "a sum is of a kind of flop that is not known");
	return NULL;
}

bool profile_is_sound(const struct profile *profile)
{
	struct rf_error *error = check_profile(profile, "the profile");
	const bool sound = !error;
	rf_error_destroy(error);
	return sound;
}

/* ---- all of it ---- */

static struct rf_error *read_profile(struct reader *reader)
{
	struct profile *profile = reader->profile;
	struct rf_error *error = read_tables(reader, TABLE_PLAIN);
	if (error)
		return error; /* the last row is but half there: nothing is looked up in it */
	const char *sums = profile_get_fact(profile, PROFILE_SUMS_FACT);
	/* ranks that were merged have nothing else */
	const bool wanted = reader->parts & PROFILE_SUMS || profile->n_ranks > 0;
	if (wanted && sums && strcmp(sums, PROFILE_SUMS_VERSION) == 0)
		error = read_tables(reader, TABLE_SUM);
	/* a profile that was loaded without sums and saved again has the fact, but none */
	profile->has_sums = profile->n_sums > 0;
	if (!error && !profile->has_sums)
		error = read_tables(reader, TABLE_DETAIL);
	if (!error && !profile->has_sums && reader->parts & PROFILE_LINES)
		error = read_tables(reader, TABLE_LINES);
	if (error)
		return error;
	profile_clean_texts(profile);
	return check_profile(profile, reader->file.path);
}

struct rf_error *profile_load_parts(const char *path, unsigned parts, struct profile **out)
{
	struct reader reader = {.profile = profile_create(), .parts = parts};
	if (!reader.profile)
		return no_memory(path);
	struct rf_error *error = profile_file_open(path, &reader.file);
	reader.budget = reader.file.size;
	error = error ?: read_profile(&reader);
	profile_file_close(&reader.file);
	if (error) {
		profile_destroy(reader.profile);
		return error;
	}
	/* sums, or what they were made from, but not both */
	assert(!reader.profile->has_sums ||
	       reader.profile->n_blocks + reader.profile->n_samples == 0);
	*out = reader.profile;
	return NULL;
}

struct rf_error *profile_load(const char *path, struct profile **out)
{
	return profile_load_parts(path, PROFILE_LINES, out);
}
