/* libdebuginfod is loaded when it is wanted: it brings libcurl and a dozen more libraries, which
 * would make each start of rfprof slower. */
#include "symbols/debuginfod.h"

#include "base/clock.h"
#include "base/trusted_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_DEBUGINFOD

#include <elfutils/debuginfod.h>

#define SILENCE_S 30 /* without DEBUGINFOD_TIMEOUT */

struct client_library {
	void *handle;
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_end) *end;
	__typeof__(debuginfod_set_progressfn) *set_progress;
	__typeof__(debuginfod_set_user_data) *set_context;
	__typeof__(debuginfod_get_url) *url;
	__typeof__(debuginfod_find_debuginfo) *find;
};

struct debuginfod {
	struct client_library library;
	debuginfod_client *client;
	struct symbol_fetcher fetcher;
	debuginfod_progress *progress;
	void *context;
	struct sigaction before;
	bool handles_signal;
	char *path;          /* of the last file */
	const char *module;  /* that is being fetched */
	long done;           /* its bytes */
	uint64_t heard_ns;   /* when these last grew */
	uint64_t silence_ns; /* allowed */
	bool silent;         /* a server said nothing for as long */
	size_t fetched, missing;
	char *trouble;
};

/* What a progress call finds its way back with. */
static __typeof__(debuginfod_get_user_data) *get_context;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = 1;
}

static bool load(struct client_library *library)
{
	library->handle = dlopen(DEBUGINFOD_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return false;
	*(void **)&get_context = dlsym(library->handle, "debuginfod_get_user_data");
#define FIND(member, name) (*(void **)&library->member = dlsym(library->handle, name)) != NULL
	return get_context && FIND(begin, "debuginfod_begin") && FIND(end, "debuginfod_end") &&
	       FIND(set_progress, "debuginfod_set_progressfn") &&
	       FIND(set_context, "debuginfod_set_user_data") && FIND(url, "debuginfod_get_url") &&
	       FIND(find, "debuginfod_find_debuginfo");
#undef FIND
}

bool debuginfod_has_library(void)
{
	struct client_library library;
	const bool there = load(&library);
	if (library.handle)
		dlclose(library.handle);
	return there;
}

struct rf_error *debuginfod_check(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	if (!debuginfod_has_library())
		return rf_error_create(RF_EUNAVAILABLE, "install libdebuginfod1",
				       "--debuginfod: %s cannot be loaded", DEBUGINFOD_SONAME);
	if (!urls || !urls[strspn(urls, " ")])
		return rf_error_create(
			RF_EINPUT,
			"set it to your distribution's server, such as "
			"https://debuginfod.debian.net",
			"--debuginfod: DEBUGINFOD_URLS is not set, there is no server to ask");
	return NULL;
}

/* `a` counts bytes only when a server has answered; other than 0 ends the fetching. */
static int on_progress(debuginfod_client *client, long a, long b)
{
	struct debuginfod *debuginfod = get_context(client);
	const bool answered = debuginfod->library.url(client) != NULL;
	const uint64_t now = clock_now_ns();
	if (interrupted)
		return 1;
	if (answered && a > debuginfod->done) {
		debuginfod->done = a;
		debuginfod->heard_ns = now;
	}
	debuginfod->silent = now - debuginfod->heard_ns > debuginfod->silence_ns;
	if (debuginfod->progress && !debuginfod->silent)
		debuginfod->progress(debuginfod->context, debuginfod->module, answered ? a : 0,
				     answered && b > 0 ? b : 0);
	return debuginfod->silent;
}

/* The first trouble is told. */
__attribute__((format(printf, 2, 3))) static void note_trouble(struct debuginfod *debuginfod,
							       const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (!debuginfod->trouble && vasprintf(&debuginfod->trouble, format, arguments) < 0)
		debuginfod->trouble = NULL;
	va_end(arguments);
}

static void note_failure(struct debuginfod *debuginfod, int error)
{
	if (interrupted)
		note_trouble(debuginfod, "interrupted: not all debug information was fetched");
	else if (debuginfod->silent || error == ETIME || error == ETIMEDOUT)
		note_trouble(debuginfod,
			     "no answer for %llu s: not all debug information was fetched",
			     (unsigned long long)(debuginfod->silence_ns / 1000000000));
	else
		note_trouble(debuginfod, "%s: not all debug information was fetched",
			     strerror(error));
}

static int fetch(void *context, const char *module, const char *build_id, const char **path)
{
	struct debuginfod *debuginfod = context;
	free(debuginfod->path);
	debuginfod->path = NULL;
	if (debuginfod->trouble || interrupted) {
		if (interrupted)
			note_failure(debuginfod, 0);
		return -1;
	}
	debuginfod->module = module;
	debuginfod->done = 0;
	debuginfod->silent = false;
	debuginfod->heard_ns = clock_now_ns();
	const int fd = debuginfod->library.find(debuginfod->client, (const unsigned char *)build_id,
						0, &debuginfod->path);
	if (debuginfod->progress)
		debuginfod->progress(debuginfod->context, module, -1, -1);
	/* the client's cache may be a directory that others write to */
	const char *refusal = fd >= 0 ? trusted_file_refusal(fd) : NULL;
	if (refusal) {
		note_trouble(debuginfod, "%s is not used: it %s", debuginfod->path, refusal);
		close(fd);
		return -1;
	}
	if (fd >= 0) {
		debuginfod->fetched++;
		*path = debuginfod->path;
		return fd;
	}
	/* what on_progress ends is "not found", too */
	if (fd == -ENOENT && !interrupted && !debuginfod->silent)
		debuginfod->missing++;
	else
		note_failure(debuginfod, -fd);
	return -1;
}

static void refuse(void *context, const char *module, const char *path)
{
	struct debuginfod *debuginfod = context;
	debuginfod->fetched--;
	note_trouble(debuginfod,
		     "what came for %s is no debug file with its build id, and was not used; it is "
		     "in %s",
		     module, path);
}

/* The client has a limit by that variable as well, and says "not found" when it is reached: it must
 * not come first. */
static uint64_t allowed_silence(void)
{
	const char *word = getenv(DEBUGINFOD_TIMEOUT_ENV_VAR);
	const long given = word ? strtol(word, NULL, 10) : 0,
		   seconds = given > 0 && given < 86400 ? given : SILENCE_S;
	char later[32];
	snprintf(later, sizeof(later), "%ld", 2 * seconds + 60);
	setenv(DEBUGINFOD_TIMEOUT_ENV_VAR, later, 1);
	return (uint64_t)seconds * 1000000000;
}

static void handle_interrupt(struct debuginfod *debuginfod)
{
	const struct sigaction action = {.sa_handler = on_interrupt};
	interrupted = 0;
	if (sigaction(SIGINT, NULL, &debuginfod->before) == 0 &&
	    debuginfod->before.sa_handler != SIG_IGN)
		debuginfod->handles_signal = sigaction(SIGINT, &action, NULL) == 0;
}

struct rf_error *debuginfod_create(debuginfod_progress *progress, void *context,
				   struct debuginfod **out)
{
	struct rf_error *error = debuginfod_check();
	struct debuginfod *debuginfod = error ? NULL : calloc(1, sizeof(*debuginfod));
	if (debuginfod && load(&debuginfod->library))
		debuginfod->client = debuginfod->library.begin();
	if (error || !debuginfod || !debuginfod->client) {
		debuginfod_destroy(debuginfod);
		return error ? error
			     : rf_error_create(RF_EINTERNAL, NULL, "--debuginfod: out of memory");
	}
	debuginfod->fetcher = (struct symbol_fetcher){fetch, refuse, debuginfod};
	debuginfod->progress = progress;
	debuginfod->context = context;
	debuginfod->silence_ns = allowed_silence();
	debuginfod->library.set_context(debuginfod->client, debuginfod);
	debuginfod->library.set_progress(debuginfod->client, on_progress);
	handle_interrupt(debuginfod);
	*out = debuginfod;
	return NULL;
}

/* The library stays loaded: libcurl's own are not made to be unloaded. */
void debuginfod_destroy(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->handles_signal)
		sigaction(SIGINT, &debuginfod->before, NULL);
	if (debuginfod->client)
		debuginfod->library.end(debuginfod->client);
	free(debuginfod->path);
	free(debuginfod->trouble);
	free(debuginfod);
}

const struct symbol_fetcher *debuginfod_fetcher(struct debuginfod *debuginfod)
{
	return &debuginfod->fetcher;
}

struct debuginfod_result debuginfod_result(const struct debuginfod *debuginfod)
{
	return (struct debuginfod_result){debuginfod->fetched, debuginfod->missing,
					  debuginfod->trouble};
}

#else

bool debuginfod_has_library(void)
{
	return false;
}

struct rf_error *debuginfod_check(void)
{
	return rf_error_create(RF_EUNAVAILABLE, "build it where libdebuginfod-dev is installed",
			       "--debuginfod: this rfprof was built without libdebuginfod");
}

struct rf_error *debuginfod_create(debuginfod_progress *progress, void *context,
				   struct debuginfod **out)
{
	return debuginfod_check();
}

void debuginfod_destroy(struct debuginfod *debuginfod)
{
}

const struct symbol_fetcher *debuginfod_fetcher(struct debuginfod *debuginfod)
{
	return NULL;
}

struct debuginfod_result debuginfod_result(const struct debuginfod *debuginfod)
{
	return (struct debuginfod_result){0};
}

#endif
