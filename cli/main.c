/* rfprof: finds the command that is named, reads its options, and carries it out. */
#include "base/crash.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "tracer/launch/launch.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_TROUBLE = 2 }; /* rfprof's own failures */

static const struct command {
	enum command_id id;
	const char *word; /* NULL: rfprof PROGRAM, the last row */
	const char *help_name, *arguments;
	command_fn *carry_out;
} commands[] = {
#define COMMAND(id, function, word, arguments, summary)                                         \
	{COMMAND_##id, word, COMMAND_##id == COMMAND_run ? "rfprof" : "rfprof " #id, arguments, \
	 function},
#include "cli/commands.def"
#undef COMMAND
};

static const struct command *find_command(const char *word)
{
	const struct command *command = commands;
	while (command->word && (!word || strcmp(word, command->word) != 0))
		command++;
	return command;
}

int main(int argc, char **argv)
{
	struct command_line line;
	int status = 0;
	crash_install(RFPROF_VERSION);
	const struct command *command = find_command(argc > 1 ? argv[1] : NULL);
	const int shift = command->word ? 1 : 0;
	argv[shift] = (char *)command->help_name;
	struct rf_error *error = command_line_read(&line, command->id, command->arguments,
						   argc - shift, (const char **)argv + shift);
	if (!error)
		error = command->carry_out(&line.options, line.words, &status);
	command_line_deinit(&line);
	if (!error)
		launch_end_like(status);
	rf_error_print(error, stderr);
	rf_error_destroy(error);
	return EXIT_TROUBLE;
}
