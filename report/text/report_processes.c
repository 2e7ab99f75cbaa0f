/* The tree of processes, and a table of functions for each of its nodes. */
#include "report/text/report_processes.h"

#include "base/text.h"
#include "report/text/cells.h"
#include "report/text/table.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_TREE_LINES 20
#define MAX_DEPTH 24 /* deeper nodes are shown at this depth */

/* The tree of processes: siblings that run the same command are folded into one node, and then
 * their children, too. */
struct report_node {
	uint32_t parent; /* an earlier node, or PROFILE_NONE */
	const char *command;
	size_t n_processes;
	double time_s, all_s; /* its own time, and with its descendants' */
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

static const struct profile_process *row_of(const struct profile *profile,
					    const struct model_process *process)
{
	return &profile->processes[process->timed != PROFILE_NONE ? process->timed
								  : process->counted];
}

struct fold {
	const struct profile *profile;
	const struct model *model;
	const uint32_t *node_of;
};

static uint32_t parent_node(const struct fold *fold, const struct model_process *process)
{
	return process->parent == PROFILE_NONE ? PROFILE_NONE : fold->node_of[process->parent];
}

/* Siblings of one command stand together. */
static int compare_siblings(const void *a, const void *b, void *context)
{
	const struct fold *fold = context;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct model_process *x = &fold->model->processes[i], *y = &fold->model->processes[k];
	const uint32_t above_x = parent_node(fold, x), above_y = parent_node(fold, y);
	if (above_x != above_y)
		return above_x < above_y ? -1 : 1;
	int order = strcmp(row_of(fold->profile, x)->command, row_of(fold->profile, y)->command);
	return order ? order : i < k ? -1 : i > k;
}

static void add_to_node(const struct report_view *view, struct report_node *node,
			const struct model_process *process)
{
	node->n_processes++;
	node->time_s += (double)process->time_ns * 1e-9;
	node->flop += (double)process->flop;
	node->bytes += (double)process->load_bytes + (double)process->store_bytes;
	node->instructions += (double)process->instructions;
	if (process->counted != PROFILE_NONE && !node->native_reason &&
	    view->profile->processes[process->counted].native_reason[0])
		node->native_reason = view->profile->processes[process->counted].native_reason;
}

/* Generation by generation, so that the parents' nodes are known; `list` holds the present one. */
static void fold_generation(const struct report_view *view, struct report_tree *tree,
			    uint32_t *list, size_t n)
{
	struct fold fold = {view->profile, view->model, tree->node_of};
	qsort_r(list, n, sizeof(*list), compare_siblings, &fold);
	for (size_t i = 0; i < n; i++) {
		const struct model_process *process = &view->model->processes[list[i]];
		const char *command = row_of(view->profile, process)->command;
		const uint32_t above = parent_node(&fold, process);
		struct report_node *last = tree->n_nodes ? &tree->nodes[tree->n_nodes - 1] : NULL;
		if (i == 0 || last->parent != above || strcmp(last->command, command) != 0) {
			tree->nodes[tree->n_nodes] =
				(struct report_node){.parent = above, .command = command};
			last = &tree->nodes[tree->n_nodes++];
		}
		tree->node_of[list[i]] = (uint32_t)(tree->n_nodes - 1);
		add_to_node(view, last, process);
	}
}

static void measure_depths(const struct model *model, uint32_t *depth)
{
	for (size_t i = 0; i < model->n_processes; i++) {
		uint32_t parent = model->processes[i].parent;
		depth[i] = parent == PROFILE_NONE ? 0 : depth[parent] + 1;
	}
}

static int compare_depths(const void *a, const void *b, void *depths)
{
	const uint32_t *depth = depths, x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (depth[x] != depth[y])
		return depth[x] < depth[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static struct rf_error *fold_all(const struct report_view *view, struct report_tree *tree)
{
	const size_t n = view->model->n_processes;
	uint32_t *depth = calloc(n + 1, sizeof(*depth)), *list = calloc(n + 1, sizeof(*list));
	bool done = depth && list;
	if (done) {
		measure_depths(view->model, depth);
		for (size_t i = 0; i < n; i++)
			list[i] = (uint32_t)i;
		qsort_r(list, n, sizeof(*list), compare_depths, depth);
		for (size_t i = 0, same; i < n; i += same) {
			const uint32_t level = depth[list[i]];
			for (same = 1; i + same < n && depth[list[i + same]] == level;)
				same++;
			fold_generation(view, tree, list + i, same);
		}
	}
	free(depth);
	free(list);
	return done ? NULL : rf_error_no_memory();
}

/* ---- order ---- */

static int compare_lengths(const void *a, const void *b, void *nodes)
{
	const struct report_node *all = nodes;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (all[x].all_s != all[y].all_s)
		return all[x].all_s > all[y].all_s ? -1 : 1;
	return x < y ? -1 : x > y;
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
	for (size_t i = 0; i < tree->n_nodes; i++) {
		tree->nodes[i].all_s += tree->nodes[i].time_s;
		longest[i] = (uint32_t)i;
	}
	for (size_t i = tree->n_nodes; i-- > 0;)
		if (tree->nodes[i].parent != PROFILE_NONE)
			tree->nodes[tree->nodes[i].parent].all_s += tree->nodes[i].all_s;
	if (tree->n_nodes)
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
	struct rf_error *error = fold_all(view, tree);
	return error ? error : choose_shown(tree);
}

static void tree_deinit(struct report_tree *tree)
{
	free(tree->nodes);
	free(tree->node_of);
}

/* ---- the tree as text ---- */

enum { TIME, PERCENT, FLOP, BYTES, INSTRUCTIONS, N_FIGURES };

struct line {
	char figures[N_FIGURES][64];
	char *name;
};

static size_t depth_of(const struct report_tree *tree, uint32_t node)
{
	size_t depth = 0;
	while ((node = tree->nodes[node].parent) != PROFILE_NONE && depth < MAX_DEPTH)
		depth++;
	return depth;
}

/* In 1e9, "–" for none. */
static void put_count(char *cell, double value)
{
	char number[TEXT_NUMBER];
	snprintf(cell, 64, "%s", text_number(number, value > 0 ? value * 1e-9 : NAN));
}

static char *node_name(const struct report_node *node, size_t depth)
{
	char *clean = text_clean(node->command), *name = NULL, many[32] = "";
	if (node->n_processes > 1)
		snprintf(many, sizeof(many), " ×%zu", node->n_processes);
	if (clean && asprintf(&name, "%*s%s%s%s%.100s", (int)(2 * depth), "", clean, many,
			      node->native_reason ? ", not counted: " : "",
			      node->native_reason ? node->native_reason : "") < 0)
		name = NULL;
	free(clean);
	return name;
}

static struct rf_error *fill_line(const struct report_view *view, const struct report_tree *tree,
				  uint32_t number, double longest, struct line *line)
{
	const struct report_node *node = &tree->nodes[number];
	const double all = (double)view->model->time_ns * 1e-9;
	report_put_time(line->figures[TIME], node->time_s, longest);
	report_put_share(line->figures[PERCENT], all > 0 ? node->time_s / all : 0);
	put_count(line->figures[FLOP], node->flop);
	put_count(line->figures[BYTES], node->bytes);
	put_count(line->figures[INSTRUCTIONS], node->instructions);
	line->name = node_name(node, depth_of(tree, number));
	return line->name ? NULL : rf_error_no_memory();
}

static struct rf_error *print_lines(const struct report_view *view, const struct line *lines,
				    size_t n, FILE *stream)
{
	static const struct text_column columns[N_FIGURES + 1] = {
		[TIME] = {"time", true},
		[PERCENT] = {"%", true},
		[FLOP] = {"Gflop", true},
		[BYTES] = {"GB", true},
		[INSTRUCTIONS] = {"Ginstr", true},
		[N_FIGURES] = {"process, without its children", false}};
	static const size_t spared[] = {INSTRUCTIONS, BYTES, FLOP, PERCENT};
	const struct terminal own =
		view->terminal ? *view->terminal : terminal_of(stream, view->options);
	struct text_table table;
	text_table_init(&table, &own, columns, N_FIGURES + 1, N_FIGURES);
	for (size_t i = 0; i < n; i++) {
		text_table_row(&table);
		for (size_t c = 0; c < N_FIGURES; c++)
			text_table_put(&table, c, STYLE_PLAIN, "%s", lines[i].figures[c]);
		text_table_put(&table, N_FIGURES, STYLE_PLAIN, "%s", lines[i].name);
	}
	(void)text_table_fit(&table, spared, sizeof(spared) / sizeof(*spared), 24);
	struct rf_error *error = text_table_print(&table, stream);
	text_table_deinit(&table);
	return error;
}

static size_t count_processes(const struct report_tree *tree)
{
	size_t n = 0;
	for (size_t i = 0; i < tree->n_shown; i++)
		n += tree->nodes[tree->shown[i]].n_processes;
	return n;
}

static struct rf_error *print_tree(const struct report_view *view, const struct report_tree *tree,
				   FILE *stream)
{
	struct line lines[REPORT_TREE_LINES + 1] = {0};
	double longest = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < tree->n_shown; i++)
		longest = fmax(longest, tree->nodes[tree->shown[i]].time_s);
	for (size_t i = 0; !error && i < tree->n_shown; i++)
		error = fill_line(view, tree, tree->shown[i], longest, &lines[i]);
	if (!error)
		error = print_lines(view, lines, tree->n_shown, stream);
	for (size_t i = 0; i < tree->n_shown; i++)
		free(lines[i].name);
	size_t hidden = view->model->n_processes - count_processes(tree);
	if (hidden)
		fprintf(stream, "  (%zu more process%s)\n", hidden, hidden == 1 ? "" : "es");
	return error;
}

/* ---- a table for each ---- */

static void mark_members(const struct report_view *view, const struct report_tree *tree,
			 uint32_t node, bool *is_member)
{
	const struct model *model = view->model;
	for (size_t i = 0; i < model->n_processes; i++) {
		const struct model_process *process = &model->processes[i];
		if (process->timed != PROFILE_NONE)
			is_member[process->timed] = tree->node_of[i] == node;
		if (process->counted != PROFILE_NONE)
			is_member[process->counted] = tree->node_of[i] == node;
	}
}

/* Makes a profile of what was sampled and counted in the processes of one node. */
static struct rf_error *keep_rows(const struct report_view *view, const bool *thread_is_member,
				  struct profile *part)
{
	const struct profile *all = view->profile;
	part->samples = malloc((all->n_samples + 1) * sizeof(*part->samples));
	part->counts = malloc((all->n_counts + 1) * sizeof(*part->counts));
	part->units = malloc((all->n_units + 1) * sizeof(*part->units));
	part->traffic = malloc((all->n_traffic + 1) * sizeof(*part->traffic));
	part->counter_places = malloc((all->n_counter_places + 1) * sizeof(*part->counter_places));
	part->n_samples = part->n_counts = part->n_units = part->n_traffic =
		part->n_counter_places = 0;
	if (!part->samples || !part->counts || !part->units || !part->traffic ||
	    !part->counter_places)
		return rf_error_no_memory();
	for (size_t i = 0; i < all->n_samples; i++)
		if (thread_is_member[all->samples[i].thread])
			part->samples[part->n_samples++] = all->samples[i];
	for (size_t i = 0; i < all->n_counts; i++)
		if (thread_is_member[all->counts[i].thread])
			part->counts[part->n_counts++] = all->counts[i];
	for (size_t i = 0; i < all->n_units; i++)
		if (thread_is_member[all->units[i].thread])
			part->units[part->n_units++] = all->units[i];
	for (size_t i = 0; i < all->n_traffic; i++)
		if (thread_is_member[all->traffic[i].thread])
			part->traffic[part->n_traffic++] = all->traffic[i];
	for (size_t i = 0; i < all->n_counter_places; i++)
		if (thread_is_member[all->counter_places[i].thread])
			part->counter_places[part->n_counter_places++] = all->counter_places[i];
	return NULL;
}

static struct rf_error *print_functions(struct report_view *view, void *stream)
{
	return report_functions(view, stream);
}

/* "make → gcc ×2 → cc1 ×2" */
static void print_path(const struct report_tree *tree, uint32_t node, FILE *stream)
{
	if (tree->nodes[node].parent != PROFILE_NONE) {
		print_path(tree, tree->nodes[node].parent, stream);
		fputs(" → ", stream);
	}
	char *name = node_name(&tree->nodes[node], 0);
	fputs(name ? name : "?", stream);
	free(name);
}

static struct rf_error *print_part(const struct report_view *view, const struct report_tree *tree,
				   uint32_t node, FILE *stream)
{
	const struct profile *all = view->profile;
	bool *members = calloc(all->n_processes + 1, sizeof(*members));
	bool *threads = calloc(all->n_threads + 1, sizeof(*threads));
	struct profile part = *all;
	part.samples = NULL, part.counts = NULL, part.units = NULL, part.traffic = NULL,
	part.counter_places = NULL;
	struct rf_error *error = NULL;
	if (members && threads) {
		mark_members(view, tree, node, members);
		for (size_t i = 0; i < all->n_threads; i++) {
			uint32_t process = view->model->process_of_thread[i];
			threads[i] = process != PROFILE_NONE && members[process];
		}
	}
	error = members && threads ? keep_rows(view, threads, &part) : rf_error_no_memory();
	if (!error) {
		fputs("  ", stream);
		print_path(tree, node, stream);
		putc('\n', stream);
		error = report_with_view(&part, view->options, print_functions, stream);
	}
	free(part.samples);
	free(part.counts);
	free(part.units);
	free(part.traffic);
	free(part.counter_places);
	free(members);
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
		if (tree.nodes[tree.shown[i]].time_s > 0)
			error = print_part(view, &tree, tree.shown[i], stream);
	tree_deinit(&tree);
	return error;
}
