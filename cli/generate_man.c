/* Writes options as paragraphs of a man page, from the sentences of cli/options.def. */
#include "cli/generate_man.h"

#include "cli/options.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BEGIN ".\\\" options of "
#define END ".\\\" end of options"

enum { COLUMNS = 100 };

/* ---- the head of a paragraph ---- */

/* With the minus signs of options, which can be copied from the page. */
static void write_option_name(const char *text, FILE *out)
{
	for (; *text; text++)
		fputs(*text == '-' ? "\\-" : (char[]){*text, 0}, out);
}

static void write_head(const struct option *option, FILE *out)
{
	fputs(".TP\n", out);
	if (option->letter)
		fprintf(out, ".BR \\-%c \", \" \\-\\-", option->letter);
	else
		fprintf(out, "%s \\-\\-", option->argument ? ".BI" : ".B");
	write_option_name(option->name, out);
	if (option->argument)
		fprintf(out, option->letter ? "= \\fI%s\\fR" : "= %s", option->argument);
	fputc('\n', out);
}

/* ---- sentences ---- */

/* Where the text stands between fonts, and in which column its line is. */
struct writer {
	FILE *out;
	bool bold, italic;
	size_t column;
};

/* `bold` and |italic| as escapes of roff. */
static void write_character(struct writer *writer, char c)
{
	if (c == '`' || c == '|') {
		bool *font = c == '`' ? &writer->bold : &writer->italic;
		*font = !*font;
		fputs(!*font ? "\\fR" : c == '`' ? "\\fB" : "\\fI", writer->out);
	} else if (c == '-' && writer->bold) {
		fputs("\\-", writer->out);
	} else {
		fputc(c, writer->out);
	}
}

static void write_word(struct writer *writer, const char *word, size_t length)
{
	if (writer->column && writer->column + 1 + length > COLUMNS) {
		fputc('\n', writer->out);
		writer->column = 0;
	} else if (writer->column) {
		fputc(' ', writer->out);
	}
	if (!writer->column && (*word == '.' || *word == '\''))
		fputs("\\&", writer->out); /* else it were a request */
	for (size_t i = 0; i < length; i++)
		write_character(writer, word[i]);
	writer->column += 1 + length;
}

static void write_sentences(const char *text, FILE *out)
{
	struct writer writer = {.out = out};
	while (*text) {
		const size_t length = strcspn(text, " \n");
		if (length)
			write_word(&writer, text, length);
		text += length;
		if (strncmp(text, "\n\n", 2) == 0) {
			fputs("\n.IP\n", out);
			writer.column = 0;
		}
		text += strspn(text, " \n");
	}
	fputc('\n', out);
}

/* What --help says, as a sentence. */
static void write_help(const char *help, FILE *out)
{
	char *sentence = NULL;
	if (asprintf(&sentence, "%c%s.", toupper((unsigned char)*help), help + 1) < 0)
		return;
	write_sentences(sentence, out);
	free(sentence);
}

/* ---- the page ---- */

static void write_options(enum command_id command, FILE *out)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		if (!option_belongs(option, command))
			continue;
		write_head(option, out);
		if (option->man)
			write_sentences(option->man, out);
		else
			write_help(option->help, out);
	}
}

/* The command that a line begins the options of, or N_COMMANDS. */
static enum command_id begins(const char *line)
{
	static const char *const names[] = {
#define COMMAND(id, word, arguments, summary) [COMMAND_##id] = #id "\n",
#include "cli/commands.def"
#undef COMMAND
	};
	if (strncmp(line, BEGIN, strlen(BEGIN)) != 0)
		return N_COMMANDS;
	enum command_id command = 0;
	while (command < N_COMMANDS && strcmp(line + strlen(BEGIN), names[command]) != 0)
		command++;
	return command;
}

void generate_man(FILE *page, FILE *out)
{
	char *line = NULL;
	size_t size = 0;
	bool inside = false;
	while (getline(&line, &size, page) > 0) {
		const enum command_id command = begins(line);
		inside = inside && strncmp(line, END, strlen(END)) != 0;
		if (!inside)
			fputs(line, out);
		if (command != N_COMMANDS) {
			write_options(command, out);
			inside = true;
		}
	}
	free(line);
}
