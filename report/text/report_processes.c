/* The tree of processes, and a table of functions for each of its nodes. */
#include "report/text/report_processes.h"

#include "base/search.h"
#include "base/text.h"
#include "report/text/cells.h"
#include "report/text/table.h"
#include "report/text/text_table.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_TREE_LINES 20
#define MAX_DEPTH 24 /* deeper nodes are shown at this depth */

/* The tree of processes: siblings that run the same command are folded into one node, and then
 * their children, too. */
struct report_node {
	uint32_t parent; /* an earlier node, or PROFILE_NONE */
	const char *command;
	uint32_t rank_plus_1; /* of profile_process: ranks are not folded */
	size_t depth, n_processes;
	uint64_t time_ns, all_ns; /* its own time, and with its descendants' */
	double flop, bytes, instructions;
	const char *native_reason; /* of the first process that has one, or NULL */
};

struct report_tree {
	struct report_node *nodes;
	size_t n_nodes;
	uint32_t *node_of; /* per process of the model */
	uint32_t shown[REPORT_TREE_LINES];
	size_t n_shown;
};

/* ---- folding ---- */

static int compare_nodes(const void *a, const void *b)
{
	const struct report_node *x = a, *y = b;
	return rf_compare(x->parent, y->parent) ?: rf_compare(x->rank_plus_1, y->rank_plus_1)
		?: strcmp(x->command, y->command);
}

static void add_to_node(const struct report_view *view, struct report_node *node,
			const struct model_process *process)
{
	node->n_processes++;
	node->time_ns += process->time_ns;
	node->flop += (double)process->flop;
	node->bytes += (double)process->load_bytes + (double)process->store_bytes;
	node->instructions += (double)process->instructions;
	if (process->counted != PROFILE_NONE && !node->native_reason &&
	    view->profile->processes[process->counted].native_reason[0])
		node->native_reason = view->profile->processes[process->counted].native_reason;
}

static void keep(void *node)
{
	(void)node;
}

/* Parents stand before their children, as processes and as nodes. */
static struct rf_error *fold(const struct report_view *view, struct report_tree *tree)
{
	void *known = NULL; /* nodes by parent and command */
	struct rf_error *error = NULL;
	for (size_t i = 0; i < view->model->n_processes && !error; i++) {
		const struct model_process *process = &view->model->processes[i];
		const bool child = process->parent != PROFILE_NONE;
		const uint32_t row =
			process->timed != PROFILE_NONE ? process->timed : process->counted;
		struct report_node *fresh = &tree->nodes[tree->n_nodes];
		fresh->parent = child ? tree->node_of[process->parent] : PROFILE_NONE;
		fresh->depth = child ? tree->nodes[fresh->parent].depth + 1 : 0;
		fresh->command = view->profile->processes[row].command;
		fresh->rank_plus_1 =
			process->counted == PROFILE_NONE
				? 0
				: view->profile->processes[process->counted].rank_plus_1;
		struct report_node **node = tsearch(fresh, &known, compare_nodes);
		if (node) {
			tree->n_nodes += *node == fresh;
			tree->node_of[i] = (uint32_t)(*node - tree->nodes);
			add_to_node(view, *node, process);
		}
		error = node ? NULL : rf_error_no_memory();
	}
	tdestroy(known, keep);
	return error;
}

/* ---- order ---- */

/* Generation by generation, siblings by their commands. */
static int compare_places(const struct report_node *nodes, uint32_t x, uint32_t y)
{
	if (x == y)
		return 0;
	return rf_compare(nodes[x].depth, nodes[y].depth)
		?: compare_places(nodes, nodes[x].parent, nodes[y].parent)
		?: rf_compare(nodes[x].rank_plus_1, nodes[y].rank_plus_1)
		?: strcmp(nodes[x].command, nodes[y].command);
}

static int compare_lengths(const void *a, const void *b, void *context)
{
	const struct report_node *nodes = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return rf_compare(nodes[y].all_ns, nodes[x].all_ns) ?: compare_places(nodes, x, y);
}

/* Depth first among the `n` longest: the children of `parent`, the longest first, each with its own
 * behind. */
static void show_children(struct report_tree *tree, const uint32_t *longest, size_t n,
			  uint32_t parent)
{
	for (size_t i = 0; i < n; i++) {
		if (tree->nodes[longest[i]].parent != parent)
			continue;
		tree->shown[tree->n_shown++] = longest[i];
		show_children(tree, longest, n, longest[i]);
	}
}

/* A node is at least as long as each of its children, and stands before them: so that with a child
 * its parent is among the longest, too. */
static struct rf_error *choose_shown(struct report_tree *tree)
{
	uint32_t *longest = malloc((tree->n_nodes + 1) * sizeof(*longest));
	if (!longest)
		return rf_error_no_memory();
	for (size_t i = tree->n_nodes; i-- > 0;) {
		struct report_node *node = &tree->nodes[i];
		longest[i] = (uint32_t)i;
		node->all_ns += node->time_ns;
		if (node->parent != PROFILE_NONE)
			tree->nodes[node->parent].all_ns += node->all_ns;
	}
	qsort_r(longest, tree->n_nodes, sizeof(*longest), compare_lengths, tree->nodes);
	size_t n = tree->n_nodes < REPORT_TREE_LINES ? tree->n_nodes : REPORT_TREE_LINES;
	show_children(tree, longest, n, PROFILE_NONE);
	free(longest);
	return NULL;
}

static struct rf_error *tree_init(const struct report_view *view, struct report_tree *tree)
{
	const size_t n = view->model->n_processes;
	*tree = (struct report_tree){
		.nodes = calloc(n + 1, sizeof(*tree->nodes)),
		.node_of = calloc(n + 1, sizeof(*tree->node_of)),
	};
	if (!tree->nodes || !tree->node_of)
		return rf_error_no_memory();
	struct rf_error *error = fold(view, tree);
	return error ? error : choose_shown(tree);
}

static void tree_deinit(struct report_tree *tree)
{
	free(tree->nodes);
	free(tree->node_of);
}

/* ---- the tree as text ---- */

enum { TIME, PERCENT, FLOP, BYTES, INSTRUCTIONS, NAME, N_COLUMNS };

/* In 1e9, "–" for none. */
static const char *put_count(char *cell, double value)
{
	return text_number(cell, value > 0 ? value * 1e-9 : NAN);
}

static char *node_name(const struct report_node *node)
{
	char *clean = text_clean(node->command), *name = NULL, many[32] = "", rank[32] = "";
	if (node->rank_plus_1)
		snprintf(rank, sizeof(rank), ", rank %u", node->rank_plus_1 - 1);
	if (node->n_processes > 1)
		snprintf(many, sizeof(many), " ×%zu", node->n_processes);
	if (clean && asprintf(&name, "%s%s%s%s%.100s", clean, rank, many,
			      node->native_reason ? ", not counted: " : "",
			      node->native_reason ? node->native_reason : "") < 0)
		name = NULL;
	free(clean);
	return name;
}

static void put_node(const struct report_view *view, const struct report_node *node, double longest,
		     struct text_table *table)
{
	const double time_s = (double)node->time_ns * 1e-9,
		     all = (double)view->model->time_ns * 1e-9;
	const size_t depth = node->depth < MAX_DEPTH ? node->depth : MAX_DEPTH;
	char cell[64], *name = node_name(node);
	text_table_row(table);
	text_table_text(table, TIME, report_put_time(cell, time_s, longest));
	text_table_text(table, PERCENT, report_put_share(cell, all > 0 ? time_s / all : 0));
	text_table_text(table, FLOP, put_count(cell, node->flop));
	text_table_text(table, BYTES, put_count(cell, node->bytes));
	text_table_text(table, INSTRUCTIONS, put_count(cell, node->instructions));
	text_table_put(table, NAME, STYLE_PLAIN, "%*s%s", (int)(2 * depth), "", name ? name : "");
	table->failed |= !name;
	free(name);
}

static struct rf_error *print_tree(const struct report_view *view, const struct report_tree *tree,
				   FILE *stream)
{
	static const struct text_column columns[N_COLUMNS] = {
		[TIME] = {"time", true},
		[PERCENT] = {"%", true, 4},
		[FLOP] = {"Gflop", true, 3},
		[BYTES] = {"GB", true, 2},
		[INSTRUCTIONS] = {"Ginstr", true, 1},
		[NAME] = {"process, without its children", false}};
	struct text_table table = TEXT_TABLE(view->terminal, columns, NAME, 24);
	double longest = 0;
	size_t hidden = view->model->n_processes;
	for (size_t i = 0; i < tree->n_shown; i++) {
		longest = fmax(longest, (double)tree->nodes[tree->shown[i]].time_ns * 1e-9);
		hidden -= tree->nodes[tree->shown[i]].n_processes;
	}
	for (size_t i = 0; i < tree->n_shown; i++)
		put_node(view, &tree->nodes[tree->shown[i]], longest, &table);
	struct rf_error *error = text_table_end(&table, stream);
	if (hidden)
		fprintf(stream, "  (%zu more process%s)\n", hidden, hidden == 1 ? "" : "es");
	return error;
}

/* ---- a table for each ---- */

/* The threads of one node's processes, to be freed; NULL: no memory. */
static bool *threads_of(const struct report_view *view, const struct report_tree *tree,
			uint32_t node)
{
	const struct model *model = view->model;
	bool *members = calloc(view->profile->n_processes + 1, sizeof(*members));
	bool *threads = calloc(view->profile->n_threads + 1, sizeof(*threads));
	for (size_t i = 0; members && i < model->n_processes; i++) {
		const struct model_process *process = &model->processes[i];
		if (process->timed != PROFILE_NONE)
			members[process->timed] = tree->node_of[i] == node;
		if (process->counted != PROFILE_NONE)
			members[process->counted] = tree->node_of[i] == node;
	}
	for (size_t i = 0; members && threads && i < view->profile->n_threads; i++) {
		const uint32_t process = model->process_of_thread[i];
		threads[i] = process != PROFILE_NONE && members[process];
	}
	if (!members) {
		free(threads);
		threads = NULL;
	}
	free(members);
	return threads;
}

/* What is sampled and counted by thread, beside the traffic. */
#define PARTS(X) X(samples) X(counts) X(units) X(counter_places)

static bool keep_traffic(const struct profile *all, const bool *thread_is_member,
			 struct profile *part)
{
	struct packed_reader reader = packed_reader_of(&all->traffic);
	const struct profile_traffic *row;
	bool done = true;
	part->traffic = (struct packed_rows){0};
	while (done && (row = packed_reader_next(&reader)))
		done = !thread_is_member[row->thread] ||
		       packed_rows_add(&part->traffic, row, sizeof(*row));
	return done;
}

/* Makes a profile of what was sampled and counted in the processes of one node. */
static struct rf_error *keep_rows(const struct report_view *view, const bool *thread_is_member,
				  struct profile *part)
{
	const struct profile *all = view->profile;
	bool done = keep_traffic(all, thread_is_member, part);
#define KEEP(rows)                                                      \
	part->rows = malloc((all->n_##rows + 1) * sizeof(*part->rows)); \
	part->n_##rows = 0;                                             \
	for (size_t i = 0; part->rows && i < all->n_##rows; i++)        \
		if (thread_is_member[all->rows[i].thread])              \
			part->rows[part->n_##rows++] = all->rows[i];    \
	done &= part->rows != NULL;
	PARTS(KEEP)
#undef KEEP
	return done ? NULL : rf_error_no_memory();
}

/* "make → gcc ×2 → cc1 ×2" */
static void print_path(const struct report_tree *tree, uint32_t node, FILE *stream)
{
	if (tree->nodes[node].parent != PROFILE_NONE) {
		print_path(tree, tree->nodes[node].parent, stream);
		fputs(" → ", stream);
	}
	char *name = node_name(&tree->nodes[node]);
	fputs(name ? name : "?", stream);
	free(name);
}

struct output {
	const struct terminal *terminal;
	FILE *stream;
};

static struct rf_error *print_functions(struct report_view *view, void *context)
{
	const struct output *output = context;
	view->terminal = output->terminal;
	return report_functions(view, output->stream);
}

static struct rf_error *print_part(const struct report_view *view, const struct report_tree *tree,
				   uint32_t node, FILE *stream)
{
	struct output output = {view->terminal, stream};
	struct profile part = *view->profile;
	part.n_python_samples = 0; /* they have the numbers of all samples */
	bool *threads = threads_of(view, tree, node);
	if (!threads)
		return rf_error_no_memory();
	struct rf_error *error = keep_rows(view, threads, &part);
	if (!error) {
		fputs("  ", stream);
		print_path(tree, node, stream);
		putc('\n', stream);
		error = report_with_view(&part, view->options, print_functions, &output);
	}
#define FREE(rows) free(part.rows);
	PARTS(FREE)
#undef FREE
	packed_rows_deinit(&part.traffic);
	free(threads);
	return error;
}

struct rf_error *report_tree(const struct report_view *view, FILE *stream)
{
	struct report_tree tree;
	if (view->model->n_processes < 2)
		return NULL;
	struct rf_error *error = tree_init(view, &tree);
	if (!error)
		error = print_tree(view, &tree, stream);
	const bool tables = view->options->processes == PROCESSES_TREE;
	for (size_t i = 0; tables && !error && i < tree.n_shown; i++)
		if (tree.nodes[tree.shown[i]].time_ns > 0)
			error = print_part(view, &tree, tree.shown[i], stream);
	tree_deinit(&tree);
	return error;
}
