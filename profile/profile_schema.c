/* The tables of a profile file. */
#include "profile/profile_schema.h"

#include "base/array.h"
#include "base/text.h"

#include <assert.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* In 36 years a clock of nanoseconds passes 2^60; 2^62 is what sums of such numbers keep below,
 * which leaves room for their signs.  A roof is in 10^9 per second. */
#define MOST (INT64_C(1) << 60)
#define MOST_TOTAL 0x1p62

const struct column_storage profile_storage[COLUMN_TYPES] = {
	[COLUMN_U32] = {"INTEGER NOT NULL", SQLITE_INTEGER, 0, UINT32_MAX},
	[COLUMN_INT] = {"INTEGER NOT NULL", SQLITE_INTEGER, INT_MIN, INT_MAX},
	[COLUMN_U64] = {"INTEGER NOT NULL", SQLITE_INTEGER, INT64_MIN, INT64_MAX},
	[COLUMN_I64] = {"INTEGER NOT NULL", SQLITE_INTEGER, -MOST, MOST, .total = MOST_TOTAL},
	[COLUMN_STEP] = {"INTEGER NOT NULL", SQLITE_INTEGER, -MOST, MOST},
	[COLUMN_WHOLE] = {"INTEGER NOT NULL", SQLITE_INTEGER, 0, MOST},
	[COLUMN_AMOUNT] = {"INTEGER NOT NULL", SQLITE_INTEGER, 0, MOST, .total = MOST_TOTAL},
	[COLUMN_ENUM] = {"INTEGER NOT NULL", SQLITE_INTEGER},
	[COLUMN_ROOF_TERM] = {"TEXT NOT NULL", SQLITE_TEXT},
	[COLUMN_BOOL] = {"INTEGER NOT NULL", SQLITE_INTEGER, 0, 1},
	[COLUMN_DOUBLE] = {"REAL NOT NULL", SQLITE_FLOAT, .least = 0, .most = 1e24},
	[COLUMN_SQUARE] = {"REAL NOT NULL", SQLITE_FLOAT, .least = 0, .most = 1e48},
	[COLUMN_RATE] = {"REAL NOT NULL", SQLITE_FLOAT, .least = 1e-9, .most = 1e12},
	[COLUMN_REAL] = {"REAL NOT NULL", SQLITE_FLOAT, .least = -1e24, .most = 1e24},
	[COLUMN_TEXT] = {"TEXT NOT NULL", SQLITE_TEXT},
	[COLUMN_KEY] = {"TEXT NOT NULL UNIQUE", SQLITE_TEXT},
	[COLUMN_CHARS] = {"TEXT NOT NULL", SQLITE_TEXT},
	[COLUMN_BLOB] = {"BLOB NOT NULL", SQLITE_BLOB},
	/* PROFILE_NONE is none */
	[COLUMN_REF] = {"INTEGER NOT NULL REFERENCES", SQLITE_INTEGER, 0, PROFILE_NONE - 1},
	[COLUMN_REF_NULL] = {"INTEGER REFERENCES", SQLITE_INTEGER, 0, PROFILE_NONE - 1},
};

#define TABLE(id, name, row, since, kind) static const struct column name##_columns[] = {
#define COLUMN(row, name, type, member, ...)                                                    \
	{#name, COLUMN_##type, offsetof(struct row, member), sizeof(((struct row *)0)->member), \
	 __VA_ARGS__},
#define END \
	}   \
	;
#include "profile/tables.def"

/* The text of a table is part of the schema's version: a file whose tables read differently is
 * refused, so a view or generated column cannot stand in for a table. */
const struct table profile_tables[N_TABLES] = {
#define TABLE(id, name, row, since, kind)                  \
	{#name,                                            \
	 since,                                            \
	 TABLE_##kind,                                     \
	 name##_columns,                                   \
	 sizeof(name##_columns) / sizeof(*name##_columns), \
	 sizeof(struct row),                               \
	 offsetof(struct profile, name),                   \
	 offsetof(struct profile, n_##name),               \
	 offsetof(struct profile, cap_##name)},
#define PACKED_TABLE(id, name, row, since, kind)           \
	{#name,                                            \
	 since,                                            \
	 TABLE_##kind,                                     \
	 name##_columns,                                   \
	 sizeof(name##_columns) / sizeof(*name##_columns), \
	 sizeof(struct row),                               \
	 offsetof(struct profile, name),                   \
	 offsetof(struct profile, name.n),                 \
	 .packed = true},
#include "profile/tables.def"
};

const char profile_views[] =
	"CREATE INDEX functions_by_place ON functions(module_id, start_offset);"
	"CREATE VIEW frame_functions AS SELECT frames.id AS frame_id, (SELECT f.id FROM functions "
	"f "
	"WHERE f.module_id = frames.module_id AND f.start_offset <= frames.code_offset "
	"ORDER BY f.start_offset DESC LIMIT 1) AS function_id FROM frames;"
	"CREATE VIEW function_times AS SELECT f.id AS function_id, f.name, m.name AS module, "
	"count(*) AS samples, sum(t.weight_ns) / 1e9 AS time_s FROM samples t "
	"JOIN frame_functions ff ON ff.frame_id = t.frame_id JOIN functions f ON f.id = "
	"ff.function_id "
	"JOIN modules m ON m.id = f.module_id GROUP BY f.id ORDER BY time_s DESC;"
	"CREATE VIEW block_executions AS SELECT b.id AS block_id, m.name AS module, "
	"b.start_offset, "
	"b.size_bytes, sum(c.executions) AS executions FROM counts c JOIN blocks b "
	"ON b.id = c.block_id JOIN modules m ON m.id = b.module_id GROUP BY b.id;";

size_t *profile_table_count(const struct profile *profile, const struct table *table)
{
	return (size_t *)((char *)profile + table->n_items);
}

void **profile_table_items(const struct profile *profile, const struct table *table)
{
	return (void **)((char *)profile + table->items);
}

struct packed_rows *profile_table_packed(const struct profile *profile, const struct table *table)
{
	assert(table->packed);
	return (struct packed_rows *)((char *)profile + table->items);
}

struct row_reader row_reader_of(const struct profile *profile, const struct table *table)
{
	struct row_reader reader = {.table = table, .left = *profile_table_count(profile, table)};
	if (table->packed)
		reader.packed = packed_reader_of(profile_table_packed(profile, table));
	else
		reader.next = *profile_table_items(profile, table);
	return reader;
}

const char *row_reader_next(struct row_reader *reader)
{
	const char *row = reader->next;
	if (reader->table->packed)
		return packed_reader_next(&reader->packed);
	if (!reader->left)
		return NULL;
	reader->left--;
	reader->next += reader->table->element;
	return row;
}

void *profile_append_row(struct profile *profile, const struct table *table)
{
	size_t *n = profile_table_count(profile, table);
	assert(!table->packed);
	size_t *cap = (size_t *)((char *)profile + table->cap_items);
	if (*n >= PROFILE_NONE ||
	    !rf_array_reserve(profile_table_items(profile, table), *n, cap, table->element))
		return NULL;
	assert(*n < *cap);
	char *row = (char *)*profile_table_items(profile, table) + (*n)++ * table->element;
	return memset(row, 0, table->element);
}

void profile_free_row(const struct table *table, char *row)
{
	for (size_t c = 0; c < table->n_columns; c++) {
		const enum column_type type = table->columns[c].type;
		if (type == COLUMN_TEXT || type == COLUMN_KEY || type == COLUMN_BLOB)
			free(*(void **)(row + table->columns[c].offset));
	}
}

/* Whether its rows have a column from `first` to `last`: many tables have numbers alone. */
static bool has_column(const struct table *table, enum column_type first, enum column_type last)
{
	bool any = false;
	for (size_t c = 0; c < table->n_columns; c++)
		any |= table->columns[c].type >= first && table->columns[c].type <= last;
	return any;
}

void profile_free_tables(struct profile *profile)
{
	for (const struct table *table = profile_tables; table < profile_tables + N_TABLES;
	     table++) {
		if (table->packed) {
			packed_rows_deinit(profile_table_packed(profile, table));
			continue;
		}
		char *row = *profile_table_items(profile, table);
		const bool any = has_column(table, COLUMN_TEXT, COLUMN_BLOB);
		for (size_t n = any ? *profile_table_count(profile, table) : 0; n > 0;
		     n--, row += table->element)
			profile_free_row(table, row);
		free(*profile_table_items(profile, table));
	}
}

/* A text that cannot be cleaned, since memory is short, becomes "". */
static void clean_text(char **text)
{
	if (!*text || text_is_clean(*text))
		return;
	char *clean = text_clean(*text);
	**text = '\0';
	if (!clean)
		return;
	free(*text);
	*text = clean;
}

static void clean_column(const struct column *column, char *row)
{
	char *field = row + column->offset;
	if (column->type == COLUMN_TEXT || column->type == COLUMN_KEY)
		clean_text((char **)field);
	else if (column->type == COLUMN_CHARS)
		text_clean_in_place(field);
}

void profile_clean_texts(struct profile *profile)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct table *table = &profile_tables[t];
		char *row = *profile_table_items(profile, table);
		const bool any = !table->packed && has_column(table, COLUMN_TEXT, COLUMN_CHARS);
		for (size_t n = any ? *profile_table_count(profile, table) : 0; n > 0;
		     n--, row += table->element)
			for (size_t c = 0; c < table->n_columns; c++)
				clean_column(&table->columns[c], row);
	}
}

char *profile_table_sql(const struct table *table, uint32_t version)
{
	sqlite3_str *sql = sqlite3_str_new(NULL);
	sqlite3_str_appendf(sql, "CREATE TABLE %s (id INTEGER PRIMARY KEY", table->name);
	for (size_t i = 0; i < table->n_columns; i++) {
		const struct column *column = &table->columns[i];
		if (column->since > version)
			continue;
		sqlite3_str_appendf(sql, ", %s %s", column->name,
				    profile_storage[column->type].sql);
		if (column->type == COLUMN_REF || column->type == COLUMN_REF_NULL)
			sqlite3_str_appendf(sql, " %s(id)", profile_tables[column->target].name);
	}
	sqlite3_str_appendall(sql, ") STRICT");
	return sqlite3_str_finish(sql);
}
