/* The table of the command line's options, made from cli/options.def. */
#include "cli/options.h"

#include "cache/traffic.h"
#include "report/rows/report_options.h"
#include "sweep/plots.h"
#include "tracer/pmu/choice.h"
#include "tracer/run/run_options.h"

#define RUN (1u << COMMAND_run)
#define REPORT (1u << COMMAND_report)
#define MACHINE (1u << COMMAND_machine)
#define SWEEP (1u << COMMAND_sweep)
#define DIFF (1u << COMMAND_diff)
#define JOIN (1u << COMMAND_join)
#define DOCTOR (1u << COMMAND_doctor)

#define ALL ((1u << N_COMMANDS) - 1)
#define FIRST (1u << N_COMMANDS)

#define VALUE(id) offsetof(struct options, id)

const struct option option_rows[N_OPTIONS] = {
#define FLAG(id, commands, name, letter, help, man) \
	{OPTION_FLAG, commands, name, letter, NULL, 0, 0, NULL, help, man, VALUE(id)},
#define TEXT(id, commands, name, letter, argument, help, man) \
	{OPTION_TEXT, commands, name, letter, argument, 0, 0, NULL, help, man, VALUE(id)},
#define PATH(id, commands, name, letter, argument, help, man) \
	{OPTION_PATH, commands, name, letter, argument, 0, 0, NULL, help, man, VALUE(id)},
#define LIST(id, commands, name, letter, argument, help, man) \
	{OPTION_LIST, commands, name, letter, argument, 0, 0, NULL, help, man, VALUE(id)},
#define NUMBER(id, commands, name, letter, argument, least, most, help, man) \
	{OPTION_NUMBER, commands, name, letter, argument, least, most, NULL, help, man, VALUE(id)},
#define WORD(id, commands, name, letter, argument, words, help, man) \
	{OPTION_WORD, commands, name, letter, argument, 0, 0, words, help, man, VALUE(id)},
#define WORD_ANY_CASE(id, commands, name, letter, argument, words, help, man) \
	{OPTION_WORD_ANY_CASE, commands, name, letter, argument, 0, 0, words, help, man, VALUE(id)},
#include "cli/options.def"
};

bool option_belongs(const struct option *option, enum command_id command)
{
	return option->commands & 1u << command;
}

bool option_is_first(const struct option *option)
{
	return option->commands & FIRST;
}

bool option_is_shared(const struct option *option)
{
	return (option->commands & ALL) == (RUN | REPORT);
}
