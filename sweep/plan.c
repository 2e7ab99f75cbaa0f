/* Reads a plan: its lines here, their values by the JSON library. */
#include "sweep/plan.h"

#include "base/array.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum section { TOP, PARAMETERS, CONSTANTS, DERIVED, N_SECTIONS };
static const char *const sections[N_SECTIONS] = {"", "parameters", "constants", "derived"};

struct reader {
	const char *path;
	const char *at; /* in the text that is left */
	unsigned line;
	enum section section;
	char key[64];
	struct sweep_plan *plan;
	json_t *command; /* NULL: not yet seen */
};

__attribute__((format(printf, 2, 3))) static struct rf_error *refuse(const struct reader *reader,
								     const char *format, ...)
{
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return rf_error_create(RF_EINPUT, "docs/sweep.md says what a plan has", "%s:%u: %s",
			       reader->path, reader->line, text);
}

/* ---- words ---- */

/* To be freed; NULL: it has no text, as a list has none, or memory is short. */
static char *text_of(const json_t *value)
{
	if (json_is_string(value))
		return strdup(json_string_value(value));
	return json_is_number(value) || json_is_boolean(value)
		       ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15))
		       : NULL;
}

/* Takes `word`; NULL is short memory. */
static struct rf_error *add_word(struct sweep_plan *plan, char *word)
{
	const char *constant = word;
	if (word && rf_array_push(plan->words, plan->n_words, plan->cap_words, constant))
		return NULL;
	free(word);
	return rf_error_no_memory();
}

/* The values of a list, with commas between them. */
static struct rf_error *join_values(const struct reader *reader, const json_t *list, char **out)
{
	char *all = strdup("");
	size_t i;
	json_t *value;
	*out = NULL;
	json_array_foreach(list, i, value)
	{
		char *text = text_of(value), *longer = NULL;
		const bool fits = text && *text && !strchr(text, ',');
		if (all && fits && asprintf(&longer, "%s%s%s", all, i ? "," : "", text) < 0)
			longer = NULL;
		free(text);
		free(all);
		all = longer;
		if (!fits)
			return refuse(reader, "%s: a value is a number or a text, without a comma",
				      reader->key);
	}
	*out = all;
	return all ? NULL : rf_error_no_memory();
}

static struct rf_error *take_parameter(struct reader *reader, const json_t *value)
{
	char *text = NULL, *word = NULL;
	struct rf_error *error = NULL;
	if (json_is_array(value))
		error = join_values(reader, value, &text);
	else
		text = text_of(value);
	if (error)
		return error;
	if (!text || !*text || (reader->section == CONSTANTS && strpbrk(text, ",:")) ||
	    (reader->section == CONSTANTS && json_is_array(value)) ||
	    (reader->section == DERIVED && !json_is_string(value))) {
		free(text);
		return refuse(reader, "%s: %s is wanted", reader->key,
			      reader->section == DERIVED     ? "a formula, as a text,"
			      : reader->section == CONSTANTS ? "one value, without comma or colon,"
							     : "a list, a text or a number");
	}
	if (asprintf(&word, "%s%s=%s", reader->key, reader->section == DERIVED ? ":" : "", text) <
	    0)
		word = NULL;
	free(text);
	return add_word(reader->plan, word);
}

/* ---- options ---- */

static struct rf_error *add_option(struct reader *reader, const json_t *value)
{
	struct sweep_plan *plan = reader->plan;
	const struct sweep_plan_option option = {
		strdup(reader->key),
		json_is_boolean(value) ? strdup(json_is_true(value) ? "yes" : "no")
				       : text_of(value),
		reader->line};
	if (option.key && option.value &&
	    rf_array_push(plan->options, plan->n_options, plan->cap_options, option))
		return NULL;
	const bool has_text = option.value;
	free(option.key);
	free(option.value);
	return has_text ? rf_error_no_memory()
			: refuse(reader,
				 "%s: a text, a number, true, false or a list of these is "
				 "wanted",
				 reader->key);
}

static struct rf_error *take_top(struct reader *reader, json_t *value)
{
	const struct sweep_plan *plan = reader->plan;
	struct rf_error *error = NULL;
	size_t i;
	json_t *item;
	for (i = 0; i < plan->n_options; i++)
		if (strcmp(plan->options[i].key, reader->key) == 0)
			return refuse(reader, "%s is there already", reader->key);
	if (strcmp(reader->key, "command") == 0) {
		if (reader->command)
			return refuse(reader, "there are two commands");
		if (!json_is_array(value) || !json_array_size(value))
			return refuse(reader, "command: a list of words is wanted, such as "
					      "[\"./app\", \"{n}\"]");
		reader->command = json_incref(value);
		return NULL;
	}
	if (!json_is_array(value))
		return add_option(reader, value);
	json_array_foreach(value, i, item) if (!error) error = add_option(reader, item);
	return error;
}

/* Behind the parameters, wherever it stands. */
static struct rf_error *add_command(struct reader *reader)
{
	struct rf_error *error = NULL;
	size_t i;
	json_t *word;
	if (!reader->command)
		return refuse(reader, "there is no command");
	json_array_foreach(reader->command, i, word)
	{
		char *text = error ? NULL : text_of(word);
		if (!error && !text)
			error = refuse(reader, "command: a word is a text or a number");
		error = error ?: add_word(reader->plan, text);
	}
	return error;
}

/* ---- lines ---- */

static void skip_blanks(struct reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r')
		reader->at++;
}

/* The rest of a line: nothing, or a comment. */
static struct rf_error *end_line(struct reader *reader)
{
	skip_blanks(reader);
	if (*reader->at == '#')
		reader->at += strcspn(reader->at, "\n");
	if (*reader->at && *reader->at != '\n')
		return refuse(reader, "%.*s is too much here", (int)strcspn(reader->at, "\r\n"),
			      reader->at);
	if (*reader->at == '\n') {
		reader->at++;
		reader->line++;
	}
	return NULL;
}

static struct rf_error *take_section(struct reader *reader)
{
	const size_t n = strcspn(++reader->at, "]\n");
	for (enum section s = PARAMETERS; s < N_SECTIONS; s++)
		if (reader->at[n] == ']' && strlen(sections[s]) == n &&
		    strncmp(sections[s], reader->at, n) == 0) {
			reader->section = s;
			reader->at += n + 1;
			return end_line(reader);
		}
	return refuse(reader, "[%.*s]: there are [parameters], [constants] and [derived]", (int)n,
		      reader->at);
}

static struct rf_error *take_key(struct reader *reader)
{
	size_t n = 0;
	while (isalnum((unsigned char)reader->at[n]) || reader->at[n] == '_' ||
	       (reader->section == TOP && reader->at[n] == '-'))
		n++;
	snprintf(reader->key, sizeof(reader->key), "%.*s", (int)n, reader->at);
	const char *key = reader->at;
	reader->at += n;
	skip_blanks(reader);
	if (!n || n >= sizeof(reader->key) || *reader->at != '=')
		return refuse(reader, "%.*s: NAME = VALUE is wanted", (int)strcspn(key, "\r\n"),
			      key);
	reader->at++;
	skip_blanks(reader);
	return NULL;
}

/* A text in quotes of either kind, as JSON has it; in single ones all stands for itself. */
static void copy_text(struct reader *reader, FILE *out)
{
	const char quote = *reader->at++;
	fputc('"', out);
	for (; *reader->at && *reader->at != '\n' && *reader->at != quote; reader->at++) {
		const bool escapes = *reader->at == '\\' && quote == '"';
		if (quote == '\'' && (*reader->at == '"' || *reader->at == '\\'))
			fputc('\\', out);
		fputc(*reader->at, out);
		if (escapes && reader->at[1] && reader->at[1] != '\n')
			fputc(*++reader->at, out);
	}
	if (*reader->at == quote) {
		fputc('"', out);
		reader->at++;
	}
}

/* Up to the end of the line, or of a list that goes on in others: without comments, and without a
 * comma behind the last one of a list. */
static void copy_value(struct reader *reader, FILE *out)
{
	int depth = 0;
	bool comma = false;
	while (*reader->at && (*reader->at != '\n' || depth > 0)) {
		const char c = *reader->at;
		if (c == '#') {
			reader->at += strcspn(reader->at, "\n");
			continue;
		}
		depth += (c == '[') - (c == ']');
		reader->line += c == '\n';
		if (comma && c != ']' && !isspace((unsigned char)c)) {
			fputc(',', out);
			comma = false;
		}
		if (c == '"' || c == '\'') {
			copy_text(reader, out);
			continue;
		}
		comma = (comma && c != ']') || (c == ',' && depth > 0);
		if (c != ',' || !comma)
			fputc(c, out);
		reader->at++;
	}
}

/* NULL: it makes no sense, or memory is short. */
static json_t *read_value(struct reader *reader)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	copy_value(reader, out);
	json_t *value = fclose(out) == 0 ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
	free(text);
	return value;
}

static struct rf_error *take_line(struct reader *reader)
{
	skip_blanks(reader);
	if (*reader->at == '[')
		return take_section(reader);
	if (!*reader->at || *reader->at == '\n' || *reader->at == '#')
		return end_line(reader);
	struct rf_error *error = take_key(reader);
	if (error)
		return error;
	json_t *value = read_value(reader);
	if (!value)
		return refuse(reader,
			      "%s: a number, a text in quotes, true, false or a list of "
			      "these is wanted",
			      reader->key);
	error = reader->section == TOP ? take_top(reader, value) : take_parameter(reader, value);
	json_decref(value);
	return error ?: end_line(reader);
}

/* ---- the file ---- */

static struct rf_error *read_text(const char *path, char **text)
{
	size_t size = 0;
	FILE *file = fopen(path, "r");
	*text = NULL;
	if (file && getdelim(text, &size, '\0', file) < 0 && !ferror(file)) { /* it is empty */
		free(*text);
		*text = strdup("");
	}
	struct rf_error *error = !file || ferror(file) ? rf_error_errno(RF_EACCESS, errno, NULL,
									"cannot read %s", path)
				 : *text               ? NULL
						       : rf_error_no_memory();
	if (file)
		fclose(file);
	return error;
}

struct rf_error *sweep_plan_read(const char *path, struct sweep_plan *plan)
{
	char *text;
	*plan = (struct sweep_plan){0};
	struct rf_error *error = read_text(path, &text);
	if (!error) {
		struct reader reader = {path, text, 1, TOP, "", plan, NULL};
		while (!error && *reader.at)
			error = take_line(&reader);
		error = error ?: add_command(&reader);
		json_decref(reader.command);
	}
	const char *end = NULL;
	if (!error && !rf_array_push(plan->words, plan->n_words, plan->cap_words, end))
		error = rf_error_no_memory();
	free(text);
	return error;
}

void sweep_plan_deinit(struct sweep_plan *plan)
{
	for (size_t i = 0; i < plan->n_words; i++)
		free((char *)plan->words[i]);
	for (size_t i = 0; i < plan->n_options; i++) {
		free(plan->options[i].key);
		free(plan->options[i].value);
	}
	free(plan->words);
	free(plan->options);
	*plan = (struct sweep_plan){0};
}
