/* The one error idiom of rfprof.
 *
 * A function that can fail returns a `struct rf_error *`: NULL for success, else an object that
 * says what was tried, on what, why it failed, and what the user can do next.  Only `main` and
 * the commands print errors; everything else hands them up.  Steps that follow each other until
 * one fails are `a() ?: b() ?: c()`: GNU's short form gives the first that is not NULL. */
#pragma once

#include <stdio.h>

enum rf_error_code {
	RF_EINPUT = 1,   /* what the user gave is wrong: exit status 2 */
	RF_EFORMAT,      /* a file is not what it should be: exit status 2 */
	RF_EACCESS,      /* the system refuses something: exit status 2 */
	RF_EUNAVAILABLE, /* a source of data does not exist here; the caller takes the next one */
	RF_EINTERNAL,    /* a fault of rfprof: exit status 2 */
};

struct rf_error {
	enum rf_error_code code;
	int errnum;    /* errno behind it, or 0 */
	char *message; /* one line, without the program's name and without a full stop */
	char *hint;    /* the next step for the user, or NULL */
};

/* Makes an error.  `hint` is the next step for the user (copied), or NULL; ": " and
 * strerror(errnum) are appended to the message unless errnum is 0; for EMFILE, the limit.  Never
 * returns NULL: when memory is short a static object stands in. */
struct rf_error *rf_error_errno(enum rf_error_code code, int errnum, const char *hint,
				const char *format, ...)
	__attribute__((format(printf, 4, 5), returns_nonnull));
#define rf_error_create(code, hint, ...) rf_error_errno(code, 0, hint, __VA_ARGS__)

/* The one error for memory that is short; it needs none itself. */
struct rf_error *rf_error_no_memory(void) __attribute__((returns_nonnull));

/* Frees an error; NULL is allowed. */
void rf_error_destroy(struct rf_error *error);

/* Prints "rfprof: MESSAGE (HINT)" as one line, cleaned (base/text.h). */
void rf_error_print(const struct rf_error *error, FILE *stream);
