/* Writes --help, which popt lays out, and the examples. */
#include "cli/help.h"

#include "cli/commands.h"
#include "cli/output_file.h"

#include <popt.h>

/* ---- the options, for popt ---- */

struct help_tables {
	struct poptOption own[N_OPTIONS + 2], report[N_OPTIONS + 1];
	size_t n_own, n_report;
};

static struct poptOption help_row(const struct option *option)
{
	return (struct poptOption){option->name,
				   option->letter,
				   option->argument ? POPT_ARG_STRING : POPT_ARG_NONE,
				   NULL,
				   0,
				   option->help,
				   option->argument};
}

/* Options of one command, then those of the report, which two have. */
static void make_tables(enum command_id command, bool whole, struct help_tables *tables)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++) {
		const struct option *option = &option_rows[id];
		if (!option_belongs(option, command) || !(whole || option_is_first(option)))
			continue;
		if (whole && option_is_shared(option))
			tables->report[tables->n_report++] = help_row(option);
		else
			tables->own[tables->n_own++] = help_row(option);
	}
	if (tables->n_report)
		tables->own[tables->n_own++] = (struct poptOption){
			NULL, 0, POPT_ARG_INCLUDE_TABLE, tables->report, 0, "The report:", NULL};
}

/* ---- --help ---- */

static void write_commands(FILE *stream)
{
	fputs("\nCommands:\n", stream);
	for (enum command_id id = 0; id < N_COMMANDS; id++)
		if (command_rows[id].word)
			fprintf(stream, "  %-8s %s\n", command_rows[id].word,
				command_rows[id].summary);
}

static bool has_more(enum command_id command)
{
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		if (option_belongs(&option_rows[id], command) && !option_is_first(&option_rows[id]))
			return true;
	return false;
}

struct rf_error *help_write(enum command_id id, bool whole, FILE *stream)
{
	const struct command *command = &command_rows[id];
	struct help_tables tables = {0};
	const char *words[] = {command->title, NULL};
	make_tables(id, whole, &tables);
	poptContext context = poptGetContext(command->title, 1, words, tables.own, 0);
	if (!context)
		return rf_error_no_memory();
	poptSetOtherOptionHelp(context, command->arguments);
	poptPrintHelp(context, stream, 0);
	poptFreeContext(context);
	if (id == COMMAND_run)
		write_commands(stream);
	if (!whole && has_more(id))
		fprintf(stream, "\nAll options: rfprof help %s. What they mean: man rfprof.\n",
			command->id);
	return output_stream_flush(stream, NULL);
}

/* ---- the examples ---- */

void help_examples(FILE *stream)
{
	fputs("rfprof says where a program's time goes, how far each function is from the roof\n"
	      "of this machine, why, and what to do about it:\n"
	      "\n"
	      "  rfprof ./app arguments             profile a program\n"
	      "  rfprof report -f 1                 why the first function of the table is slow\n"
	      "  rfprof report --html page.html     everything, for a browser\n"
	      "  rfprof diff before.rfp after.rfp   what changed between two profiles\n"
	      "  rfprof doctor                      what works on this machine\n"
	      "\n"
	      "rfprof --help lists commands and options.\n",
	      stream);
}
