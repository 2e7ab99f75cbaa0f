/* Roofs that somebody states: checked when they are read, kept in a file, made from another
 * machine. */
#include "machine/store/custom_roofs.h"

#include "machine/data/machine_json.h"
#include "machine/store/keep_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of two writers at the same time the second waits for the first; after that it goes on. */
enum { LOCK_WAIT_MS = 10000 };

static const struct keep_place place = {"XDG_CONFIG_HOME", ".config", "custom roofs"};

/* ---- one entry ---- */

/* C0, DEL and C1 would reach a terminal; jansson has made sure that it is UTF-8. */
static bool has_control(const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++)
		if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0))
			return true;
	return false;
}

static bool is_unit(const char *unit)
{
	return strcmp(unit, "GFLOP/s") == 0 || strcmp(unit, "GB/s") == 0;
}

/* Why an entry is refused. */
#define REFUSE(...) rf_error_create(RF_EFORMAT, NULL, __VA_ARGS__)

/* Copies a text member into a fixed array. */
static struct rf_error *take_text(json_t *entry, const char *key, char *to, size_t size)
{
	json_t *value = json_object_get(entry, key);
	const char *text = json_string_value(value);
	if (!value)
		return REFUSE("it has no \"%s\"", key);
	if (!text)
		return REFUSE("its \"%s\" is not a text", key);
	if (!*text)
		return REFUSE("its \"%s\" is empty", key);
	if (json_string_length(value) >= size)
		return REFUSE("its \"%s\" is longer than %zu bytes", key, size - 1);
	if (has_control(text))
		return REFUSE("its \"%s\" holds a control character", key);
	strcpy(to, text);
	return NULL;
}

static struct rf_error *take_roof(json_t *entry, struct custom_roof *roof)
{
	const json_t *value = json_object_get(entry, "value");
	*roof = (struct custom_roof){.value = json_number_value(value)};
	if (!json_is_object(entry))
		return REFUSE("it is not an object");
	struct rf_error *error = take_text(entry, "name", roof->name, sizeof(roof->name));
	if (error)
		return error;
	if (!json_is_number(value))
		return REFUSE("%s",
			      value ? "its \"value\" is not a number" : "it has no \"value\"");
	if (!isfinite(roof->value) || roof->value <= 0)
		return REFUSE("its \"value\" is not above 0");
	const char *unit = json_string_value(json_object_get(entry, "unit"));
	if (!unit || !is_unit(unit))
		return REFUSE("its \"unit\" is neither \"GFLOP/s\" nor \"GB/s\"");
	strcpy(roof->unit, unit);
	return take_text(entry, "source", roof->source, sizeof(roof->source));
}

/* ---- sets ---- */

static struct custom_roof *find(struct custom_roof_set *set, const char *name)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->roofs[i].name, name) == 0)
			return &set->roofs[i];
	return NULL;
}

#define FORMAT_HINT "rfprof(1) shows what a file of roofs looks like"

/* Says which entry it is; takes `why`. */
static struct rf_error *refuse(struct rf_error *why, const char *path, size_t i, const char *name)
{
	struct rf_error *error =
		rf_error_create(RF_EFORMAT, FORMAT_HINT, "%s: roof %zu%s%s%s: %s", path, i + 1,
				name[0] ? " (" : "", name, name[0] ? ")" : "", why->message);
	rf_error_destroy(why);
	return error;
}

static struct rf_error *set_from_json(json_t *json, const char *path, struct custom_roof_set *set)
{
	json_t *entries = json_object_get(json, "roofs");
	struct custom_roof roof;
	if (!json_is_array(entries))
		return rf_error_create(RF_EFORMAT, FORMAT_HINT, "%s: there is no array \"roofs\"",
				       path);
	if (json_array_size(entries) > CUSTOM_ROOFS_MAX)
		return rf_error_create(RF_EFORMAT, "leave some out", "%s: %zu roofs, more than %d",
				       path, json_array_size(entries), CUSTOM_ROOFS_MAX);
	for (size_t i = 0; i < json_array_size(entries); i++) {
		struct rf_error *why = take_roof(json_array_get(entries, i), &roof);
		if (!why && find(set, roof.name))
			why = REFUSE("its name stands there twice");
		if (why)
			return refuse(why, path, i, roof.name);
		set->roofs[set->n++] = roof;
	}
	return NULL;
}

json_t *custom_roofs_to_json(const struct custom_roof *roofs, size_t n)
{
	json_t *array = json_array();
	int failed = 0;
	for (size_t i = 0; i < n; i++)
		failed |= json_array_append_new(
			array, json_pack("{s:s, s:f, s:s, s:s}", "name", roofs[i].name, "value",
					 roofs[i].value, "unit", roofs[i].unit, "source",
					 roofs[i].source));
	if (!failed)
		return array;
	json_decref(array);
	return NULL;
}

/* ---- another machine's roofs ---- */

/* Bytes of `text` that are whole characters, where `next` is what was cut off (valid UTF-8). */
static size_t whole_characters(const char *text, const char *next)
{
	size_t n = strlen(text);
	if ((*next & 0xc0) != 0x80)
		return n;
	while (n > 0 && (text[n - 1] & 0xc0) == 0x80)
		n--;
	return n > 0 ? n - 1 : 0;
}

/* "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz" → "Xeon Gold 6130": what tells machines apart. */
static void short_model(const char *model, char *out, size_t size)
{
	static const char *const noise[] = {"Intel(R) ", "(R)",    "(TM)", "(r)",       "(tm)",
					    " CPU",      "Intel ", "AMD ", " Processor"};
	char *to = out;
	const char *end = strchr(model, '@'), *cores = strstr(model, "-Core");
	while (cores && cores > model && cores[-1] != ' ') /* "96-Core Processor" */
		cores--;
	end = cores && cores > model && (!end || cores < end) ? cores
	      : end                                           ? end
							      : model + strlen(model);
	while (model < end && to < out + size - 1) {
		size_t skip = 0;
		for (size_t i = 0; i < sizeof(noise) / sizeof(*noise) && !skip; i++)
			if (strncmp(model, noise[i], strlen(noise[i])) == 0)
				skip = strlen(noise[i]);
		if (!skip)
			*to++ = *model;
		model += skip ? skip : 1;
	}
	*to = '\0';
	if (model < end)
		out[whole_characters(out, model)] = '\0';
	for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
		out[n - 1] = '\0';
	if (!*out)
		snprintf(out, size, "another machine");
}

/* Fewest and most threads of any row. */
static void thread_range(const struct machine *machine, int *fewest, int *most)
{
	*fewest = *most = machine->roofs[0].threads;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		int threads = machine->roofs[i].threads;
		*fewest = threads < *fewest ? threads : *fewest;
		*most = threads > *most ? threads : *most;
	}
}

/* The best rate at `threads`: of floating-point compute in a precision where `level` is none, else
 * of reading a level that can be told from the next. */
static double best_rate(const struct machine *machine, int threads, enum roof_precision precision,
			enum roof_level level)
{
	double best = 0;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *roof = &machine->roofs[i];
		bool wanted = level ? roof->kind == ROOF_BANDWIDTH && roof->op == ROOF_OP_READ &&
					      roof->level == level && !roof->by_node &&
					      roof->distinguishable
				    : roof->kind == ROOF_COMPUTE && roof->precision == precision &&
					      strcmp(roof->unit, "GFLOP/s") == 0;
		if (wanted && roof->threads == threads)
			best = fmax(best, roof->best);
	}
	return best;
}

static void add_stated(struct custom_roof_set *set, const struct machine *machine, const char *what,
		       int threads, enum roof_precision precision, enum roof_level level)
{
	struct custom_roof *roof = &set->roofs[set->n];
	double value = best_rate(machine, threads, precision, level);
	char model[48];
	if (value <= 0)
		return;
	short_model(machine->cpu_model, model, sizeof(model));
	*roof = (struct custom_roof){.value = value};
	snprintf(roof->name, sizeof(roof->name), "%s: %s, %d thread%s", model, what, threads,
		 threads == 1 ? "" : "s");
	strcpy(roof->unit, level ? "GB/s" : "GFLOP/s");
	int length = snprintf(roof->source, sizeof(roof->source), "rfprof machine, %s",
			      machine->cpu_model);
	if (length >= (int)sizeof(roof->source)) {
		const char *next = machine->cpu_model + strlen(machine->cpu_model) -
				   (length - (int)strlen(roof->source));
		roof->source[whole_characters(roof->source, next)] = '\0';
	}
	set->n++;
}

static struct rf_error *set_from_machine(json_t *json, const char *path,
					 struct custom_roof_set *set)
{
	struct machine machine;
	struct rf_error *inner = machine_from_json(json, &machine);
	int counts[2];
	if (inner) {
		struct rf_error *error =
			rf_error_create(inner->code,
					"make the file again: rfprof machine --json >FILE",
					"%s: %s", path, inner->message);
		rf_error_destroy(inner);
		return error;
	}
	thread_range(&machine, &counts[0], &counts[1]);
	for (int k = 0; k < (counts[1] > counts[0] ? 2 : 1); k++) {
		add_stated(set, &machine, "DP peak", counts[k], ROOF_PRECISION_DOUBLE,
			   ROOF_LEVEL_NONE);
		add_stated(set, &machine, "SP peak", counts[k], ROOF_PRECISION_SINGLE,
			   ROOF_LEVEL_NONE);
		for (enum roof_level level = ROOF_LEVEL_L1; level <= ROOF_LEVEL_DRAM; level++) {
			char what[16];
			snprintf(what, sizeof(what), "%s read", roof_level_name(level));
			add_stated(set, &machine, what, counts[k], ROOF_PRECISION_NONE, level);
		}
	}
	bool clean = !has_control(machine.cpu_model) && machine.cpu_model[0];
	machine_deinit(&machine);
	if (!clean)
		return rf_error_create(
			RF_EFORMAT, FORMAT_HINT,
			"%s: its \"cpu_model\" is empty or holds a control character", path);
	return set->n ? NULL
		      : rf_error_create(RF_EFORMAT, FORMAT_HINT, "%s: no roof that can be drawn",
					path);
}

/* ---- files ---- */

/* A file that the user names.  *json gets a new value, or NULL. */
static struct rf_error *read_json(const char *path, json_t **json)
{
	json_error_t cause;
	struct rf_error *error = NULL;
	FILE *file = fopen(path, "re");
	*json = NULL;
	if (!file)
		return rf_error_errno(errno == ENOENT ? RF_EUNAVAILABLE : RF_EACCESS, errno,
				      "check the file's name and its rights", "cannot read %s",
				      path);
	errno = 0;
	*json = json_loadf(file, JSON_REJECT_DUPLICATES, &cause);
	if (ferror(file))
		error = rf_error_errno(RF_EACCESS, errno, "name a file", "cannot read %s", path);
	else if (!*json)
		error = rf_error_create(RF_EFORMAT, FORMAT_HINT, "%s is not JSON: line %d: %.120s",
					path, cause.line, cause.text);
	fclose(file);
	return error;
}

/* `named`: by the user, and another machine's roofs will do; else it is what was kept. */
static struct rf_error *read_set(const char *path, bool named, struct custom_roof_set *set)
{
	json_t *json = NULL;
	struct rf_error *error = named ? read_json(path, &json)
				       : keep_file_read(path, JSON_REJECT_DUPLICATES, &json);
	set->n = 0;
	if (!error && named && json_object_get(json, "cpu_model") && json_object_get(json, "roofs"))
		error = set_from_machine(json, path, set);
	else if (!error)
		error = set_from_json(json, path, set);
	json_decref(json);
	return error;
}

struct rf_error *custom_roofs_path(char **out)
{
	char *directory = NULL;
	struct rf_error *error = keep_place_directory(&place, &directory);
	if (error)
		return error;
	int length = asprintf(out, "%s/roofs.json", directory);
	free(directory);
	return length < 0 ? rf_error_no_memory() : NULL;
}

/* What is kept in a file; none: nothing. */
static struct rf_error *load(const char *path, struct custom_roof_set *set)
{
	struct rf_error *error = read_set(path, false, set);
	if (error)
		set->n = 0;
	if (!error || error->code != RF_EUNAVAILABLE)
		return error;
	rf_error_destroy(error);
	return NULL;
}

struct rf_error *custom_roofs_load(struct custom_roof_set *out)
{
	char *path = NULL;
	struct rf_error *homeless = custom_roofs_path(&path);
	out->n = 0;
	if (homeless) {
		rf_error_destroy(homeless);
		return NULL;
	}
	struct rf_error *inner = load(path, out), *error = NULL;
	free(path);
	if (inner)
		error = rf_error_create(inner->code, "mend or remove the file",
					"custom roofs are left out: %s", inner->message);
	rf_error_destroy(inner);
	return error;
}

static struct rf_error *save(const char *path, const struct custom_roof_set *set)
{
	json_t *json = json_pack("{s:o}", "roofs", custom_roofs_to_json(set->roofs, set->n));
	struct rf_error *error = json ? keep_file_save(&place, path, json) : rf_error_no_memory();
	json_decref(json);
	return error;
}

static struct rf_error *merge(struct custom_roof_set *set, const struct custom_roof_set *added)
{
	for (size_t i = 0; i < added->n; i++) {
		struct custom_roof *same = find(set, added->roofs[i].name);
		if (!same && set->n == CUSTOM_ROOFS_MAX)
			return rf_error_create(RF_EINPUT,
					       "remove some: rfprof machine --forget NAME",
					       "more than %d custom roofs", CUSTOM_ROOFS_MAX);
		*(same ? same : &set->roofs[set->n++]) = added->roofs[i];
	}
	return NULL;
}

static struct rf_error *forget(struct custom_roof_set *set, const char *name, size_t *removed)
{
	bool all = strcmp(name, "all") == 0;
	size_t kept = 0;
	for (size_t i = 0; i < set->n; i++)
		if (!all && strcmp(set->roofs[i].name, name) != 0)
			set->roofs[kept++] = set->roofs[i];
	*removed = set->n - kept;
	set->n = kept;
	if (*removed || all)
		return NULL;
	return rf_error_create(RF_EINPUT, "rfprof machine lists them",
			       "no custom roof is named %.120s", name);
}

/* Reads what is kept, adds roofs (NULL: removes those of a name, *removed of them), and writes it.
 */
static struct rf_error *change_kept(const struct custom_roof_set *added, const char *name,
				    size_t *removed)
{
	struct custom_roof_set set;
	char *directory = NULL, *path = NULL;
	int fd = -1;
	struct rf_error *error = keep_place_directory(&place, &directory);
	if (!error)
		error = keep_place_prepare(&place, directory);
	if (!error)
		error = custom_roofs_path(&path);
	if (!error) {
		fd = keep_file_lock(directory, LOCK_WAIT_MS);
		error = load(path, &set);
	}
	if (!error)
		error = added ? merge(&set, added) : forget(&set, name, removed);
	if (!error)
		error = save(path, &set);
	if (fd >= 0)
		close(fd);
	free(directory);
	free(path);
	return error;
}

struct rf_error *custom_roofs_import(const char *path, struct custom_roof_set *imported)
{
	struct rf_error *error = read_set(path, true, imported);
	if (error && error->code == RF_EUNAVAILABLE)
		error->code = RF_EACCESS;
	return error ? error : change_kept(imported, NULL, NULL);
}

struct rf_error *custom_roofs_forget(const char *name, size_t *removed)
{
	*removed = 0;
	return change_kept(NULL, name, removed);
}
