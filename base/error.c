/* Errors as objects: how they are made, printed and freed. */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct rf_error out_of_memory = {
	.code = RF_EINTERNAL,
	.errnum = ENOMEM,
	.message = (char *)"out of memory",
};

struct rf_error *rf_error_no_memory(void)
{
	return &out_of_memory;
}

struct rf_error *rf_error_errno(enum rf_error_code code, int errnum, const char *hint,
				const char *format, ...)
{
	va_list args;
	struct rf_error *error = calloc(1, sizeof(*error));
	if (!error)
		return &out_of_memory;
	error->code = code;
	error->errnum = errnum;
	va_start(args, format);
	if (vasprintf(&error->message, format, args) < 0)
		error->message = NULL;
	va_end(args);
	if (errnum && error->message) {
		char *with_cause;
		if (asprintf(&with_cause, "%s: %s", error->message, strerror(errnum)) >= 0) {
			free(error->message);
			error->message = with_cause;
		}
	}
	error->hint = hint ? strdup(hint) : NULL;
	if (error->message)
		return error;
	free(error->hint);
	free(error);
	return &out_of_memory;
}

void rf_error_destroy(struct rf_error *error)
{
	if (!error || error == &out_of_memory)
		return;
	free(error->message);
	free(error->hint);
	free(error);
}

void rf_error_print(const struct rf_error *error, FILE *stream)
{
	if (error->hint)
		fprintf(stream, "rfprof: %s (%s)\n", error->message, error->hint);
	else
		fprintf(stream, "rfprof: %s\n", error->message);
}
