/* Writes the table of options and that of the commands as JSON, for cli/generate.py.  A tool of the
 * build, no part of rfprof. */
#include "cli/commands.h"
#include "cli/options.h"

#include <jansson.h>

static json_t *option_json(const struct option *option)
{
	const char letter[] = {option->letter, '\0'};
	json_t *of = json_array(), *words = json_array();
	for (enum command_id id = 0; id < N_COMMANDS; id++)
		if (option_belongs(option, id))
			json_array_append_new(of, json_string(command_rows[id].id));
	for (const struct rf_word *row = option->words; row && row->word; row++)
		json_array_append_new(words, json_string(row->word));
	return json_pack("{s:o, s:s, s:s, s:s?, s:o, s:b, s:b, s:s, s:s?}", "commands", of, "name",
			 option->name, "letter", letter, "argument", option->argument, "words",
			 words, "is_path", option->kind == OPTION_PATH, "is_list",
			 option->kind == OPTION_LIST, "help", option->help, "man", option->man);
}

int main(void)
{
	json_t *all[2] = {json_array(), json_array()};
	for (size_t i = 0; i < N_COMMANDS; i++)
		json_array_append_new(all[0],
				      json_pack("{s:s, s:s?, s:s}", "id", command_rows[i].id,
						"word", command_rows[i].word, "summary",
						command_rows[i].summary));
	for (enum option_id id = 0; id < N_OPTIONS; id++)
		json_array_append_new(all[1], option_json(&option_rows[id]));
	json_t *table = json_pack("{s:o, s:o}", "commands", all[0], "options", all[1]);
	const bool failed = !table || json_dumpf(table, stdout, JSON_INDENT(1));
	json_decref(table);
	return failed;
}
