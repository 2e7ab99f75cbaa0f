/* Reads the configuration files into entries, and finds those that hold. */
#include "cli/config.h"

#include "base/array.h"
#include "base/keep_place.h"
#include "base/trusted_file.h"
#include "cli/commands.h"
#include "cli/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_FILE "/etc/rfprof/config"

/* Where something stands, and the section that it stands in. */
struct place {
	const char *path;
	unsigned line, commands;
};

/* ---- errors ---- */

static struct rf_error *refuse(const struct place *place, const char *hint, const char *what,
			       const char *word)
{
	return rf_error_create(RF_EINPUT, hint, "%s:%u: %s%s", place->path, place->line, word,
			       what);
}

struct rf_error *config_error(const struct config_entry *entry, struct rf_error *cause)
{
	struct rf_error *error = rf_error_create(cause->code, cause->hint, "%s:%u: %s", entry->path,
						 entry->line, cause->message);
	rf_error_destroy(cause);
	return error;
}

static struct rf_error *refuse_near(const struct place *place, const struct nearest *nearest,
				    const char *what)
{
	char hint[96] = "rfprof help COMMAND lists the options";
	if (nearest->word)
		snprintf(hint, sizeof(hint), "did you mean %s?", nearest->word);
	return refuse(place, hint, what, nearest->written);
}

/* ---- lines ---- */

/* What only a command line can say. */
static bool is_configurable(const struct option *option)
{
	const enum option_id id = (enum option_id)(option - option_rows);
	return id != OPTION_ID_help && id != OPTION_ID_version && id != OPTION_ID_no_config;
}

/* The text without the blanks around it, which is written to. */
static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	char *end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

static struct rf_error *take_section(struct place *place, char *text)
{
	struct nearest nearest;
	char *end = strchr(text, ']');
	if (!end || end[1])
		return refuse(place, NULL, ": a section is [COMMAND]", text);
	*end = '\0';
	const char *word = trim(text + 1);
	nearest = nearest_to(word);
	for (enum command_id id = 0; id < N_COMMANDS; id++) {
		if (strcmp(word, command_rows[id].id) == 0) {
			place->commands = 1u << id;
			return NULL;
		}
		nearest_offer(&nearest, command_rows[id].id);
	}
	return refuse_near(place, &nearest, ": there is no such command");
}

static struct rf_error *check_key(const struct place *place, const char *key)
{
	struct nearest nearest = nearest_to(key);
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		if (!is_configurable(option) || !(option->commands & place->commands))
			continue;
		if (strcmp(key, option->name) == 0)
			return NULL;
		nearest_offer(&nearest, option->name);
	}
	return refuse_near(place, &nearest, ": there is no such option");
}

static struct rf_error *put_entry(struct config *config, const struct place *place, const char *key,
				  const char *value)
{
	struct rf_error *error = check_key(place, key);
	if (error)
		return error;
	const struct config_entry entry = {strdup(key), value ? strdup(value) : NULL,
					   place->commands, place->path, place->line};
	if (entry.key && (!value || entry.value) &&
	    rf_array_push(config->entries, config->n_entries, config->cap_entries, entry))
		return NULL;
	free(entry.key);
	free(entry.value);
	return rf_error_no_memory();
}

static struct rf_error *take_entry(struct config *config, const struct place *place, char *text)
{
	char *equals = strchr(text, '=');
	if (equals)
		*equals = '\0';
	const char *key = trim(text);
	return put_entry(config, place, key, equals ? trim(equals + 1) : NULL);
}

struct rf_error *config_put(struct config *config, enum command_id command, const char *path,
			    unsigned line, const char *key, const char *value)
{
	const struct place place = {path, line, 1u << command};
	return put_entry(config, &place, key, value);
}

/* ---- files ---- */

static struct rf_error *read_lines(struct config *config, const char *path, FILE *stream)
{
	struct place place = {.path = path, .commands = CONFIG_ALL_COMMANDS};
	struct rf_error *error = NULL;
	char *line = NULL;
	size_t size = 0;
	while (!error && getline(&line, &size, stream) >= 0) {
		char *text = trim(line);
		place.line++;
		if (*text == '[')
			error = take_section(&place, text);
		else if (*text && *text != '#')
			error = take_entry(config, &place, text);
	}
	if (!error && ferror(stream))
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot read %s", path);
	free(line);
	return error;
}

static struct rf_error *read_file(struct config *config, struct config_file *file)
{
	const char *refusal;
	const int fd = trusted_file_open(file->path, &refusal);
	file->errnum = fd < 0 ? errno : 0;
	if (refusal)
		return rf_error_create(RF_EACCESS,
				       "make it your own, with chmod go-w; "
				       "--no-config leaves it out",
				       "%s %s", file->path, refusal);
	FILE *stream = fd < 0 ? NULL : fdopen(fd, "r");
	if (!stream && fd < 0)
		return NULL;
	if (!stream) {
		close(fd);
		return rf_error_no_memory();
	}
	struct rf_error *error = read_lines(config, file->path, stream);
	fclose(stream);
	return error;
}

/* NULL in *path where there is no home directory. */
static struct rf_error *find_user_file(char **path)
{
	static const struct keep_place place = {"XDG_CONFIG_HOME", ".config", "configuration"};
	char *directory = NULL;
	struct rf_error *error = keep_place_directory(&place, &directory);
	const bool homeless = error && error->code == RF_EACCESS;
	if (homeless)
		rf_error_destroy(error);
	if (error)
		return homeless ? NULL : error;
	if (asprintf(path, "%s/config", directory) < 0) {
		*path = NULL;
		error = rf_error_no_memory();
	}
	free(directory);
	return error;
}

struct rf_error *config_load(struct config *config)
{
	*config = (struct config){.files = {[CONFIG_SYSTEM] = {.path = strdup(SYSTEM_FILE)}}};
	struct rf_error *error = config->files[CONFIG_SYSTEM].path
					 ? find_user_file(&config->files[CONFIG_USER].path)
					 : rf_error_no_memory();
	for (size_t i = 0; i < N_CONFIG_FILES && !error; i++)
		if (config->files[i].path)
			error = read_file(config, &config->files[i]);
	return error;
}

void config_deinit(struct config *config)
{
	for (size_t i = 0; i < config->n_entries; i++) {
		free(config->entries[i].key);
		free(config->entries[i].value);
	}
	free(config->entries);
	for (size_t i = 0; i < N_CONFIG_FILES; i++)
		free(config->files[i].path);
}

/* ---- entries ---- */

/* What a key means where no section says whose it is: the first option of that name, and those of
 * other commands that take the same kind of value.  --plot is a flag, but of a sweep a word. */
static bool is_meant(const struct option *option)
{
	enum option_id first = 0;
	while (strcmp(option_rows[first].name, option->name) != 0)
		first++;
	return option->kind == option_rows[first].kind;
}

bool config_is_of(const struct config_entry *entry, enum command_id command,
		  const struct option *option)
{
	return entry->commands & 1u << command && option_belongs(option, command) &&
	       strcmp(entry->key, option->name) == 0 &&
	       (entry->commands != CONFIG_ALL_COMMANDS || is_meant(option));
}

const struct config_entry *config_find(const struct config *config, enum command_id command,
				       const struct option *option)
{
	for (size_t i = config->n_entries; i-- > 0;)
		if (config_is_of(&config->entries[i], command, option))
			return &config->entries[i];
	return NULL;
}
