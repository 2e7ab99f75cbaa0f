/* Prints what the program would move in the caches of another machine. */
#include "report/text/other_table.h"

#include "base/text.h"
#include "report/rows/other_moves.h"
#include "report/text/text_table.h"

#include <stdlib.h>

#define DEFAULT_TOP 10
#define LEAST 0.005 /* of all that moves */

enum { NAME, L2_IN, L2_OUT, L3_IN, L3_OUT, MEMORY_IN, MEMORY_OUT, N_COLUMNS };

static void put_flow(struct text_table *table, size_t column, const struct other_flow *flow)
{
	text_table_text(table, column, REPORT_BYTES(flow->in));
	text_table_text(table, column + 1, REPORT_BYTES(flow->out));
}

static void put_row(const struct other_moves *moves, const struct other_move *move,
		    const char *name, struct text_table *table)
{
	const struct other_flow l2 = other_move_l2(move), l3 = other_move_l3(move),
				memory = other_move_memory(move);
	text_table_row(table);
	text_table_text(table, NAME, name);
	put_flow(table, L2_IN, &l2);
	if (moves->has_l3)
		put_flow(table, L3_IN, &l3);
	put_flow(table, MEMORY_IN, &memory);
}

static const char *name_of(const struct profile *profile, const struct other_move *move)
{
	return move->function != PROFILE_NONE ? profile->functions[move->function].name
					      : profile->modules[move->module].name;
}

/* Hardly anything behind it moves more, since those that move most at memory come first. */
static bool is_worth(const struct other_move *move, const struct other_moves *moves)
{
	const struct other_flow memory = other_move_memory(move), l2 = other_move_l2(move),
				all_memory = other_move_memory(&moves->all),
				all_l2 = other_move_l2(&moves->all);
	return memory.in + memory.out > LEAST * (all_memory.in + all_memory.out) ||
	       l2.in + l2.out > LEAST * (all_l2.in + all_l2.out);
}

static struct rf_error *put_table(const struct report_view *view, const struct other_moves *moves,
				  FILE *stream)
{
	const struct text_column columns[N_COLUMNS] = {[NAME] = {"in the other caches", false},
						       [L2_IN] = {"from L2", true},
						       [L2_OUT] = {"to L2", true},
						       [L3_IN] = {"from L3", true, 1},
						       [L3_OUT] = {"to L3", true, 1},
						       [MEMORY_IN] = {"read", true},
						       [MEMORY_OUT] = {"written", true}};
	struct text_table table = TEXT_TABLE(view->terminal, columns, NAME, 16);
	const size_t top = view->options->top ? view->options->top : DEFAULT_TOP;
	table.hidden[L3_IN] = table.hidden[L3_OUT] = !moves->has_l3;
	for (size_t i = 0; i < moves->n_items && i < top && is_worth(&moves->items[i], moves); i++)
		put_row(moves, &moves->items[i], name_of(view->profile, &moves->items[i]), &table);
	put_row(moves, &moves->all, "the whole program", &table);
	return text_table_end(&table, stream);
}

/* Whose caches these are, and what must not be set beside them. */
static struct rf_error *put_title(const struct report_view *view, FILE *stream)
{
	const char *geometry = profile_get_fact(view->profile, "other_geometry");
	const char *machine = profile_get_fact(view->profile, "other_machine");
	char *line = NULL;
	if (asprintf(&line,
		     "another machine's caches: %s (%s): what would move there; times, roofs and "
		     "all other traffic of this report are this machine's",
		     geometry, machine ? machine : "") < 0)
		return rf_error_no_memory();
	char *clean = text_clean(line);
	struct rf_error *error =
		clean ? terminal_sentence(view->terminal, stream, STYLE_PLAIN, "  ", clean)
		      : rf_error_no_memory();
	free(clean);
	free(line);
	return error;
}

struct rf_error *report_other_caches(const struct report_view *view, FILE *stream)
{
	struct other_moves moves;
	struct rf_error *error = other_moves_init(view->profile, &moves);
	if (!error && moves.is_known) {
		fputc('\n', stream);
		error = put_title(view, stream) ?: put_table(view, &moves, stream);
	}
	other_moves_deinit(&moves);
	return error;
}
