/* Gives the table of options to popt, which reads the command line, and checks what the options
 * were given. */
#include "cli/command_line.h"

#include "cli/commands.h"
#include "cli/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HINT "see rfprof --help"

struct rf_error *usage_error(const char *what, const char *word)
{
	return rf_error_create(RF_EINPUT, HINT, "%s: %s", word, what);
}

/* ---- popt's tables ---- */

/* Where popt puts what is given. */
static void *target(struct command_line *line, enum option_id id)
{
	const enum option_kind kind = option_rows[id].kind;
	const bool word = kind == OPTION_WORD || kind == OPTION_WORD_ANY_CASE;
	return word ? (void *)&line->texts[id] : (char *)&line->options + option_rows[id].value;
}

/* poptGetNextOpt gives the row's number, from 1 on, each time that the option is met. */
static struct poptOption popt_row(struct command_line *line, enum option_id id)
{
	static const unsigned kinds[] = {
		[OPTION_FLAG] = POPT_ARG_NONE,
		[OPTION_TEXT] = POPT_ARG_STRING,
		[OPTION_PATH] = POPT_ARG_STRING,
		[OPTION_LIST] = POPT_ARG_ARGV,
		[OPTION_NUMBER] = POPT_ARG_INT,
		[OPTION_WORD] = POPT_ARG_STRING,
		[OPTION_WORD_ANY_CASE] = POPT_ARG_STRING,
	};
	const struct option *option = &option_rows[id];
	return (struct poptOption){option->name,     option->letter, kinds[option->kind],
				   target(line, id), (int)id + 1,    option->help,
				   option->argument};
}

static bool has_option(enum command_id command, const char *name)
{
	enum option_id id = 0;
	while (id < N_OPTIONS && !(option_belongs(&option_rows[id], command) &&
				   strcmp(option_rows[id].name, name) == 0))
		id++;
	return id < N_OPTIONS;
}

/* What undoes a flag: --no-plot of --plot, --source of --no-source, unless another option is called
 * so.  poptGetNextOpt gives N_OPTIONS more than for the flag. */
static bool opposite_row(struct command_line *line, enum command_id command, enum option_id id,
			 struct poptOption *row)
{
	const char *name = option_rows[id].name;
	const bool negative = strncmp(name, "no-", 3) == 0;
	char *opposite = line->opposites[id];
	if (option_rows[id].kind != OPTION_FLAG)
		return false;
	snprintf(opposite, OPTION_NAME_SIZE, "%s%s", negative ? "" : "no-",
		 negative ? name + 3 : name);
	*row = (struct poptOption){.longName = opposite, .val = (int)(N_OPTIONS + id) + 1};
	return !has_option(command, opposite);
}

static void make_table(struct command_line *line, enum command_id command)
{
	size_t n = 0;
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		if (!option_belongs(&option_rows[id], command))
			continue;
		line->table[n++] = popt_row(line, id);
		n += opposite_row(line, command, id, &line->table[n]);
	}
	line->table[n] = (struct poptOption)POPT_TABLEEND;
}

/* ---- what was given ---- */

static struct rf_error *check_number(const struct option *option, int value)
{
	if (value >= option->least && (!option->most || value <= option->most))
		return NULL;
	if (option->most)
		return rf_error_create(RF_EINPUT, HINT, "--%s: a number from %d to %d is wanted",
				       option->name, option->least, option->most);
	return rf_error_create(RF_EINPUT, HINT, "--%s: a number from %d on is wanted", option->name,
			       option->least);
}

/* "x: --color takes auto, always or never" */
static struct rf_error *refuse_word(const struct option *option, const char *text)
{
	char what[256], hint[128];
	struct nearest nearest = nearest_to(text);
	int length = snprintf(what, sizeof(what), "--%s takes ", option->name);
	for (const struct rf_word *row = option->words; row->word; row++)
		length += snprintf(what + length, sizeof(what) - (size_t)length, "%s%s", row->word,
				   !row[1].word  ? ""
				   : row[2].word ? ", "
						 : " or ");
	for (const struct rf_word *row = option->words; row->word; row++)
		nearest_offer(&nearest, row->word);
	if (!nearest.word)
		return usage_error(what, text);
	snprintf(hint, sizeof(hint), "did you mean %s? " HINT, nearest.word);
	return rf_error_create(RF_EINPUT, hint, "%s: %s", text, what);
}

/* An option that the command has not got: one of another command, or a mistyped one. */
static struct rf_error *refuse_option(enum command_id command, const char *written)
{
	const char *name = written + strspn(written, "-");
	struct nearest nearest = nearest_to(name);
	char hint[128] = HINT;
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		if (option_belongs(option, command))
			nearest_offer(&nearest, option->name);
		else if (strlen(option->name) == nearest.length &&
			 strncmp(option->name, name, nearest.length) == 0)
			snprintf(hint, sizeof(hint), "it is an option of %s; " HINT,
				 command_rows[__builtin_ctz(option->commands)].title);
	}
	if (nearest.word)
		snprintf(hint, sizeof(hint), "did you mean --%s? " HINT, nearest.word);
	return rf_error_create(RF_EINPUT, hint, "%s: %s", written, poptStrerror(POPT_ERROR_BADOPT));
}

static struct rf_error *check(struct command_line *line, enum option_id id)
{
	const struct option *option = &option_rows[id];
	int *value = (void *)((char *)&line->options + option->value);
	if (option->kind == OPTION_NUMBER)
		return check_number(option, *value);
	if ((option->kind == OPTION_WORD && !rf_word_find(option->words, line->texts[id], value)) ||
	    (option->kind == OPTION_WORD_ANY_CASE &&
	     !rf_word_find_any_case(option->words, line->texts[id], value)))
		return refuse_word(option, line->texts[id]);
	return NULL;
}

/* Of an option that is given again the last text holds; popt forgets the one before, *earlier. */
static void free_earlier(struct command_line *line, enum option_id id, char **earlier)
{
	const enum option_kind kind = option_rows[id].kind;
	if (kind == OPTION_FLAG || kind == OPTION_NUMBER || kind == OPTION_LIST)
		return;
	free(*earlier);
	*earlier = *(char **)target(line, id);
}

/* Takes the options that popt finds, up to the first that is wrong. */
static struct rf_error *take_options(struct command_line *line, enum command_id command,
				     poptContext context)
{
	char *texts[N_OPTIONS] = {0};
	int row;
	while ((row = poptGetNextOpt(context)) > 0) {
		const bool undone = row > (int)N_OPTIONS;
		const enum option_id id = (enum option_id)(row - 1) % N_OPTIONS;
		line->given[id] = true;
		if (undone)
			*(int *)target(line, id) = 0;
		else
			free_earlier(line, id, &texts[id]);
	}
	if (row == POPT_ERROR_BADOPT)
		return refuse_option(command, poptBadOption(context, POPT_BADOPTION_NOALIAS));
	if (row < -1)
		return usage_error(poptStrerror(row),
				   poptBadOption(context, POPT_BADOPTION_NOALIAS));
	return NULL;
}

struct rf_error *command_line_read(struct command_line *line, enum command_id command, int argc,
				   const char **argv)
{
	static const char *none[] = {NULL};
	*line = (struct command_line){.words = none};
	make_table(line, command);
	/* what follows PROGRAM is the program's */
	line->context = poptGetContext(argv[0], argc, argv, line->table,
				       command == COMMAND_run ? POPT_CONTEXT_POSIXMEHARDER : 0);
	if (!line->context)
		return rf_error_no_memory();
	struct rf_error *error = take_options(line, command, line->context);
	if (!error && poptPeekArg(line->context))
		line->words = poptGetArgs(line->context);
	for (enum option_id id = 0; id < N_OPTIONS && !error; id++)
		error = line->given[id] ? check(line, id) : NULL;
	return error;
}

/* ---- what the configuration says ---- */

/* One that is given leaves out the others of its rows. */
static const enum option_id excluding[][2] = {
	{OPTION_ID_save, OPTION_ID_no_save},
	{OPTION_ID_once, OPTION_ID_repeat},
	{OPTION_ID_once, OPTION_ID_counter},
};

static bool is_left_out(const struct command_line *line, enum option_id id)
{
	bool out = line->given[id];
	for (size_t i = 0; i < sizeof(excluding) / sizeof(excluding[0]); i++)
		for (int side = 0; side < 2; side++)
			out |= excluding[i][side] == id && line->given[excluding[i][!side]];
	return out;
}

static struct rf_error *add_flag(const struct config_entry *entry, int *value)
{
	static const struct rf_word answers[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};
	if (rf_word_find(answers, entry->value ?: "yes", value))
		return NULL;
	return rf_error_create(RF_EINPUT,
			       "a section such as [run] says which command's option is meant",
			       "%s takes yes or no, or stands alone", entry->key);
}

/* As if the command line had it. */
static struct rf_error *add_value(struct command_line *line, enum command_id command,
				  const struct config_entry *entry)
{
	char *word = NULL;
	if (asprintf(&word, "--%s%s%s", entry->key, entry->value ? "=" : "", entry->value ?: "") <
	    0)
		return rf_error_no_memory();
	const char *words[] = {"", word, NULL};
	poptContext context = poptGetContext(NULL, 2, words, line->table, 0);
	struct rf_error *error =
		context ? take_options(line, command, context) : rf_error_no_memory();
	poptFreeContext(context);
	free(word);
	return error;
}

/* Of an option that may be repeated, all that stand in the file of the last one. */
static struct rf_error *add_entry(struct command_line *line, enum command_id command,
				  enum option_id id, const struct config *config,
				  const struct config_entry *last)
{
	const struct option *option = &option_rows[id];
	const struct config_entry *entry = option->kind == OPTION_LIST ? config->entries : last;
	struct rf_error *error = NULL;
	if (option->kind == OPTION_FLAG) {
		line->given[id] = true;
		return add_flag(last, target(line, id));
	}
	for (; entry <= last && !error; entry++)
		if (entry->path == last->path && config_is_of(entry, command, option))
			error = add_value(line, command, entry);
	return error ? error : check(line, id);
}

struct rf_error *command_line_add(struct command_line *line, enum command_id command,
				  const struct config *config)
{
	struct rf_error *error = NULL;
	bool out[N_OPTIONS];
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		out[id] = is_left_out(line, id);
	for (enum option_id id = 0; id < N_OPTIONS && !error; id++) {
		const struct config_entry *entry =
			out[id] ? NULL : config_find(config, command, &option_rows[id]);
		error = entry ? add_entry(line, command, id, config, entry) : NULL;
		if (error)
			error = config_error(entry, error);
	}
	return error;
}

/* ---- memory ---- */

static void free_list(char **list)
{
	for (char **text = list; text && *text; text++)
		free(*text);
	free(list);
}

void command_line_deinit(struct command_line *line)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		void *value = (char *)&line->options + option_rows[id].value;
		if (option_rows[id].kind == OPTION_LIST)
			free_list(*(char ***)value);
		else if (option_rows[id].kind == OPTION_TEXT || option_rows[id].kind == OPTION_PATH)
			free(*(char **)value);
		free(line->texts[id]);
	}
	poptFreeContext(line->context);
}
