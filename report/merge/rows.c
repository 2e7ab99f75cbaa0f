/* One way to merge for all tables, by the types of their columns. */
#include "report/merge/rows.h"

#include "base/hash.h"
#include "profile/kernel_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What a table's column is for when its rows are merged. */
enum role {
	ROLE_KEY,       /* part of what tells rows apart */
	ROLE_ADD,       /* summed up */
	ROLE_ADD_UP_TO, /* the same, or the most that can be: results of calls may be addresses */
	ROLE_MOST,      /* the greatest one */
	ROLE_KEEP       /* that of the first row */
};

#define MOST_SUM (UINT64_C(1) << 60) /* that a column's value may be (profile_schema.c) */

/* Columns whose role does not follow from their type. */
static const struct exception {
	enum table_id table;
	const char *column;
	enum role role;
} exceptions[] = {
	{FUNCTIONS, "file", ROLE_KEEP},         {FUNCTIONS, "line", ROLE_KEEP},
	{MODULES, "name", ROLE_KEEP},           {OBJECTS, "size_bytes", ROLE_ADD},
	{COUNTERS, "multiplier", ROLE_KEY},     {COUNTERS, "counted_share", ROLE_KEEP},
	{COUNTERS, "missing_share", ROLE_MOST}, {SUMS, "concurrency", ROLE_KEEP},
	{SUMS, "thread_id", ROLE_KEEP},         {SUM_CALLS, "result_bytes", ROLE_ADD_UP_TO},
	{SUM_CODE, "chain_kind", ROLE_KEEP},    {SUM_CODE, "chain_in_memory", ROLE_KEEP},
	{SUM_TRAFFIC, "size_bytes", ROLE_KEEP}, {SUM_WAITS, "threads", ROLE_MOST},
	{SUM_REGIONS, "threads", ROLE_MOST},
};

static enum role role_of(enum table_id id, const struct column *column)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(*exceptions); i++)
		if (exceptions[i].table == id && strcmp(exceptions[i].column, column->name) == 0)
			return exceptions[i].role;
	switch (column->type) {
	case COLUMN_AMOUNT:
	case COLUMN_I64:
	case COLUMN_DOUBLE:
	case COLUMN_SQUARE:
	case COLUMN_REAL:
		return ROLE_ADD;
	case COLUMN_STEP:
	case COLUMN_BLOB:
		return ROLE_KEEP;
	default:
		return ROLE_KEY;
	}
}

static bool is_text(const struct column *column)
{
	return column->type == COLUMN_TEXT || column->type == COLUMN_KEY;
}

static bool is_reference(const struct column *column)
{
	return column->type == COLUMN_REF || column->type == COLUMN_REF_NULL;
}

static bool is_real(const struct column *column)
{
	return column->type == COLUMN_DOUBLE || column->type == COLUMN_SQUARE ||
	       column->type == COLUMN_REAL || column->type == COLUMN_RATE;
}

/* ---- keys ---- */

/* Code without a file has other addresses in each process: its functions are told by their names.
 */
static bool is_by_name(const struct row_merger *merger, enum table_id id, const char *row)
{
	if (id != FUNCTIONS)
		return false;
	const struct profile_function *function = (const void *)row;
	const char *path = merger->into->modules[function->module].path;
	return path[0] == '[' && strcmp(path, PROFILE_KERNEL_MODULE) != 0;
}

static bool is_key(enum table_id id, const struct column *column, bool by_name)
{
	const bool is_place = column->type == COLUMN_U64 && by_name;
	return !is_place && role_of(id, column) == ROLE_KEY;
}

static uint64_t hash_of(const struct row_merger *merger, enum table_id id, const char *row)
{
	const struct table *table = &profile_tables[id];
	const bool by_name = is_by_name(merger, id, row);
	uint64_t parts[2] = {(uint64_t)id + 1, 0};
	for (size_t c = 0; c < table->n_columns; c++) {
		const struct column *column = &table->columns[c];
		const char *field = row + column->offset;
		if (!is_key(id, column, by_name))
			continue;
		const char *text = is_text(column) ? *(char *const *)field : NULL;
		parts[1] = text ? rf_hash(text, strlen(text)) : rf_hash(field, column->size);
		parts[0] = rf_hash(parts, sizeof(parts));
	}
	return parts[0];
}

static bool is_same(const struct row_merger *merger, enum table_id id, const char *a, const char *b)
{
	const struct table *table = &profile_tables[id];
	const bool by_name = is_by_name(merger, id, a);
	bool same = true;
	for (size_t c = 0; same && c < table->n_columns; c++) {
		const struct column *column = &table->columns[c];
		const char *x = a + column->offset, *y = b + column->offset;
		if (is_key(id, column, by_name))
			same = is_text(column) ? strcmp(*(char *const *)x, *(char *const *)y) == 0
					       : memcmp(x, y, column->size) == 0;
	}
	return same;
}

/* ---- rows ---- */

static bool combine_whole(enum role role, size_t size, void *to, const void *more)
{
	const uint64_t a = size == 8 ? *(uint64_t *)to : *(uint32_t *)to;
	const uint64_t b = size == 8 ? *(const uint64_t *)more : *(const uint32_t *)more;
	uint64_t value = role == ROLE_MOST ? (a > b ? a : b) : a + b;
	if (role == ROLE_ADD_UP_TO && value > MOST_SUM)
		value = MOST_SUM;
	if (size == 8)
		*(uint64_t *)to = value;
	else
		*(uint32_t *)to = (uint32_t)value;
	return value <= (size == 8 ? MOST_SUM : UINT32_MAX);
}

static struct rf_error *combine(enum table_id id, char *to, const char *more)
{
	const struct table *table = &profile_tables[id];
	for (size_t c = 0; c < table->n_columns; c++) {
		const struct column *column = &table->columns[c];
		const enum role role = role_of(id, column);
		double *real = (double *)(to + column->offset);
		const double *other = (const double *)(more + column->offset);
		if (role == ROLE_KEY || role == ROLE_KEEP)
			continue;
		if (is_real(column))
			*real = role == ROLE_ADD ? *real + *other : *real > *other ? *real : *other;
		else if (!combine_whole(role, column->size, real, other))
			return rf_error_create(
				RF_EFORMAT, "put fewer ranks together",
				"%s of \"%s\" add up to more than a profile can hold", column->name,
				table->name);
	}
	return NULL;
}

/* `row` with memory of its own for what it points to. */
static struct rf_error *append(struct profile *into, enum table_id id, const char *row)
{
	const struct table *table = &profile_tables[id];
	char *fresh = table->packed ? NULL : profile_append_row(into, table);
	if (table->packed &&
	    packed_rows_add(profile_table_packed(into, table), row, table->element))
		return NULL;
	if (!fresh)
		return rf_error_no_memory();
	for (size_t c = 0; c < table->n_columns; c++) {
		const struct column *column = &table->columns[c];
		const void *from = row + column->offset;
		void *to = fresh + column->offset;
		if (is_text(column)) {
			if (!(*(char **)to = strdup(*(char *const *)from)))
				return rf_error_no_memory();
		} else if (column->type == COLUMN_BLOB) {
			const uint32_t size = *(const uint32_t *)(row + column->length);
			if (!(*(uint8_t **)to = malloc(size + 1)))
				return rf_error_no_memory();
			memcpy(*(uint8_t **)to, *(uint8_t *const *)from, size);
		} else {
			memcpy(to, from, column->size);
		}
	}
	return NULL;
}

/* Its references become those of `into`. */
static void translate(const struct row_merger *merger, enum table_id id, char *row)
{
	const struct table *table = &profile_tables[id];
	for (size_t c = 0; c < table->n_columns; c++) {
		uint32_t *field = (uint32_t *)(row + table->columns[c].offset);
		if (is_reference(&table->columns[c]) && *field != PROFILE_NONE)
			*field = merger->row_of[table->columns[c].target][*field];
	}
}

struct rf_error *row_merger_add(struct row_merger *merger, enum table_id id, const void *from,
				uint32_t *out)
{
	const struct table *table = &profile_tables[id];
	struct u64_map *map = &merger->rows[id];
	assert(!table->packed); /* rows that are added up change where they are */
	union {
		char bytes[1024];
		uint64_t aligned;
	} row;
	if (table->element > sizeof(row))
		return rf_error_create(RF_EINTERNAL, NULL, "a row of \"%s\" is too long",
				       table->name);
	memcpy(row.bytes, from, table->element);
	translate(merger, id, row.bytes);
	uint64_t hash = hash_of(merger, id, row.bytes);
	const uint32_t *found;
	while ((found = u64_map_find(map, hash))) {
		char *there =
			(char *)*profile_table_items(merger->into, table) + *found * table->element;
		if (out)
			*out = *found;
		if (is_same(merger, id, row.bytes, there))
			return combine(id, there, row.bytes);
		hash = hash + 1 ? hash + 1 : 1;
	}
	const uint32_t number = (uint32_t)*profile_table_count(merger->into, table);
	if (out)
		*out = number;
	struct rf_error *error = append(merger->into, id, row.bytes);
	return error || u64_map_set(map, hash, number) ? error : rf_error_no_memory();
}

struct rf_error *row_merger_add_table(struct row_merger *merger, const struct profile *from,
				      enum table_id id)
{
	const struct table *table = &profile_tables[id];
	struct row_reader reader = row_reader_of(from, table);
	struct rf_error *error = NULL;
	const char *row;
	for (size_t i = 0; !error && (row = row_reader_next(&reader)); i++)
		error = row_merger_add(merger, id, row, &merger->row_of[id][i]);
	return error;
}

struct rf_error *row_merger_know_table(struct row_merger *merger, enum table_id id)
{
	const struct table *table = &profile_tables[id];
	struct row_reader reader = row_reader_of(merger->into, table);
	const char *row;
	for (uint32_t i = 0; (row = row_reader_next(&reader)); i++) {
		uint64_t hash = hash_of(merger, id, row);
		while (u64_map_find(&merger->rows[id], hash))
			hash = hash + 1 ? hash + 1 : 1;
		if (!u64_map_set(&merger->rows[id], hash, i))
			return rf_error_no_memory();
	}
	return NULL;
}

struct rf_error *row_merger_append_table(struct row_merger *merger, const struct profile *from,
					 enum table_id id)
{
	const struct table *table = &profile_tables[id];
	struct row_reader reader = row_reader_of(from, table);
	const char *there;
	struct rf_error *error = NULL;
	char *row = malloc(table->element);
	for (size_t i = 0; row && !error && (there = row_reader_next(&reader)); i++) {
		memcpy(row, there, table->element);
		translate(merger, id, row);
		merger->row_of[id][i] = (uint32_t)*profile_table_count(merger->into, table);
		error = append(merger->into, id, row);
	}
	error = row ? error : rf_error_no_memory();
	free(row);
	return error;
}

/* ---- memory ---- */

void row_merger_init(struct row_merger *merger, struct profile *into)
{
	*merger = (struct row_merger){.into = into};
}

static void free_rows(struct row_merger *merger)
{
	for (int t = 0; t < N_TABLES; t++) {
		free(merger->row_of[t]);
		merger->row_of[t] = NULL;
	}
}

struct rf_error *row_merger_begin(struct row_merger *merger, const struct profile *from)
{
	free_rows(merger);
	for (int t = 0; t < N_TABLES; t++) {
		const size_t size =
			(*profile_table_count(from, &profile_tables[t]) + 1) * sizeof(uint32_t);
		merger->row_of[t] = malloc(size);
		if (!merger->row_of[t])
			return rf_error_no_memory();
		memset(merger->row_of[t], 0xff, size);
	}
	return NULL;
}

void row_merger_deinit(struct row_merger *merger)
{
	free_rows(merger);
	for (int t = 0; t < N_TABLES; t++)
		u64_map_deinit(&merger->rows[t]);
}
