/* Which variable an address is of, by what a child has read of the module's files. */
#include "symbols/data_symbols.h"

#include "base/array.h"
#include "base/search.h"
#include "symbols/data_reader.h"
#include "symbols/elf_file.h"
#include "symbols/kept_answers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the reader of one module; all DWARF of the largest programs takes a minute. */
#define READER_SECONDS 300

struct range {
	uint64_t start, end;
	char *name, *file; /* file NULL: not asked for, or not known */
	uint32_t line;
};

struct ranges {
	struct range *items; /* sorted, without overlaps */
	size_t n_items, cap_items;
};

struct data_symbols {
	char *path, *trouble;
	struct kept_store *store; /* or NULL */
	struct stat status;       /* of the file that was read; another one tells nothing of it */
	struct ranges variables, sections;
	size_t n_users;
	struct data_symbols *next;
};

/* Processes share their libraries: a file is read once as long as somebody uses what it said.  The
 * owner of the lock may change the list and all that is in it. */
static struct data_symbols *in_use;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void ranges_deinit(struct ranges *ranges)
{
	for (size_t i = 0; i < ranges->n_items; i++) {
		free(ranges->items[i].name);
		free(ranges->items[i].file);
	}
	free(ranges->items);
}

static void destroy(struct data_symbols *symbols)
{
	if (!symbols)
		return;
	ranges_deinit(&symbols->variables);
	ranges_deinit(&symbols->sections);
	free(symbols->path);
	free(symbols->trouble);
	free(symbols);
}

void data_symbols_close(struct data_symbols *symbols)
{
	if (!symbols)
		return;
	pthread_mutex_lock(&lock);
	if (--symbols->n_users == 0) {
		struct data_symbols **link = &in_use;
		while (*link != symbols)
			link = &(*link)->next;
		*link = symbols->next;
		destroy(symbols);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- what a child answers ---- */

static bool take_range(struct confined *child, struct ranges *ranges)
{
	struct range range = {0};
	range.start = confined_number(child);
	range.end = confined_number(child);
	range.name = confined_text(child);
	const uint64_t done = ranges->n_items ? ranges->items[ranges->n_items - 1].end : 0;
	if (range.name && range.start < range.end && range.start >= done &&
	    rf_array_push(ranges->items, ranges->n_items, ranges->cap_items, range))
		return true;
	free(range.name);
	return false;
}

static struct range *find(const struct ranges *ranges, uint64_t vaddr, size_t *next)
{
	*next = rf_search(ranges->n_items, i, ranges->items[i].start <= vaddr);
	return *next && vaddr < ranges->items[*next - 1].end ? &ranges->items[*next - 1] : NULL;
}

/* Takes `name` where the symbol table has the same one with a number: a static variable of a
 * function is "name.123" there. */
static bool take_declaration(struct confined *child, struct data_symbols *symbols, uint64_t vaddr)
{
	const uint64_t line = confined_number(child);
	char *name = confined_text(child), *file = confined_text(child);
	size_t next;
	struct range *range = name && file ? find(&symbols->variables, vaddr, &next) : NULL;
	const bool is_taken = range && range->start == vaddr;
	if (is_taken && !range->file) {
		const size_t length = strlen(name);
		if (strncmp(range->name, name, length) == 0 && range->name[length] == '.')
			range->name[length] = '\0';
		range->file = file;
		range->line = line <= UINT32_MAX ? (uint32_t)line : 0;
		file = NULL;
	}
	free(name);
	free(file);
	return is_taken;
}

/* ---- what is asked ---- */

static void read_variables(void *context, const uint64_t *questions, size_t n, FILE *answer)
{
	const struct data_symbols *symbols = context;
	data_reader_variables(symbols->path, questions, n, answer);
}

static bool take_variable(void *context, struct confined *child, uint8_t tag, uint64_t question)
{
	struct data_symbols *symbols = context;
	return (tag == DATA_VARIABLE && take_range(child, &symbols->variables)) ||
	       (tag == DATA_SECTION && take_range(child, &symbols->sections));
}

static void read_declarations(void *context, const uint64_t *questions, size_t n, FILE *answer)
{
	const struct data_symbols *symbols = context;
	data_reader_declarations(symbols->path, questions, n, answer);
}

static bool take_declared(void *context, struct confined *child, uint8_t tag, uint64_t vaddr)
{
	return tag == DATA_DECLARATION && take_declaration(child, context, vaddr);
}

/* What has come until something is wrong is kept: it is in order. */
static struct rf_error *ask(struct data_symbols *symbols, const struct asking *kind, int fd,
			    const uint64_t *questions, size_t n)
{
	struct asking asking = *kind;
	char *trouble;
	asking.store = symbols->store;
	asking.key.path = symbols->path;
	asking.key.build_id = "";
	asking.key.stamp = file_stamp_of(&symbols->status);
	asking.context = symbols;
	asking.seconds = READER_SECONDS;
	struct rf_error *error = kept_answers_ask(&asking, fd, questions, n, &trouble);
	if (trouble) {
		free(symbols->trouble);
		symbols->trouble = trouble;
	}
	return error;
}

static struct rf_error *ask_variables(struct data_symbols *symbols, int fd)
{
	static const struct asking kind = {.key = {.kind = KEPT_VARIABLES},
					   .read = read_variables,
					   .take = take_variable};
	const uint64_t all = 0;
	return ask(symbols, &kind, fd, &all, 1);
}

static struct rf_error *ask_declarations(struct data_symbols *symbols, int fd,
					 const uint64_t *vaddrs, size_t n)
{
	static const struct asking kind = {.key = {.kind = KEPT_DECLARATIONS},
					   .read = read_declarations,
					   .take = take_declared};
	return ask(symbols, &kind, fd, vaddrs, n);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Its file is open as `fd`, and is that of `status`. */
static struct rf_error *create(const char *path, int fd, const struct stat *status,
			       struct kept_store *store, struct data_symbols **out)
{
	struct data_symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols || !(symbols->path = strdup(path))) {
		destroy(symbols);
		return rf_error_no_memory();
	}
	symbols->status = *status;
	symbols->store = store;
	struct rf_error *error = ask_variables(symbols, fd);
	if (error) {
		destroy(symbols);
		return error;
	}
	symbols->next = in_use;
	*out = in_use = symbols;
	return NULL;
}

struct rf_error *data_symbols_open(const char *path, struct kept_store *store,
				   struct data_symbols **out)
{
	int fd;
	struct stat status;
	struct rf_error *error = elf_file_descriptor(path, &fd);
	if (error)
		return error;
	pthread_mutex_lock(&lock);
	struct data_symbols *symbols = in_use;
	if (fstat(fd, &status) != 0)
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot read %s", path);
	while (symbols && !error && !is_same_file(&symbols->status, &status))
		symbols = symbols->next;
	if (!symbols && !error)
		error = create(path, fd, &status, store, &symbols);
	if (!error) {
		symbols->n_users++;
		*out = symbols;
	}
	pthread_mutex_unlock(&lock);
	close(fd);
	return error;
}

void data_symbols_declare(struct data_symbols *symbols, const uint64_t *vaddrs, size_t n)
{
	int fd;
	struct stat status;
	struct rf_error *error = elf_file_descriptor(symbols->path, &fd);
	if (!error) {
		pthread_mutex_lock(&lock);
		if (fstat(fd, &status) == 0 && is_same_file(&status, &symbols->status))
			error = ask_declarations(symbols, fd, vaddrs, n);
		pthread_mutex_unlock(&lock);
		close(fd);
	}
	rf_error_destroy(error);
}

const char *data_symbols_trouble(const struct data_symbols *symbols)
{
	return symbols->trouble;
}

const char *data_symbols_path(const struct data_symbols *symbols)
{
	return symbols->path;
}

/* ---- the answers ---- */

bool data_symbols_find(const struct data_symbols *symbols, uint64_t vaddr, struct data_symbol *out)
{
	const struct ranges *variables = &symbols->variables;
	size_t next, next_section;
	const struct range *variable = find(variables, vaddr, &next);
	const struct range *section =
		variable ? NULL : find(&symbols->sections, vaddr, &next_section);
	const struct range *range = variable ? variable : section;
	if (!range)
		return false;
	*out = (struct data_symbol){
		.start = range->start,
		.end = range->end,
		.name = range->name,
		.file = range->file ? range->file : "",
		.line = range->line,
		.is_section = section,
	};
	/* a section as far as there is no variable */
	if (section && next && variables->items[next - 1].end > out->start)
		out->start = variables->items[next - 1].end;
	if (section && next < variables->n_items && variables->items[next].start < out->end)
		out->end = variables->items[next].start;
	return true;
}
