/* Facts of a profile: single values with a name.  A file has them as text; facts.def says which
 * there are, of what type and in what unit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct profile;

enum fact_type {
	FACT_TEXT,
	FACT_COUNT, /* a whole number, not below 0 */
	FACT_FEW,   /* the same, of what an int counts */
	FACT_REAL,  /* not below 0 */
	FACT_FLAG,  /* "1", or the fact is absent */
};

struct fact_kind {
	const char *key;
	enum fact_type type;
	const char *unit, *meaning;
};

extern const struct fact_kind fact_kinds[];
extern const size_t n_fact_kinds;
/* The fact of that key (of all notes, "note.1" and so on, the same), or NULL when there is no such
 * fact. */
const struct fact_kind *fact_kind(const char *key);

/* Sets a fact (replaces an older value); the value, by printf format, is to be one of its type. */
void profile_set_fact(struct profile *profile, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Removes a fact, if it is there. */
void profile_remove_fact(struct profile *profile, const char *key);
/* Adds a sentence that reports show under the table. */
void profile_add_note(struct profile *profile, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a note that what `path` (foreign text) says could not be read for names, and `why`, in words
 * such as those of confined_failure.  Each is said once, and of many only the first ones. */
void profile_note_unread(struct profile *profile, const char *path, const char *why);

/* The value of a fact as it stands in the file, or NULL. */
const char *profile_get_fact(const struct profile *profile, const char *key);
/* Whether the fact is that text. */
bool profile_fact_is(const struct profile *profile, const char *key, const char *text);
/* Whether a FACT_FLAG is set. */
bool profile_flag_fact(const struct profile *profile, const char *key);
/* The number of a FACT_COUNT, FACT_FEW or FACT_REAL, in its unit; `otherwise` where it is absent,
 * is none or is not in the range of its type (facts.c). */
double profile_number_fact(const struct profile *profile, const char *key, double otherwise);
/* A FACT_COUNT or FACT_FEW as an integer; false where it is absent or anything else. */
bool profile_count_fact(const struct profile *profile, const char *key, long long *count);
