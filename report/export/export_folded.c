/* Collapsed stacks: "THREAD;caller;…;function MICROSECONDS", a line for each path. */
#include "report/export/export.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "report/rows/code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- one node for each path of functions ---- */

struct stack_node {
	uint32_t parent; /* a smaller one, or PROFILE_NONE */
	uint32_t row;    /* in code->functions */
};

struct stacks {
	struct stack_node *nodes;
	size_t n_nodes, cap_nodes;
	/* Node of each frame of the profile; one more for samples without a frame. */
	uint32_t *of_frame;
};

/* Finds or adds. */
static struct rf_error *node_at(struct stacks *stacks, struct u64_map *map, uint32_t parent,
				uint32_t row, uint32_t *at)
{
	const uint64_t key =
		(uint64_t)(parent + 1) << 32 | (row + 1); /* a root's parent is 0 there */
	const uint32_t *found = u64_map_find(map, key);
	struct stack_node node = {parent, row};
	*at = found ? *found : (uint32_t)stacks->n_nodes;
	if (found)
		return NULL;
	return rf_array_push(stacks->nodes, stacks->n_nodes, stacks->cap_nodes, node) &&
			       u64_map_set(map, key, *at)
		       ? NULL
		       : rf_error_no_memory();
}

static struct rf_error *stacks_init(struct stacks *stacks, const struct code *code)
{
	const struct profile *profile = code->profile;
	struct u64_map map = {0};
	*stacks = (struct stacks){.of_frame = malloc((profile->n_frames + 1) * sizeof(uint32_t))};
	struct rf_error *error = stacks->of_frame ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i <= profile->n_frames; i++) {
		const uint32_t above =
			i < profile->n_frames ? profile->frames[i].parent : PROFILE_NONE;
		const uint32_t row =
			code_row_of(code, i < profile->n_frames ? (uint32_t)i : PROFILE_NONE);
		error = node_at(stacks, &map,
				above == PROFILE_NONE ? above : stacks->of_frame[above], row,
				&stacks->of_frame[i]);
	}
	u64_map_deinit(&map);
	return error;
}

static void stacks_deinit(struct stacks *stacks)
{
	free(stacks->nodes);
	free(stacks->of_frame);
}

static uint32_t stacks_of(const struct stacks *stacks, const struct code *code, uint32_t frame)
{
	assert(frame == PROFILE_NONE || frame < code->profile->n_frames);
	return stacks->of_frame[frame == PROFILE_NONE ? code->profile->n_frames : frame];
}

/* ---- lines ---- */

/* A sample: the name of its thread, and its path. */
struct path {
	uint32_t name, node;
	uint64_t ns;
};

/* The separator of the format must not be in a name. */
static void put_name(FILE *stream, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : *name, stream);
}

static int compare_paths(const void *a, const void *b)
{
	const struct path *x = a, *y = b;
	return rf_compare(x->name, y->name) ?: rf_compare(x->node, y->node);
}

/* The first thread with the same name, for each. */
static uint32_t *equal_names(char *const *names, size_t n)
{
	uint32_t *first = malloc((n + 1) * sizeof(*first));
	for (size_t i = 0; first && i < n; i++) {
		first[i] = (uint32_t)i;
		for (size_t k = 0; k < i && first[i] == i; k++)
			if (first[k] == k && strcmp(names[k], names[i]) == 0)
				first[i] = (uint32_t)k;
	}
	return first;
}

static struct rf_error *put_path(const struct code *code, const struct stacks *stacks,
				 uint32_t node, FILE *stream)
{
	size_t depth = 0;
	for (uint32_t at = node; at != PROFILE_NONE; at = stacks->nodes[at].parent)
		depth++;
	uint32_t *rows = malloc(depth * sizeof(*rows));
	size_t i = depth;
	for (uint32_t at = node; rows && at != PROFILE_NONE; at = stacks->nodes[at].parent)
		rows[--i] = stacks->nodes[at].row;
	for (; rows && i < depth; i++) {
		putc(';', stream);
		put_name(stream, code->functions[rows[i]].name);
	}
	free(rows);
	return rows ? NULL : rf_error_no_memory();
}

/* Equal paths are neighbours. */
static struct rf_error *put_paths(const struct code *code, const struct stacks *stacks,
				  char *const *names, struct path *paths, size_t n, FILE *stream)
{
	struct code_rounding rounding = {0};
	struct rf_error *error = NULL;
	qsort(paths, n, sizeof(*paths), compare_paths);
	for (size_t i = 0, of_path; !error && i < n; i += of_path) {
		uint64_t ns = 0;
		for (of_path = 0; i + of_path < n && !compare_paths(&paths[i], &paths[i + of_path]);
		     of_path++)
			ns += paths[i + of_path].ns;
		const uint64_t us = code_round(&rounding, ns, 1, 1000);
		if (!us)
			continue;
		put_name(stream, names[paths[i].name]);
		error = put_path(code, stacks, paths[i].node, stream);
		fprintf(stream, " %llu\n", (unsigned long long)us);
	}
	return error;
}

static struct rf_error *put_samples(const struct code *code, const struct stacks *stacks,
				    char *const *names, FILE *stream)
{
	const struct profile *profile = code->profile;
	uint32_t *first = equal_names(names, profile->n_threads);
	struct path *paths = malloc((profile->n_samples + 1) * sizeof(*paths));
	struct rf_error *error = first && paths ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		paths[i] =
			(struct path){first[sample->thread], stacks_of(stacks, code, sample->frame),
				      code_sample_ns(code, i)};
	}
	if (!error)
		error = put_paths(code, stacks, names, paths, profile->n_samples, stream);
	free(first);
	free(paths);
	return error;
}

static struct rf_error *put_all(const struct code *code, FILE *stream)
{
	const size_t n = code->profile->n_threads;
	char **names = calloc(n + 1, sizeof(*names));
	struct stacks stacks = {0};
	struct rf_error *error = names ? stacks_init(&stacks, code) : rf_error_no_memory();
	for (size_t i = 0; !error && i < n; i++)
		if (!(names[i] = code_thread_name(code, (uint32_t)i)))
			error = rf_error_no_memory();
	if (!error)
		error = put_samples(code, &stacks, names, stream);
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	stacks_deinit(&stacks);
	return error;
}

struct rf_error *export_folded(const struct report_view *view, FILE *stream)
{
	struct code code;
	struct rf_error *error = code_init(&code, view, NULL);
	if (!error)
		error = put_all(&code, stream);
	code_deinit(&code);
	return error;
}
