/* Errors as objects: how they are made, printed and freed. */
#include "base/error.h"

#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct rf_error out_of_memory = {
	.code = RF_EINTERNAL,
	.errnum = ENOMEM,
	.message = (char *)"out of memory",
};

struct rf_error *rf_error_no_memory(void)
{
	return &out_of_memory;
}

/* What to say of EMFILE, with the limit; valid until this thread's next call. */
static const char *descriptors_reached(void)
{
	static _Thread_local char text[96];
	struct rlimit limit = {0};
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, sizeof(text), "rfprof has reached its limit of %llu open files (ulimit -n)",
		 (unsigned long long)limit.rlim_cur);
	return text;
}

/* Takes `tried`. */
static char *add_cause(char *tried, int errnum)
{
	char *text;
	if (asprintf(&text, "%s: %s", tried,
		     errnum == EMFILE ? descriptors_reached() : strerror(errnum)) < 0)
		return tried;
	free(tried);
	return text;
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
	if (errnum && error->message)
		error->message = add_cause(error->message, errnum);
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
	/* names of files, and what libraries say of a file's contents */
	char *message = text_clean(error->message),
	     *hint = error->hint ? text_clean(error->hint) : NULL;
	fprintf(stream, "rfprof: %s", message ? message : "out of memory");
	if (hint)
		fprintf(stream, " (%s)", hint);
	fputc('\n', stream);
	free(message);
	free(hint);
}
