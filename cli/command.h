/* What carries out a command: one function in cli/command_NAME.c for each of cli/commands.def. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* words: what follows the options.  Tables and other output go to standard output, if to no file;
 * that of a run to its log, on standard error.  *status: a wait status to end with, 0 if it is
 * left. */
typedef struct rf_error *command_fn(const struct options *given, const char **words, int *status);

/* words: the program and its arguments.  *status: the program's. */
command_fn run_command;
/* words: the profile's file; or those of ranks, or their directory. */
command_fn report_command;
/* words: the files of A and B.  Conditions of --fail-on that are met are said on standard error;
 * *status: exit 3 where one is. */
command_fn diff_command;
/* words: the files of a timed and of a counted run. */
command_fn join_command;
/* words: none.  Warnings and progress go to standard error. */
command_fn machine_command;
/* words: parameters, then the command.  *status: exit 1 where a program has failed at a point. */
command_fn sweep_command;
/* words: none.  *status: exit 0 where `rfprof PROGRAM` can make a full profile here, else 1. */
command_fn doctor_command;
/* words: none. */
command_fn config_command;
/* words: none, or a command's; what is told goes to standard output. */
command_fn help_command;
