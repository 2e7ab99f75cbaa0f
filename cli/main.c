/* rfprof: finds the command that is named, reads its options, and carries it out. */
#include "base/crash.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "sweep/plan.h"
#include "tracer/launch/launch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { EXIT_TROUBLE = 2 }; /* rfprof's own failures */

static command_fn *const functions[N_COMMANDS] = {
#define COMMAND(id, function, word, arguments, summary) [COMMAND_##id] = function,
#include "cli/commands.def"
#undef COMMAND
};

/* What the command line does not say, the configuration does; commands that tell of rfprof alone
 * ask neither. */
static struct rf_error *configure(struct command_line *line, enum command_id id)
{
	struct config config;
	if (line->options.no_config || id == COMMAND_help || id == COMMAND_config)
		return NULL;
	struct rf_error *error = config_load(&config);
	if (!error)
		error = command_line_add(line, id, &config);
	config_deinit(&config);
	return error;
}

/* `rfprof sweep PLAN.toml`: the words and options of the plan, where the command line has no
 * others.
 */
static struct rf_error *take_plan(struct command_line *line, struct sweep_plan *plan)
{
	struct config config = {0};
	const char *path = line->words[0];
	const char *dot = path && !line->words[1] ? strrchr(path, '.') : NULL;
	if (!dot || strcmp(dot, ".toml") != 0)
		return NULL;
	struct rf_error *error = sweep_plan_read(path, plan);
	for (size_t i = 0; !error && i < plan->n_options; i++)
		error = config_put(&config, COMMAND_sweep, path, plan->options[i].line,
				   plan->options[i].key, plan->options[i].value);
	error = error ?: command_line_add(line, COMMAND_sweep, &config);
	if (!error)
		line->words = plan->words;
	config_deinit(&config);
	return error;
}

/* Carries out the command line, and ends as it asks; else the status of rfprof's own failures. */
static int carry_out(int argc, char **argv)
{
	struct command_line line;
	struct sweep_plan plan = {0};
	int status = 0;
	if (argc < 2) {
		help_examples(stderr);
		return EXIT_TROUBLE;
	}
	const enum command_id id = command_find(argv[1]);
	const int shift = command_rows[id].word ? 1 : 0;
	struct rf_error *error =
		command_line_read(&line, id, argc - shift, (const char **)argv + shift);
	if (!error && line.options.help)
		error = help_write(id, line.options.verbose, stdout);
	else if (!error)
		error = (id == COMMAND_sweep ? take_plan(&line, &plan) : NULL)
				?: configure(&line, id)
				?: functions[id](&line.options, line.words, &status);
	command_line_deinit(&line);
	sweep_plan_deinit(&plan);
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
