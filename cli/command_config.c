/* `rfprof config`: what configuration files set, and where. */
#include "cli/command.h"

#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output_file.h"

#include <stdlib.h>
#include <string.h>

/* Each command has the entries that it can use tried on it. */
static struct rf_error *check(const struct config *config)
{
	const char *no_words[] = {"", NULL};
	struct rf_error *error = NULL;
	for (enum command_id id = 0; id < N_COMMANDS && !error; id++) {
		struct command_line line;
		error = command_line_read(&line, id, 1, no_words)
				?: command_line_add(&line, id, config);
		command_line_deinit(&line);
	}
	return error;
}

/* Whether an option of some command is as it says. */
static bool holds(const struct config *config, const struct config_entry *entry)
{
	for (enum command_id command = 0; command < N_COMMANDS; command++)
		for (enum option_id id = 0; id < N_OPTIONS; id++) {
			const struct option *option = &option_rows[id];
			if (!config_is_of(entry, command, option))
				continue;
			const struct config_entry *last = config_find(config, command, option);
			if (last == entry ||
			    (option->kind == OPTION_LIST && last->path == entry->path))
				return true;
		}
	return false;
}

static void write_files(const struct config *config)
{
	for (size_t i = 0; i < N_CONFIG_FILES; i++) {
		const struct config_file *file = &config->files[i];
		fputs("# ", stdout);
		if (file->path)
			text_write_path(stdout, file->path);
		else
			fputs("no home directory for a file of your own", stdout);
		if (file->path && file->errnum)
			printf(": %s", strerror(file->errnum));
		putchar('\n');
	}
}

static void write_entry(const struct config_entry *entry)
{
	char *value = entry->value ? text_clean(entry->value) : NULL;
	fputs("\n# ", stdout);
	text_write_path(stdout, entry->path);
	printf(":%u\n%s = %s\n", entry->line, entry->key, value ?: "yes");
	free(value);
}

/* Those of all commands, which have no section, must come first; what is written is a configuration
 * file, too. */
static void write_entries(const struct config *config)
{
	for (size_t i = 0; i < config->n_entries; i++)
		if (config->entries[i].commands == CONFIG_ALL_COMMANDS &&
		    holds(config, &config->entries[i]))
			write_entry(&config->entries[i]);
	for (enum command_id id = 0; id < N_COMMANDS; id++) {
		bool begun = false;
		for (size_t i = 0; i < config->n_entries; i++) {
			const struct config_entry *entry = &config->entries[i];
			if (entry->commands != 1u << id || !holds(config, entry))
				continue;
			if (!begun)
				printf("\n[%s]", command_rows[id].id);
			begun = true;
			write_entry(entry);
		}
	}
}

struct rf_error *config_command(const struct options *given, const char **words, int *status)
{
	struct config config;
	(void)given;
	(void)status;
	if (*words)
		return usage_error("rfprof config takes no argument", *words);
	struct rf_error *error = config_load(&config);
	if (!error)
		error = check(&config);
	if (!error) {
		write_files(&config);
		write_entries(&config);
	}
	config_deinit(&config);
	return output_stream_flush(stdout, error);
}
