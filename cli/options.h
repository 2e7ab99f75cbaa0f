/* The options of the command line: one table (cli/options.def), and the values that they were
 * given.
 */
#pragma once

#include "base/words.h"

#include <stdbool.h>
#include <stddef.h>

enum command_id {
#define COMMAND(id, function, word, arguments, summary) COMMAND_##id,
#include "cli/commands.def"
#undef COMMAND
	N_COMMANDS
};

enum option_id {
#define FLAG(id, ...) OPTION_ID_##id,
#define TEXT FLAG
#define PATH FLAG
#define LIST FLAG
#define NUMBER FLAG
#define WORD FLAG
#define WORD_ANY_CASE FLAG
#include "cli/options.def"
	N_OPTIONS
};

/* What was given; 0, or NULL, for an option that was not. */
struct options {
#define FLAG(id, ...) int id;
#define TEXT(id, ...) char *id;
#define PATH(id, ...) char *id;
#define LIST(id, ...) char **id; /* NULL at the end */
#define NUMBER(id, ...) int id;
#define WORD(id, ...) int id; /* a value of the table's enum */
#define WORD_ANY_CASE(id, ...) int id;
#include "cli/options.def"
};

enum option_kind {
	OPTION_FLAG,
	OPTION_TEXT,
	OPTION_PATH,
	OPTION_LIST,
	OPTION_NUMBER,
	OPTION_WORD,
	OPTION_WORD_ANY_CASE,
};

/* One row of cli/options.def. */
struct option {
	enum option_kind kind;
	unsigned commands; /* bits 1 << COMMAND_…, and one that --help shows it at once */
	const char *name;
	char letter;          /* 0: none */
	const char *argument; /* NULL: a flag */
	int least, most;      /* a number's; most 0: no limit */
	const struct rf_word *words;
	const char *help, *man;
	size_t value; /* where it stands in struct options */
};

extern const struct option option_rows[N_OPTIONS];

/* Whether a command has an option. */
bool option_belongs(const struct option *option, enum command_id command);
/* Whether --help shows it at once. */
bool option_is_first(const struct option *option);
/* Whether `rfprof PROGRAM` and `rfprof report` both have it, and no other command. */
bool option_is_shared(const struct option *option);
