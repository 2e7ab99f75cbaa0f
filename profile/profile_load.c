/* Reading a profile from its file.  Nothing in the file is trusted. */
#include "profile/profile_schema.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the schema, that can still be read; tables that came later stay empty. */
#define OLDEST_VERSION 2

struct reader {
	sqlite3 *db;
	const char *path;
	struct profile *profile;
	uint32_t version;
	uint64_t budget; /* bytes of text, code and rows that a file of this size can hold */
	bool wants_sums;
};

static struct rf_error *damaged_file(const char *path, const char *what)
{
	return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT, "%s is damaged: %s", path, what);
}

static struct rf_error *damaged(const struct reader *reader, const char *what)
{
	return damaged_file(reader->path, what);
}

static struct rf_error *no_memory(const char *path)
{
	return rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot read %s", path);
}

static uint32_t big_endian(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static struct rf_error *foreign(const char *path, const char *why)
{
	return rf_error_create(RF_EFORMAT, "give a file that rfprof has saved (usually *.rfp)",
			       "%s is not an rfprof profile: %s", path, why);
}

/* Checks the 100-byte header (www.sqlite.org/fileformat.html, section 1.3) before SQLite sees the
 * file, to say what is wrong in the user's words. */
static struct rf_error *check_header(const char *path, const uint8_t *header, size_t n,
				     uint64_t size)
{
	static const char magic[16] = "SQLite format 3";
	if (n == 0)
		return foreign(path, "it is empty");
	if (memcmp(header, magic, n < 16 ? n : 16) != 0)
		return foreign(path, "it is another kind of file");
	if (n < 100)
		return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT, "%s is truncated", path);
	if (big_endian(header + 68) != PROFILE_APPLICATION_ID)
		return foreign(path, "it is an SQLite file of another program");
	uint32_t version = big_endian(header + 60);
	if (version > PROFILE_SCHEMA_VERSION)
		return rf_error_create(
			RF_EFORMAT, "update rfprof",
			"%s has schema version %u, newer than the %d that this rfprof reads", path,
			version, PROFILE_SCHEMA_VERSION);
	if (version > 0 && version < OLDEST_VERSION)
		return rf_error_create(
			RF_EFORMAT, "profile the program again",
			"%s has schema version %u, older than the %d that this rfprof reads", path,
			version, OLDEST_VERSION);
	if (version == 0)
		return foreign(path, "it has no schema version");
	uint64_t page = header[16] << 8 | header[17];
	uint64_t wanted = (page == 1 ? 65536 : page) * big_endian(header + 28);
	bool count_valid = big_endian(header + 24) == big_endian(header + 92);
	if (count_valid && size < wanted)
		return rf_error_create(RF_EFORMAT, PROFILE_DAMAGED_HINT,
				       "%s is truncated: %llu of %llu bytes are there", path,
				       (unsigned long long)size, (unsigned long long)wanted);
	return NULL;
}

static struct rf_error *check_file(const char *path, uint64_t *size, uint32_t *version)
{
	uint8_t header[100];
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return rf_error_errno(RF_EINPUT, errno, "check the file's name", "cannot open %s",
				      path);
	ssize_t n = fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) ? -2 : read(fd, header, 100);
	int errnum = errno;
	close(fd);
	if (n == -2)
		return rf_error_create(RF_EINPUT, "give the name of a file",
				       "%s is not a regular file", path);
	if (n < 0)
		return rf_error_errno(RF_EINPUT, errnum, NULL, "cannot read %s", path);
	*size = (uint64_t)info.st_size;
	struct rf_error *error = check_header(path, header, (size_t)n, *size);
	if (!error)
		*version = big_endian(header + 60);
	return error;
}

static struct rf_error *read_error(const struct reader *reader)
{
	int status = sqlite3_errcode(reader->db);
	if (status == SQLITE_NOMEM)
		return no_memory(reader->path);
	if (status == SQLITE_BUSY || status == SQLITE_LOCKED)
		return rf_error_create(RF_EACCESS, "end the other program first",
				       "%s is in use by another program", reader->path);
	return damaged(reader, sqlite3_errmsg(reader->db));
}

/* The table must be the one that this version creates, word for word. */
static struct rf_error *check_table(const struct reader *reader, const struct table *table)
{
	sqlite3_stmt *statement = NULL;
	if (sqlite3_prepare_v2(reader->db,
			       "SELECT sql FROM sqlite_schema WHERE type='table' AND name=?1 "
			       "AND rootpage > 0",
			       -1, &statement, NULL) != SQLITE_OK)
		return read_error(reader);
	sqlite3_bind_text(statement, 1, table->name, -1, SQLITE_STATIC);
	int status = sqlite3_step(statement);
	const char *sql =
		status == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	char *wanted = profile_table_sql(table);
	bool same = sql && wanted && strcmp(sql, wanted) == 0;
	sqlite3_free(wanted);
	struct rf_error *error = NULL;
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		error = read_error(reader);
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
	if (column->type == COLUMN_ENUM)
		return value >= column->low && value <= column->high;
	return value >= storage->low && value <= storage->high;
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
		*(double *)field = sqlite3_column_double(statement, at);
		return isfinite(*(double *)field) && *(double *)field >= 0;
	case COLUMN_REAL:
		*(double *)field = sqlite3_column_double(statement, at);
		return isfinite(*(double *)field);
	default:
		return read_integer(column, sqlite3_column_int64(statement, at), field);
	}
}

static struct rf_error *bad_row(const struct reader *reader, const struct table *table, size_t row)
{
	char what[96];
	snprintf(what, sizeof(what), "row %zu of table \"%s\" makes no sense", row, table->name);
	return damaged(reader, what);
}

static struct rf_error *read_row(struct reader *reader, const struct table *table,
				 sqlite3_stmt *statement)
{
	const size_t n = *profile_table_count(reader->profile, table);
	if (sqlite3_column_int64(statement, 0) != (int64_t)n || !take_budget(reader, 4))
		return bad_row(reader, table, n);
	char *row = profile_append_row(reader->profile, table);
	if (!row)
		return no_memory(reader->path);
	for (size_t c = 0; c < table->n_columns; c++)
		if (!read_column(reader, statement, (int)c + 1, &table->columns[c], row))
			return bad_row(reader, table, n);
	return NULL;
}

static struct rf_error *read_table(struct reader *reader, const struct table *table)
{
	struct rf_error *error = NULL;
	char *sql = sqlite3_mprintf("SELECT * FROM %s ORDER BY id", table->name);
	sqlite3_stmt *statement = NULL;
	int status = sql ? sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
	sqlite3_free(sql);
	if (status != SQLITE_OK)
		return read_error(reader);
	while (!error && (status = sqlite3_step(statement)) == SQLITE_ROW)
		error = read_row(reader, table, statement);
	if (!error && status != SQLITE_DONE)
		error = read_error(reader);
	sqlite3_finalize(statement);
	return error;
}

/* All tables have to be there as they were made, also those that are not read now. */
static struct rf_error *read_tables(struct reader *reader, enum table_kind kind)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct table *table = &profile_tables[t];
		if (table->since > reader->version)
			continue;
		struct rf_error *error = kind == TABLE_PLAIN ? check_table(reader, table) : NULL;
		if (!error && table->kind == kind)
			error = read_table(reader, table);
		if (error)
			return error;
	}
	return NULL;
}

/* ---- what holds for every profile: a file in which it does not is refused ---- */

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
		return damaged_file(path, what);
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

/* Each row refers only to rows that are there (a parent to an earlier one), code ends behind its
 * start, inlined code is in order, and sums are of known kinds of flop. */
static struct rf_error *check_profile(const struct profile *profile, const char *path)
{
	struct rf_error *error = check_all_references(profile, path);
	if (error)
		return error;
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].start > profile->functions[i].end)
			return damaged_file(path, "a function ends before it starts");
	for (size_t i = 0; i < profile->n_lines; i++)
		if (profile->lines[i].start > profile->lines[i].end)
			return damaged_file(path, "a source line ends before it starts");
	if (!inlined_in_order(profile))
		return damaged_file(path, "inlined code overlaps or is out of order");
	if (!flop_known(profile))
		return damaged_file(path, "a sum is of a kind of flop that is not known");
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

static struct rf_error *read_database(struct reader *reader)
{
	char *name = profile_sqlite_path(reader->path);
	int status = name ? sqlite3_open_v2(name, &reader->db,
					    SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL)
			  : SQLITE_NOMEM;
	sqlite3_free(name);
	if (status != SQLITE_OK)
		return reader->db ? read_error(reader) : no_memory(reader->path);
	/* "Security against malicious database files" (www.sqlite.org/security.html). */
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(reader->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (sqlite3_exec(reader->db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL) != SQLITE_OK)
		return read_error(reader);
	struct rf_error *error = read_tables(reader, TABLE_PLAIN);
	const char *sums = profile_get_fact(reader->profile, PROFILE_SUMS_FACT);
	reader->profile->has_sums =
		reader->wants_sums && sums && strcmp(sums, PROFILE_SUMS_VERSION) == 0;
	if (!error && reader->profile->has_sums)
		error = read_tables(reader, TABLE_SUM);
	/* a profile that was loaded without sums and saved again has the fact, but none */
	reader->profile->has_sums = reader->profile->n_sums > 0;
	if (!error && !reader->profile->has_sums)
		error = read_tables(reader, TABLE_DETAIL);
	return error ? error : check_profile(reader->profile, reader->path);
}

static struct rf_error *load(const char *path, bool wants_sums, struct profile **out)
{
	uint64_t size = 0;
	uint32_t version = 0;
	struct rf_error *error = check_file(path, &size, &version);
	if (error)
		return error;
	struct reader reader = {.path = path,
				.profile = profile_create(),
				.version = version,
				.budget = size,
				.wants_sums = wants_sums};
	if (!reader.profile)
		return no_memory(path);
	error = read_database(&reader);
	sqlite3_close(reader.db);
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
	return load(path, false, out);
}

struct rf_error *profile_load_sums(const char *path, struct profile **out)
{
	return load(path, true, out);
}
