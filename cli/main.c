/* rfprof: finds the command that is named, reads its options, and carries it out. */
#include "base/crash.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "tracer/launch/launch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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

/* Carries out the command line, and ends as it asks; else the status of rfprof's own failures. */
static int carry_out(int argc, char **argv)
{
	struct command_line line;
	int status = 0;
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

struct words {
	int argc;
	char **argv;
};

static void *carry_out_here(void *opaque)
{
	static char signal_stack[THREAD_SIGNAL_STACK];
	const struct words *words = opaque;
	thread_use_signal_stack(signal_stack);
	exit(carry_out(words->argc, words->argv));
}

/* The limit of stacks (RLIMIT_STACK) may be lower than rfprof needs: it is meant for the program,
 * which keeps it.  All is done in a thread then, whose stack has no such limit. */
static int carry_out_on_large_stack(int argc, char **argv)
{
	struct words words = {argc, argv};
	pthread_attr_t attributes;
	pthread_t thread;
	if (pthread_attr_init(&attributes) ||
	    pthread_attr_setstacksize(&attributes, THREAD_STACK) ||
	    pthread_create(&thread, &attributes, carry_out_here, &words)) {
		fputs("rfprof: the stack is too small (raise its limit with ulimit -s)\n", stderr);
		return EXIT_TROUBLE;
	}
	pthread_join(thread, NULL); /* it ends the process */
	return EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
	struct rlimit stack;
	crash_install(RFPROF_VERSION);
	if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < THREAD_STACK)
		return carry_out_on_large_stack(argc, argv);
	return carry_out(argc, argv);
}
