/* One row for every function in which a profile was.  What is not kept of a module from an earlier
 * run is read by a child that has no rights (base/confined.h). */
#include "names/resolve.h"

#include "base/confined.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "names/name_code.h"
#include "names/read_facts.h"
#include "names/sources.h"
#include "symbols/elf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the reader of one module; the names of the largest programs take a minute. */
#define MODULE_SECONDS 300

struct places {
	struct place *items;
	size_t n_items;
};

static uint64_t module_of_place(const void *place)
{
	return ((const struct place *)place)->module;
}

static uint64_t offset_of_place(const void *place)
{
	return ((const struct place *)place)->offset;
}

static bool sort_places(struct places *places)
{
	const size_t n = places->n_items, size = sizeof(*places->items);
	return rf_sort_by(places->items, n, size, offset_of_place) &&
	       rf_sort_by(places->items, n, size, module_of_place);
}

static struct rf_error *collect_places(const struct profile *profile, struct places *places)
{
	size_t n = profile->n_blocks + profile->n_frames + profile->n_counter_places;
	places->items = malloc((n + 1) * sizeof(*places->items));
	if (!places->items)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_blocks; i++)
		places->items[places->n_items++] =
			(struct place){profile->blocks[i].start, profile->blocks[i].module,
				       (uint32_t)i, profile->blocks[i].size};
	for (size_t i = 0; i < profile->n_frames; i++)
		places->items[places->n_items++] =
			(struct place){profile->frames[i].offset, profile->frames[i].module,
				       PROFILE_NONE, 1};
	for (size_t i = 0; i < profile->n_counter_places; i++)
		places->items[places->n_items++] =
			(struct place){profile->counter_places[i].offset,
				       profile->counter_places[i].module, PROFILE_NONE, 1};
	return sort_places(places) ? NULL : rf_error_no_memory();
}

/* ---- the child that reads a module, and the files that it wants ---- */

enum { FACTS = 1, FETCH, REFUSE, NO_MEMORY };

/* What a debug file server has said to one question. */
struct fetched {
	char *build_id, *path; /* path NULL: it has none */
	int fd;                /* in the child */
};

/* More than a debug file and what it shares with others is not asked for. */
enum { MAX_FETCHED = 4 };

struct reading {
	const struct module_work *work;
	const struct symbol_fetcher *fetcher; /* or NULL */
	struct name_facts *facts;
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

/* A question for each function of the vdso: where the program had it is not known yet. */
static size_t ask_all(struct symbol_module *symbols, size_t size, struct code_question *questions)
{
	struct symbol symbol;
	size_t n = 0;
	for (uint64_t at = 0, next; at < size; at = next) {
		const bool known = symbol_find(symbols, at, &symbol);
		next = known ? symbol.end : at + 1;
		if (known)
			questions[n++] = (struct code_question){at, at + 1};
	}
	return n;
}

static struct rf_error *read_vdso(struct name_facts *facts)
{
	const void *image;
	size_t size;
	struct symbol_module *symbols = NULL;
	if (!vdso_image(&image, &size))
		return NULL;
	struct code_question *questions = calloc(size, sizeof(*questions));
	struct rf_error *error = questions
					 ? symbol_module_open_image("[vdso]", image, size, &symbols)
					 : rf_error_no_memory();
	if (!error)
		error = read_facts(symbols, questions, ask_all(symbols, size, questions), facts);
	symbol_module_close(symbols);
	free(questions);
	return error;
}

/* A file that was replaced since the run would give wrong names: better none. */
static bool is_of_the_run(const struct profile_module *module, const struct symbol_module *symbols)
{
	return !module->build_id[0] ||
	       strcmp(symbol_module_build_id(symbols), module->build_id) == 0;
}

static struct rf_error *read_file(const struct reading *reading,
				  const struct symbol_fetcher *fetcher)
{
	const struct module_work *work = reading->work;
	const struct profile_module *module = &work->profile->modules[work->module];
	struct code_question *questions = calloc(work->n_places + 1, sizeof(*questions));
	struct symbol_module *symbols = NULL;
	struct rf_error *error = questions ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < work->n_places && questions; i++)
		questions[i] =
			(struct code_question){work->places[i].offset,
					       work->places[i].offset + work->places[i].size};
	if (!error)
		rf_error_destroy(symbol_module_read(module->path, CONFINED_FD, fetcher, &symbols));
	if (symbols && is_of_the_run(module, symbols))
		error = read_facts(symbols, questions, work->n_places, reading->facts);
	symbol_module_close(symbols);
	free(questions);
	return error;
}

/* The child's copy of the facts grows, and is the answer. */
static void read_module(void *context, FILE *answer)
{
	struct reading *reading = context;
	const struct symbol_fetcher by_parent = {fetch_by_parent, refuse_by_parent, reading};
	reading->answer = answer;
	struct rf_error *error = name_is_vdso(reading->work)
					 ? read_vdso(reading->facts)
					 : read_file(reading, reading->fetcher ? &by_parent : NULL);
	confined_put_tag(answer, error ? NO_MEMORY : FACTS);
	if (!error)
		name_facts_write(reading->facts, answer);
}

/* Asks the server what the child has asked for, and keeps what it says for the next one. */
static bool fetch_for_child(struct reading *reading, struct confined *child)
{
	const struct symbol_fetcher *fetcher = reading->fetcher;
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
	const struct symbol_fetcher *fetcher = reading->fetcher;
	char *module = confined_text(child), *path = confined_text(child);
	if (module && path && fetcher)
		fetcher->refuse(fetcher->context, module, path);
	free(module);
	free(path);
}

enum outcome { NAMED, AGAIN, FAILED };

static bool take_bytes(void *context, void *to, size_t size)
{
	return confined_bytes(context, to, size);
}

/* Takes what a child answers; *why: what is wrong with it, in `child`. */
static enum outcome take_answer(struct reading *reading, struct confined *child, const char **why)
{
	const struct fact_source source = {take_bytes, child};
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
		} else if (tag != FACTS || !name_facts_read(&source, reading->facts)) {
			break;
		}
	const char *failure = confined_failure(child);
	*why = failure ? failure : *why;
	return tag || failure ? FAILED : again ? AGAIN : NAMED;
}

static enum outcome read_once(struct reading *reading, int fd)
{
	const struct module_work *work = reading->work;
	const struct confined_job job = {fd, open_fetched, read_module, reading, MODULE_SECONDS};
	struct confined *child = NULL;
	const char *why = "";
	struct rf_error *failed = confined_create(&job, &child);
	const enum outcome outcome = child ? take_answer(reading, child, &why) : FAILED;
	if (outcome == FAILED) {
		profile_note_unread(work->profile, work->profile->modules[work->module].path,
				    failed ? failed->message : why);
		name_facts_deinit(reading->facts);
	}
	rf_error_destroy(failed);
	confined_destroy(child);
	return outcome;
}

static bool read_in_child(struct reading *reading, int fd)
{
	enum outcome outcome;
	do
		outcome = read_once(reading, fd);
	while (outcome == AGAIN);
	for (size_t i = 0; i < reading->n_fetched; i++) {
		free(reading->fetched[i].build_id);
		free(reading->fetched[i].path);
	}
	return outcome == NAMED;
}

/* ---- what is kept, and what is read ---- */

/* Opens the module's file, fd -1 where it has none, and says what its facts are kept under.  False:
 * there is nothing to be read. */
static bool find_module(const struct module_work *work, int *fd, struct kept_key *key)
{
	const struct profile_module *module = &work->profile->modules[work->module];
	const void *image;
	size_t size;
	struct stat status;
	*fd = -1;
	*key = (struct kept_key){module->path, module->build_id};
	if (name_is_vdso(work) && vdso_image(&image, &size)) {
		key->stamp = file_stamp_of_image(image, size);
		return true;
	}
	if (module->path[0] == '[')
		return false;
	rf_error_destroy(elf_file_descriptor(module->path, fd));
	if (*fd >= 0 && fstat(*fd, &status) == 0)
		key->stamp = file_stamp_of(&status);
	return *fd >= 0;
}

static bool know_all(const struct module_work *work, const struct name_facts *facts)
{
	bool know = !name_is_vdso(work) || facts->n_functions > 0;
	for (size_t i = 0; i < work->n_places && know && !name_is_vdso(work); i++)
		know = name_facts_know(facts, work->places[i].offset,
				       work->places[i].offset + work->places[i].size);
	return know;
}

static void find_facts(const struct module_work *work, const struct resolve_options *options,
		       struct name_facts *facts)
{
	struct reading reading = {.work = work, .fetcher = options->fetcher, .facts = facts};
	struct kept_key key;
	int fd;
	if (!find_module(work, &fd, &key))
		return;
	struct kept_store *kept = options->fetcher ? NULL : options->kept;
	const bool was_kept = kept && kept_names_load(kept, &key, facts);
	if ((!was_kept || !know_all(work, facts)) && read_in_child(&reading, fd) && kept)
		kept_names_save(kept, &key, facts);
	if (fd >= 0)
		close(fd);
}

/* A file that is gone, or cannot be read, gets page rows. */
static struct rf_error *resolve_module(struct module_work *work,
				       const struct resolve_options *options)
{
	struct name_facts facts = {0};
	find_facts(work, options, &facts);
	work->facts = &facts;
	struct rf_error *error = name_code(work);
	name_facts_deinit(&facts);
	return error;
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

static int compare_lines(const void *a, const void *b)
{
	const struct profile_line *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->start, y->start);
}

/* Those of code made at run time came as it was seen. */
static void sort_lines(struct profile *profile)
{
	if (profile->n_lines)
		qsort(profile->lines, profile->n_lines, sizeof(*profile->lines), compare_lines);
}

struct rf_error *names_resolve(struct profile *profile, const struct resolve_options *options)
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
					   .n_places = n};
		if (module < profile->n_modules && !is_named(profile, module))
			error = resolve_module(&work, options);
	}
	free(places.items);
	sort_lines(profile);
	error = error ?: name_lone_places(profile);
	return error || !options->source ? error : name_sources(profile);
}
