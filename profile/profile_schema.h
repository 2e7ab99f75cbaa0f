/* The profile as one SQLite file: every table is described once, by its columns; creating,
 * writing, reading and checking all follow that description.  docs/profile-format.md is the
 * user's view of the same. */
#pragma once

#include "profile/profile.h"

#include <stddef.h>

/* What a user can do about a damaged file. */
#define PROFILE_DAMAGED_HINT \
	"record the program again, or copy the file again from where it was whole"
#define PROFILE_APPLICATION_ID 0x72667072 /* "rfpr"; PRAGMA application_id */

enum column_type {
	COLUMN_U32,
	COLUMN_INT,       /* from `low` to `high`, where these are not both 0 */
	COLUMN_U64,       /* an address, any: its two's complement, SQLite's integers are signed */
	COLUMN_I64,       /* what is added up, and can be below 0 */
	COLUMN_STEP,      /* int64_t, from one address to another */
	COLUMN_WHOLE,     /* uint64_t, a size or a point in time */
	COLUMN_AMOUNT,    /* uint64_t, what is added up */
	COLUMN_ENUM,      /* an enum from `low` to `high` */
	COLUMN_ROOF_TERM, /* the word of an enum roof_isa, …: `term` says which */
	COLUMN_BOOL,
	COLUMN_DOUBLE, /* not negative */
	COLUMN_SQUARE, /* of such a one */
	COLUMN_RATE,   /* of a roof; 0: none */
	COLUMN_REAL,
	COLUMN_TEXT,     /* char * */
	COLUMN_KEY,      /* the same, another one in each row */
	COLUMN_CHARS,    /* char[size] */
	COLUMN_BLOB,     /* uint8_t *, its length in the uint32_t at `length` */
	COLUMN_REF,      /* row number in table `target` */
	COLUMN_REF_NULL, /* the same, or PROFILE_NONE as NULL */
	COLUMN_TYPES
};

enum table_id {
#define TABLE(id, name, row, since, kind) id,
#include "profile/tables.def"
	N_TABLES
};

/* How SQLite stores columns of a type, and what their values can be: a profile with any other is
 * refused, so that what reads it can calculate with them. */
struct column_storage {
	const char *sql;    /* behind the column's name; a reference: and before the target's */
	int class;          /* SQLITE_INTEGER, … */
	int64_t low, high;  /* of integers; of an enum: see its column */
	double least, most; /* of real numbers, beside 0 */
	double total;       /* what the rows of a column add up to at most; 0: they do not add up */
};
extern const struct column_storage profile_storage[COLUMN_TYPES];

struct column {
	const char *name;
	enum column_type type;
	size_t offset, size; /* of the member */
	/* see enum column_type */
	int low, high;
	enum roof_term term;
	size_t length;
	enum table_id target;
	uint32_t since; /* first schema version that has it; 0: that of its table */
};

/* A table of sums is read instead of the details that it sums up; source lines, of which there are
 * many, are read for those views that show them. */
enum table_kind { TABLE_PLAIN, TABLE_DETAIL, TABLE_LINES, TABLE_SUM };

struct table {
	const char *name;
	uint32_t since; /* first schema version that has it */
	enum table_kind kind;
	const struct column *columns;
	size_t n_columns;
	size_t element;                   /* sizeof one row in memory */
	size_t items, n_items, cap_items; /* offsets in struct profile */
	bool packed;                      /* `items`: struct packed_rows */
};

extern const struct table profile_tables[N_TABLES];
/* Indexes and views for the user's own SQL; rfprof itself does not read them. */
extern const char profile_views[];

/* The row count of `table` in `profile`, and its rows: an array, or packed. */
size_t *profile_table_count(const struct profile *profile, const struct table *table);
void **profile_table_items(const struct profile *profile, const struct table *table);
struct packed_rows *profile_table_packed(const struct profile *profile, const struct table *table);

/* Reads the rows of any table one after the other. */
struct row_reader {
	const struct table *table;
	const char *next;
	size_t left;
	struct packed_reader packed;
};
struct row_reader row_reader_of(const struct profile *profile, const struct table *table);
/* The next row, there until the one behind it is asked for; NULL: there is none. */
const char *row_reader_next(struct row_reader *reader);

/* Appends a zeroed row to an array, so that whatever is put into it is freed with the profile.
 * NULL: no memory, or too many rows. */
void *profile_append_row(struct profile *profile, const struct table *table);
/* Frees what a row points to; all rows of all tables. */
void profile_free_row(const struct table *table, char *row);
void profile_free_tables(struct profile *profile);

/* How SQLite creates the table in a version of the schema, word for word; free with sqlite3_free.
 * NULL: no memory. */
char *profile_table_sql(const struct table *table, uint32_t version);
