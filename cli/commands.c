/* The table of the commands, made from cli/commands.def. */
#include "cli/commands.h"

#include <string.h>

const struct command command_rows[N_COMMANDS] = {
#define COMMAND(id, function, word, arguments, summary) \
	{#id, word, COMMAND_##id == COMMAND_run ? "rfprof" : "rfprof " #id, arguments, summary},
#include "cli/commands.def"
#undef COMMAND
};

enum command_id command_find(const char *word)
{
	enum command_id id = 0;
	while (command_rows[id].word && (!word || strcmp(word, command_rows[id].word) != 0))
		id++;
	return id;
}
