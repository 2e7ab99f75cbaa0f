/* Writes the table of options as completions for bash, zsh and fish. */
#include "cli/generate_completion.h"

#include "cli/options.h"

#include <stdbool.h>
#include <string.h>

static const struct {
	enum command_id id;
	const char *name, *word, *summary;
} commands[] = {
#define COMMAND(id, word, arguments, summary) {COMMAND_##id, #id, word, summary},
#include "cli/commands.def"
#undef COMMAND
};

static void write_words(const struct rf_word *words, FILE *out)
{
	for (const struct rf_word *row = words; row->word; row++)
		fprintf(out, "%s%s", row == words ? "" : " ", row->word);
}

/* The words of all commands but `rfprof PROGRAM`. */
static void write_command_words(const char *between, FILE *out)
{
	const char *before = "";
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].word) {
			fprintf(out, "%s%s", before, commands[i].word);
			before = between;
		}
}

/* Text between single quotes, with a backslash before the characters of `special`. */
static void write_quoted(const char *text, const char *special, const char *quote, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs(quote, out);
		else
			fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
	}
}

/* ---- bash ---- */

static void write_bash_options(size_t command, FILE *out)
{
	fprintf(out, "\t%s) options='--help --usage", commands[command].name);
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		if (option_belongs(&option_rows[id], commands[command].id))
			fprintf(out, " --%s%s", option_rows[id].name,
				option_rows[id].argument ? "=" : "");
	fputs("' ;;\n", out);
}

/* What the options of a command take: words, @file, or @text. */
static void write_bash_values(size_t command, FILE *out)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		if (!option->argument || !option_belongs(option, commands[command].id))
			continue;
		fprintf(out, "\t%s--%s", commands[command].name, option->name);
		if (option->letter)
			fprintf(out, " | %s-%c", commands[command].name, option->letter);
		fputs(") values='", out);
		if (option->words)
			write_words(option->words, out);
		else
			fputs(option->kind == OPTION_PATH ? "@file" : "@text", out);
		fputs("' ;;\n", out);
	}
}

/* The rest of _rfprof(), behind `case ${COMP_WORDS[1]} in`. */
static void write_bash_function(FILE *out)
{
	write_command_words(" | ", out);
	fputs(")\n"
	      "\t\t[ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]} ;;\n"
	      "\tesac\n"
	      "\tif [ $command = run ]; then # what stands behind the program is the program's\n"
	      "\t\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\t\tcase ${COMP_WORDS[i]} in\n"
	      "\t\t\t-*)\n"
	      "\t\t\t\tif [ \"${COMP_WORDS[i + 1]}\" = = ]; then i=$((i + 2))\n"
	      "\t\t\t\telif _rfprof_values run \"${COMP_WORDS[i]}\"; then i=$((i + 1)); fi ;;\n"
	      "\t\t\t*) return ;;\n"
	      "\t\t\tesac\n"
	      "\t\tdone\n"
	      "\tfi\n"
	      "\tif [ \"$word\" = = ]; then word=\n"
	      "\telif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
	      "\tif _rfprof_values $command \"$before\"; then\n"
	      "\t\tcase $values in\n"
	      "\t\t@file) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
	      "\t\t@text) ;;\n"
	      "\t\t*) COMPREPLY=($(compgen -W \"$values\" -- \"$word\")) ;;\n"
	      "\t\tesac\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase $word in\n"
	      "\t-*)\n"
	      "\t\t_rfprof_options $command\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
	      "\t\tcase ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac ;;\n"
	      "\t*)\n"
	      "\t\tcase $command in\n"
	      "\t\trun) COMPREPLY=($(compgen -c -- \"$word\"))\n"
	      "\t\t\t[ \"$COMP_CWORD\" -gt 1 ] || COMPREPLY+=($(compgen -W '",
	      out);
	write_command_words(" ", out);
	fputs("' -- \"$word\")) ;;\n"
	      "\t\treport | diff) COMPREPLY=($(compgen -f -X '!*.rfp' -- \"$word\")) ;;\n"
	      "\t\tesac ;;\n"
	      "\tesac\n"
	      "}\n"
	      "complete -o bashdefault -o default -F _rfprof rfprof\n",
	      out);
}

void generate_bash(FILE *out)
{
	fputs("# Completion of rfprof in bash; made from cli/options.def.\n"
	      "_rfprof_options() # COMMAND: its options\n{\n\tcase $1 in\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		write_bash_options(i, out);
	fputs("\tesac\n}\n\n"
	      "_rfprof_values() # COMMAND OPTION: what it takes, if it takes anything\n{\n"
	      "\tvalues=\n\tcase $1$2 in\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		write_bash_values(i, out);
	fputs("\tesac\n\t[ -n \"$values\" ]\n}\n\n"
	      "_rfprof()\n{\n"
	      "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal command=run options values i\n"
	      "\tCOMPREPLY=()\n"
	      "\tcase ${COMP_WORDS[1]} in\n\t",
	      out);
	write_bash_function(out);
}

/* ---- zsh ---- */

static void write_zsh_option(const struct option *option, FILE *out)
{
	fputs(" \\\n\t\t", out);
	if (option->letter)
		fprintf(out, "{-%c%s,--%s%s}", option->letter, option->argument ? "+" : "",
			option->name, option->argument ? "=" : "");
	else
		fprintf(out, "%s--%s%s", option->kind == OPTION_LIST ? "\\*" : "", option->name,
			option->argument ? "=" : "");
	fputs("'[", out);
	write_quoted(option->help, "[]:\\", "'\\''", out);
	fputc(']', out);
	if (option->argument)
		fprintf(out, ":%s:", option->argument);
	if (option->words) {
		fputc('(', out);
		write_words(option->words, out);
		fputc(')', out);
	} else if (option->kind == OPTION_PATH) {
		fputs("_files", out);
	}
	fputc('\'', out);
}

static void write_zsh_command(size_t command, FILE *out)
{
	static const char *const rest[N_COMMANDS] = {
		[COMMAND_report] = "'1:profile:_files -g \"*.rfp\"'",
		[COMMAND_diff] = "'*:profile:_files -g \"*.rfp\"'",
		[COMMAND_run] = "'1:program:_rfprof_program' '*::arguments:_normal'",
	};
	fprintf(out, "\t%s)\n\t\t_arguments -S", commands[command].name);
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		if (option_belongs(&option_rows[id], commands[command].id))
			write_zsh_option(&option_rows[id], out);
	if (rest[commands[command].id])
		fprintf(out, " \\\n\t\t%s", rest[commands[command].id]);
	fputs(" ;;\n", out);
}

void generate_zsh(FILE *out)
{
	fputs("#compdef rfprof\n# Completion of rfprof in zsh; made from cli/options.def.\n"
	      "_rfprof_program() {\n\tlocal -a commands=(\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].word)
			fprintf(out, "\t\t'%s:%s'\n", commands[i].word, commands[i].summary);
	fputs("\t)\n"
	      "\t(( CURRENT == 2 )) && _describe command commands\n"
	      "\t_alternative 'commands:program:_command_names -e' 'files:program:_files'\n"
	      "}\n\n"
	      "_rfprof() {\n"
	      "\tlocal command=run\n"
	      "\tif (( CURRENT > 2 )) && [[ $words[2] == (",
	      out);
	write_command_words("|", out);
	fputs(") ]]; then\n"
	      "\t\tcommand=$words[2]\n"
	      "\t\tshift words\n"
	      "\t\t(( CURRENT-- ))\n"
	      "\tfi\n"
	      "\tcase $command in\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		write_zsh_command(i, out);
	fputs("\tesac\n}\n\n_rfprof \"$@\"\n", out);
}

/* ---- fish ---- */

static void write_fish_option(const char *command, const struct option *option, FILE *out)
{
	fprintf(out, "complete -c rfprof -n 'test (__rfprof_command) = %s' -l %s", command,
		option->name);
	if (option->letter)
		fprintf(out, " -s %c", option->letter);
	if (option->kind == OPTION_PATH)
		fputs(" -r -F", out);
	else if (option->argument)
		fputs(" -x", out);
	if (option->words) {
		fputs(" -a '", out);
		write_words(option->words, out);
		fputc('\'', out);
	}
	fputs(" -d '", out);
	write_quoted(option->help, "\\", "\\'", out);
	fputs("'\n", out);
}

void generate_fish(FILE *out)
{
	fputs("# Completion of rfprof in fish; made from cli/options.def.\n"
	      "function __rfprof_command\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tif contains -- \"$words[2]\" ",
	      out);
	write_command_words(" ", out);
	fputs("\n\t\techo $words[2]\n\telse\n\t\techo run\n\tend\nend\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (commands[i].word)
			fprintf(out,
				"complete -c rfprof -n 'test (count (commandline -opc)) -eq 1' "
				"-a %s -d '%s'\n",
				commands[i].word, commands[i].summary);
	for (size_t i = 0; i < N_COMMANDS; i++)
		for (enum option_id id = 0; id < N_OPTIONS; id++)
			if (option_belongs(&option_rows[id], commands[i].id))
				write_fish_option(commands[i].name, &option_rows[id], out);
}
