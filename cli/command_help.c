/* `rfprof help`: all options of a command. */
#include "cli/command.h"

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/nearest.h"

#include <string.h>

static struct rf_error *refuse(const char *word)
{
	struct nearest nearest = nearest_to(word);
	char hint[96];
	for (enum command_id id = 0; id < N_COMMANDS; id++)
		nearest_offer(&nearest, command_rows[id].id);
	if (nearest.word)
		snprintf(hint, sizeof(hint), "did you mean rfprof help %s?", nearest.word);
	return rf_error_create(RF_EINPUT, nearest.word ? hint : "rfprof --help lists the commands",
			       "%s: there is no such command", word);
}

struct rf_error *help_command(const struct options *given, const char **words, int *status)
{
	(void)given;
	(void)status;
	if (!words[0])
		return help_write(COMMAND_run, false, stdout);
	if (words[1])
		return rf_error_create(RF_EINPUT, "try rfprof help report",
				       "one command is wanted");
	for (enum command_id id = 0; id < N_COMMANDS; id++)
		if (strcmp(words[0], command_rows[id].id) == 0)
			return help_write(id, true, stdout);
	return refuse(words[0]);
}
