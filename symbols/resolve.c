/* symbols_resolve: one row for every function in which a profile was, each module by a child that
 * has no rights (base/confined.h). */
#include "symbols/resolve.h"

#include "base/confined.h"
#include "base/search.h"
#include "symbols/elf_file.h"
#include "symbols/name_code.h"
#include "symbols/resolve_answer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the reader of one module; the names of the largest programs take a minute. */
#define MODULE_SECONDS 300

struct places {
	struct place *items;
	size_t n_items;
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	return rf_compare(a->module, b->module) ?: rf_compare(a->offset, b->offset);
}

static struct rf_error *collect_places(const struct profile *profile, struct places *places)
{
	size_t n = profile->n_blocks + profile->n_frames + profile->n_counter_places;
	places->items = malloc((n + 1) * sizeof(*places->items));
	if (!places->items)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_blocks; i++)
		places->items[places->n_items++] =
			(struct place){profile->blocks[i].start, profile->blocks[i].module, i};
	for (size_t i = 0; i < profile->n_frames; i++)
		places->items[places->n_items++] =
			(struct place){profile->frames[i].offset, profile->frames[i].module,
				       PROFILE_NONE};
	for (size_t i = 0; i < profile->n_counter_places; i++)
		places->items[places->n_items++] =
			(struct place){profile->counter_places[i].offset,
				       profile->counter_places[i].module, PROFILE_NONE};
	qsort(places->items, places->n_items, sizeof(*places->items), compare_places);
	return NULL;
}

/* ---- the child that reads a module, and the files that it wants ---- */

enum { FETCH = RESOLVE_OTHER, REFUSE, NO_MEMORY };

/* What a debug file server has said to one question. */
struct fetched {
	char *build_id, *path; /* path NULL: it has none */
	int fd;                /* in the child */
};

/* More than a debug file and what it shares with others is not asked for. */
enum { MAX_FETCHED = 4 };

struct reading {
	struct module_work *work;
	FILE *answer;
	struct fetched fetched[MAX_FETCHED];
	size_t n_fetched;
};

/* The server is asked by rfprof, which has rights to do so; then another child begins again. */
static int fetch_by_parent(void *context, const char *module, const char *build_id,
			   const char **path)
{
	const struct reading *reading = context;
	for (size_t i = 0; i < reading->n_fetched; i++)
		if (strcmp(reading->fetched[i].build_id, build_id) == 0) {
			*path = reading->fetched[i].path;
			return reading->fetched[i].fd;
		}
	if (reading->n_fetched == MAX_FETCHED)
		return -1;
	confined_put_tag(reading->answer, FETCH);
	confined_put_text(reading->answer, module);
	confined_put_text(reading->answer, build_id);
	confined_finish(reading->answer);
}

static void refuse_by_parent(void *context, const char *module, const char *path)
{
	const struct reading *reading = context;
	confined_put_tag(reading->answer, REFUSE);
	confined_put_text(reading->answer, module);
	confined_put_text(reading->answer, path);
}

static void open_fetched(void *context)
{
	struct reading *reading = context;
	for (size_t i = 0; i < reading->n_fetched; i++)
		if (reading->fetched[i].path)
			reading->fetched[i].fd =
				open(reading->fetched[i].path, O_RDONLY | O_CLOEXEC);
}

static void read_module(void *context, FILE *answer)
{
	struct reading *reading = context;
	struct module_work *work = reading->work;
	const struct resolve_rows first = resolve_rows_of(work->profile);
	const struct symbol_fetcher by_parent = {fetch_by_parent, refuse_by_parent, reading};
	reading->answer = answer;
	work->fetcher = work->fetcher ? &by_parent : NULL;
	struct rf_error *error = name_code(work, name_is_vdso(work) ? -1 : CONFINED_FD);
	if (error)
		confined_put_tag(answer, NO_MEMORY);
	else
		resolve_answer_put(answer, work->profile, &first);
}

/* Asks the server what the child has asked for, and keeps what it says for the next one. */
static bool fetch_for_child(struct reading *reading, struct confined *child)
{
	const struct symbol_fetcher *fetcher = reading->work->fetcher;
	char *module = confined_text(child), *build_id = confined_text(child);
	const char *path = NULL;
	bool kept = module && build_id && fetcher && reading->n_fetched < MAX_FETCHED &&
		    strspn(build_id, "0123456789abcdef") == strlen(build_id);
	if (kept) {
		const int fd = fetcher->fetch(fetcher->context, module, build_id, &path);
		char *copy = fd >= 0 ? strdup(path) : NULL;
		if (fd >= 0)
			close(fd);
		reading->fetched[reading->n_fetched++] = (struct fetched){build_id, copy, -1};
		build_id = NULL;
	}
	free(module);
	free(build_id);
	return kept;
}

static void refuse_for_child(const struct reading *reading, struct confined *child)
{
	const struct symbol_fetcher *fetcher = reading->work->fetcher;
	char *module = confined_text(child), *path = confined_text(child);
	if (module && path && fetcher)
		fetcher->refuse(fetcher->context, module, path);
	free(module);
	free(path);
}

enum outcome { NAMED, AGAIN, FAILED };

/* Takes what a child answers; *why: what is wrong with it, in `child`. */
static enum outcome take_answer(struct reading *reading, struct confined *child,
				struct profile *rows, const char **why)
{
	uint8_t tag;
	bool again = false;
	*why = "its reader's answer makes no sense";
	while ((tag = confined_next(child)) != 0)
		if (tag == FETCH)
			again = fetch_for_child(reading, child);
		else if (tag == REFUSE)
			refuse_for_child(reading, child);
		else if (tag == NO_MEMORY) {
			*why = "its reader had too little memory";
			return FAILED;
		} else if (!resolve_answer_take(child, tag, reading->work->module, rows))
			return FAILED;
	const char *failure = confined_failure(child);
	*why = failure ? failure : *why;
	return failure ? FAILED : again ? AGAIN : NAMED;
}

static enum outcome read_once(struct reading *reading, int fd, struct rf_error **error)
{
	const struct confined_job job = {fd, open_fetched, read_module, reading, MODULE_SECONDS};
	struct profile *rows = profile_create();
	struct confined *child = NULL;
	const char *why = "its reader could not be started", *path;
	enum outcome outcome = FAILED;
	struct rf_error *failed = rows ? confined_create(&job, &child) : NULL;
	if (child)
		outcome = take_answer(reading, child, rows, &why);
	if (outcome == NAMED)
		*error = resolve_answer_merge(rows, reading->work->profile);
	path = reading->work->profile->modules[reading->work->module].path;
	if (outcome == FAILED)
		profile_note_unread(reading->work->profile, path, failed ? failed->message : why);
	rf_error_destroy(failed);
	confined_destroy(child);
	profile_destroy(rows);
	return outcome;
}

/* True: its code has rows, or *error says why it has not. */
static bool read_in_child(struct module_work *work, struct rf_error **error)
{
	struct reading reading = {.work = work};
	enum outcome outcome = FAILED;
	int fd = -1;
	const char *path = work->profile->modules[work->module].path;
	if (path[0] != '[') {
		struct rf_error *gone = elf_file_descriptor(path, &fd);
		rf_error_destroy(gone);
		if (gone)
			return false;
	} else if (!name_is_vdso(work)) {
		return false;
	}
	do
		outcome = read_once(&reading, fd, error);
	while (outcome == AGAIN);
	if (fd >= 0)
		close(fd);
	for (size_t i = 0; i < reading.n_fetched; i++) {
		free(reading.fetched[i].build_id);
		free(reading.fetched[i].path);
	}
	return outcome == NAMED;
}

/* A file that is gone, or cannot be read, gets page rows. */
static struct rf_error *resolve_module(struct module_work *work)
{
	struct rf_error *error = NULL;
	return read_in_child(work, &error) ? error : name_pages(work);
}

/* Functions made at run time were named when they were seen. */
static bool is_named(const struct profile *profile, uint32_t module)
{
	if (strcmp(profile->modules[module].path, "[jit]") != 0)
		return false;
	for (size_t i = 0; i < profile->n_functions; i++)
		if (profile->functions[i].module == module)
			return true;
	return false;
}

struct rf_error *symbols_resolve(struct profile *profile, const struct symbol_fetcher *fetcher)
{
	struct places places = {0};
	struct rf_error *error = collect_places(profile, &places);
	for (size_t i = 0, n; !error && i < places.n_items; i += n) {
		uint32_t module = places.items[i].module;
		for (n = 1; i + n < places.n_items; n++)
			if (places.items[i + n].module != module)
				break;
		struct module_work work = {.profile = profile,
					   .module = module,
					   .places = &places.items[i],
					   .n_places = n,
					   .fetcher = fetcher};
		if (module < profile->n_modules && !is_named(profile, module))
			error = resolve_module(&work);
	}
	free(places.items);
	return error;
}
