/* The source text around the code that took time.  The text must be what the program was built
 * from: a file that was changed later than the program would show other lines under the same
 * numbers. */
#include "names/sources.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/function_index.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_SHARE 0.01            /* of all time: functions with less have no text */
#define AROUND 20                   /* lines of text before and behind each one with code */
#define MOST_TEXT ((size_t)1 << 20) /* bytes, in all */
#define MOST_FILE ((off_t)16 << 20) /* a larger file is no source */
#define MOST_LINE 400               /* bytes; what is longer was written by a program */
#define TAB 8

/* A line with code, wanted for a function. */
struct wish {
	const char *file; /* of the profile's lines */
	uint32_t line;
	uint32_t rank;   /* of the function, by its time */
	uint32_t module; /* whose code it is */
};

struct sources {
	struct profile *profile;
	struct wish *wishes; /* by file and line */
	size_t n_wishes, cap_wishes;
	size_t room; /* bytes of text */
};

/* ---- which lines ---- */

struct hot {
	uint32_t function;
	uint64_t time_ns;
};

static int longest_first(const void *a, const void *b)
{
	const struct hot *x = a, *y = b;
	return rf_compare(y->time_ns, x->time_ns) ?: rf_compare(x->function, y->function);
}

/* The functions with time enough, those with most first; *n of them, to be freed. */
static struct hot *hot_functions(const struct profile *profile, size_t *n)
{
	struct hot *hot = calloc(profile->n_functions + 1, sizeof(*hot));
	uint32_t *places = profile_places_of_frames(profile);
	uint64_t all_ns = 0;
	*n = 0;
	for (size_t i = 0; hot && places && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const uint32_t place =
			sample->frame == PROFILE_NONE ? PROFILE_NONE : places[sample->frame];
		all_ns += sample->weight_ns;
		if (place < profile->n_functions)
			hot[place].time_ns += sample->weight_ns;
	}
	for (uint32_t f = 0; hot && places && f < profile->n_functions; f++)
		if (hot[f].time_ns > 0 && (double)hot[f].time_ns >= LEAST_SHARE * (double)all_ns)
			hot[(*n)++] = (struct hot){f, hot[f].time_ns};
	if (*n)
		qsort(hot, *n, sizeof(*hot), longest_first);
	if (!places) {
		free(hot);
		hot = NULL;
	}
	free(places);
	return hot;
}

/* The lines of the function's own code; rows stand by module and offset. */
static struct rf_error *wish_lines(struct sources *sources, uint32_t function, uint32_t rank)
{
	const struct profile *profile = sources->profile;
	const struct profile_function *f = &profile->functions[function];
	const struct profile_line *lines = profile->lines;
	struct rf_error *error = NULL;
	for (size_t i = rf_search(profile->n_lines, k,
				  lines[k].module < f->module || (lines[k].module == f->module &&
								  lines[k].end <= f->start));
	     !error && i < profile->n_lines && lines[i].module == f->module &&
	     lines[i].start < f->end;
	     i++)
		if (lines[i].file[0] && lines[i].line)
			error = rf_array_add(
				sources->wishes, sources->n_wishes, sources->cap_wishes,
				((struct wish){lines[i].file, lines[i].line, rank, f->module}));
	return error;
}

static int by_file(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;
	return strcmp(x->file, y->file)
		?: rf_compare(x->line, y->line) ?: rf_compare(x->rank, y->rank);
}

static struct rf_error *find_wishes(struct sources *sources)
{
	size_t n;
	struct hot *hot = hot_functions(sources->profile, &n);
	struct rf_error *error = hot ? NULL : rf_error_no_memory();
	for (uint32_t i = 0; !error && i < n; i++)
		error = wish_lines(sources, hot[i].function, i);
	free(hot);
	if (sources->n_wishes)
		qsort(sources->wishes, sources->n_wishes, sizeof(*sources->wishes), by_file);
	return error;
}

/* ---- one file ---- */

/* Opens a regular file; waits for nothing, whatever the name stands for. */
static FILE *open_source(const char *path, struct stat *status)
{
	const int fd =
		path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	FILE *file = fd >= 0 && fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
				     status->st_size <= MOST_FILE
			     ? fdopen(fd, "r")
			     : NULL;
	if (!file && fd >= 0)
		close(fd);
	return file;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* Whether the text can be that of the program: it is not newer than this. */
static enum source_state state_of(const struct profile *profile, uint32_t module,
				  const struct stat *status)
{
	struct stat program;
	if (stat(profile->modules[module].path, &program) != 0)
		return SOURCE_UNSURE;
	return is_later(&status->st_mtim, &program.st_mtim) ? SOURCE_NEWER : SOURCE_KEPT;
}

/* A line without its end, tabs as blanks; NULL: memory is short. */
static char *text_of_line(const char *line, size_t length)
{
	char *text = malloc(MOST_LINE + TAB + 1);
	size_t n = 0;
	while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
		length--;
	for (size_t i = 0; text && i < length && n < MOST_LINE; i++) {
		if (line[i] != '\t') {
			text[n++] = line[i];
			continue;
		}
		do
			text[n++] = ' ';
		while (n % TAB);
	}
	if (text)
		text[n] = '\0';
	return text;
}

static struct rf_error *add_line(struct sources *sources, uint32_t source, uint32_t number,
				 const char *line, size_t length)
{
	struct profile *profile = sources->profile;
	struct profile_source_line row = {source, number, text_of_line(line, length)};
	if (!row.text)
		return rf_error_no_memory();
	const size_t size = strlen(row.text) + 1;
	if (size > sources->room) {
		free(row.text);
		profile->sources[source].state = SOURCE_CUT;
		return NULL;
	}
	sources->room -= size;
	struct rf_error *error = rf_array_add(profile->source_lines, profile->n_source_lines,
					      profile->cap_source_lines, row);
	if (error)
		free(row.text);
	return error;
}

/* Takes the lines around those that are wished for, in ascending order. */
static struct rf_error *take_lines(struct sources *sources, uint32_t source,
				   const struct wish *wishes, size_t n, FILE *file)
{
	struct profile_source *row = &sources->profile->sources[source];
	struct rf_error *error = NULL;
	char *line = NULL;
	size_t cap = 0, next = 0;
	ssize_t length;
	uint32_t number = 0;
	while (!error && next < n && row->state == SOURCE_KEPT &&
	       (length = getline(&line, &cap, file)) >= 0) {
		number++;
		while (next < n && wishes[next].line + AROUND < number)
			next++;
		if (memchr(line, '\0', (size_t)length))
			row->state = SOURCE_OTHER;
		else if (next < n && number + AROUND >= wishes[next].line)
			error = add_line(sources, source, number, line, (size_t)length);
	}
	free(line);
	if (number < wishes[n - 1].line && row->state == SOURCE_KEPT)
		row->state = SOURCE_OTHER;
	return error;
}

/* The lines that were taken of a file that turns out not to be the program's. */
static void forget_lines(struct sources *sources, uint32_t source)
{
	struct profile *profile = sources->profile;
	for (; profile->n_source_lines &&
	       profile->source_lines[profile->n_source_lines - 1].source == source;
	     profile->n_source_lines--)
		free(profile->source_lines[profile->n_source_lines - 1].text);
}

static struct rf_error *take_file(struct sources *sources, const struct wish *wishes, size_t n)
{
	struct profile *profile = sources->profile;
	const uint32_t source = (uint32_t)profile->n_sources;
	struct profile_source row = {SOURCE_MISSING, strdup(wishes->file)};
	struct stat status;
	struct rf_error *error = row.file ? rf_array_add(profile->sources, profile->n_sources,
							 profile->cap_sources, row)
					  : rf_error_no_memory();
	if (error) {
		free(row.file);
		return error;
	}
	FILE *file = open_source(wishes->file, &status);
	if (!file)
		return NULL;
	profile->sources[source].state = state_of(profile, wishes->module, &status);
	if (profile->sources[source].state == SOURCE_KEPT)
		error = take_lines(sources, source, wishes, n, file);
	if (profile->sources[source].state == SOURCE_OTHER)
		forget_lines(sources, source);
	fclose(file);
	return error;
}

/* ---- all files, those of the functions with most time first ---- */

struct file_wishes {
	size_t first, n;
	uint32_t rank;
};

static int by_rank(const void *a, const void *b)
{
	const struct file_wishes *x = a, *y = b;
	return rf_compare(x->rank, y->rank) ?: rf_compare(x->first, y->first);
}

static struct rf_error *take_files(struct sources *sources)
{
	const struct wish *wishes = sources->wishes;
	struct file_wishes *files = calloc(sources->n_wishes + 1, sizeof(*files));
	size_t n_files = 0;
	struct rf_error *error = files ? NULL : rf_error_no_memory();
	for (size_t i = 0; files && i < sources->n_wishes; i++) {
		if (!i || strcmp(wishes[i].file, wishes[i - 1].file) != 0)
			files[n_files++] = (struct file_wishes){i, 0, wishes[i].rank};
		struct file_wishes *file = &files[n_files - 1];
		file->n++;
		file->rank = wishes[i].rank < file->rank ? wishes[i].rank : file->rank;
	}
	if (n_files)
		qsort(files, n_files, sizeof(*files), by_rank);
	for (size_t i = 0; !error && i < n_files; i++)
		error = take_file(sources, &wishes[files[i].first], files[i].n);
	free(files);
	return error;
}

struct rf_error *name_sources(struct profile *profile)
{
	struct sources sources = {.profile = profile, .room = MOST_TEXT};
	struct rf_error *error = profile_index_functions(profile) ?: find_wishes(&sources);
	error = error ?: take_files(&sources);
	free(sources.wishes);
	return error;
}
