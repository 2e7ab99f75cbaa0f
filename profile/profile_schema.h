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
	COLUMN_INT,
	COLUMN_U64, /* stored as its two's complement: SQLite's integers are signed */
	COLUMN_I64,
	COLUMN_RUN,         /* enum profile_run */
	COLUMN_BIRTH,       /* enum process_birth */
	COLUMN_OBJECT_KIND, /* enum object_kind */
	COLUMN_ROOF_KIND,   /* enum roof_kind */
	COLUMN_ROOF_TERM, /* the word of an enum roof_isa, …: which one, enum roof_term in `size` */
	COLUMN_BOOL,
	COLUMN_COUNTER_USE, /* enum counter_use */
	COLUMN_DOUBLE,      /* finite, not negative */
	COLUMN_REAL,        /* finite */
	COLUMN_TEXT,        /* char * */
	COLUMN_CHARS,       /* char[size] */
	COLUMN_BLOB,        /* uint8_t *, its length in the uint32_t at `size` */
	COLUMN_REF,         /* row number in table `target` */
	COLUMN_REF_NULL,    /* the same, or PROFILE_NONE as NULL */
};

enum table_id {
	MODULES,
	THREADS,
	FUNCTIONS,
	BLOCKS,
	COUNTS,
	UNITS,
	FRAMES,
	SAMPLES,
	UNCOUNTED,
	FACTS,
	ROOFS,
	CUSTOM_ROOFS,
	PROCESSES,
	NATIVE_THREADS,
	TRAFFIC,
	OBJECTS,
	OBJECT_TRAFFIC,
	STRIDES,
	WORKING_SETS,
	COUNTERS,
	COUNTER_PLACES,
	LINES,
	INLINED_FUNCTIONS,
	INLINED_CALLS,
	INLINED_CODE,
	SUMS,
	SUM_CLASSES,
	SUM_FLOP,
	SUM_THREADS,
	SUM_TIMES,
	SUM_TRAFFIC,
	SUM_OBJECTS,
	SUM_STRIDES,
	SUM_WORKING_SETS,
	SUM_QUANTITIES,
	N_TABLES
};

struct column {
	const char *name;
	enum column_type type;
	size_t offset;
	size_t size;          /* see enum column_type */
	enum table_id target; /* see enum column_type */
};

/* A table of sums is read instead of the details that it sums up. */
enum table_kind { TABLE_PLAIN, TABLE_DETAIL, TABLE_SUM };

struct table {
	const char *name;
	uint32_t since; /* first schema version that has it */
	enum table_kind kind;
	const char *create; /* the part of CREATE TABLE behind the name */
	const struct column *columns;
	size_t n_columns;
	size_t element;                   /* sizeof one row in memory */
	size_t items, n_items, cap_items; /* offsets in struct profile */
};

extern const struct table profile_tables[N_TABLES];
/* Indexes and views for the user's own SQL; rfprof itself does not read them. */
extern const char profile_views[];

/* The row count and the row array of `table` in `profile`. */
size_t *profile_table_count(const struct profile *profile, const struct table *table);
void **profile_table_items(const struct profile *profile, const struct table *table);

/* "HEAD id, COL, COL, … TAIL" with the table's columns; free with sqlite3_free.  NULL: no memory.
 */
char *profile_column_list(const char *head, const struct table *table, const char *tail);
/* The name of a file as SQLite has to be given it; free with sqlite3_free.  NULL: no memory. */
char *profile_sqlite_path(const char *path);
