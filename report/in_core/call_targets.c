/* Calls by their place, and what they lead to. */
#include "report/in_core/call_targets.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/dataflow.h"
#include "profile/function_index.h"

#include <stdlib.h>
#include <string.h>

#define CALL_REL32 0xe8
#define GROUP_5 0xff    /* calls and jumps through registers and memory, and others */
#define NEARLY_ALL 0.95 /* of the time below a call */

/* ---- the calls ---- */

/* Offset within the block of its last instruction; the block's size: it cannot be decoded. */
static uint32_t last_of(const struct profile_block *block)
{
	uint32_t last = block->size;
	for (uint32_t at = 0; at < block->size;) {
		const struct branch insn =
			branch_of_bytes(block->bytes + at, block->size - at, block->start + at);
		if (!insn.length)
			return block->size;
		last = at;
		at += insn.length;
	}
	return last;
}

/* Whether the instruction has the first byte of a call's opcode, behind prefixes (legacy ones,
 * REX): most have not, and need not be decoded. */
static bool may_be_call(const uint8_t *bytes, uint32_t size)
{
	uint32_t at = 0;
	while (at < size && ((bytes[at] & 0xf0) == 0x40 || bytes[at] == 0x66 || bytes[at] == 0xf2 ||
			     bytes[at] == 0xf3 || bytes[at] == 0x2e || bytes[at] == 0x3e ||
			     bytes[at] == 0x64 || bytes[at] == 0x65))
		at++;
	return at < size && (bytes[at] == CALL_REL32 || bytes[at] == GROUP_5);
}

/* A call ends its block. */
static bool call_of(const struct profile_block *block, struct call_site *site)
{
	const uint32_t at = last_of(block), size = block->size - at;
	struct dataflow flow;
	if (at >= block->size || !may_be_call(block->bytes + at, size) ||
	    !dataflow_of_bytes(block->bytes + at, size, &flow) || !flow.calls)
		return false;
	const uint8_t *rel32 = block->bytes + block->size - 4;
	*site = (struct call_site){.module = block->module,
				   .offset = block->start + at,
				   .end = block->start + block->size,
				   .direct = size >= 5 && rel32[-1] == CALL_REL32,
				   .seen = PROFILE_NONE};
	if (site->direct) {
		int32_t distance;
		memcpy(&distance, rel32, sizeof(distance));
		site->target = site->end + (uint64_t)(int64_t)distance;
	}
	return true;
}

static int compare_sites(const void *a, const void *b)
{
	const struct call_site *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

/* One instruction may end several blocks. */
static void merge_sites(struct call_targets *targets)
{
	size_t kept = 0;
	if (targets->n_sites)
		qsort(targets->sites, targets->n_sites, sizeof(*targets->sites), compare_sites);
	for (size_t i = 0; i < targets->n_sites; i++) {
		struct call_site *next = &targets->sites[i];
		if (kept && compare_sites(&targets->sites[kept - 1], next) == 0)
			targets->sites[kept - 1].n = flow_add(targets->sites[kept - 1].n, next->n);
		else
			targets->sites[kept++] = *next;
	}
	targets->n_sites = kept;
}

static struct rf_error *find_sites(const struct function_code *code, struct call_targets *targets)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < code->n_blocks && !error; i++) {
		struct call_site site;
		if (!call_of(&code->profile->blocks[code->blocks[i]], &site))
			continue;
		site.n = code->executions[code->blocks[i]];
		error = rf_array_add(targets->sites, targets->n_sites, targets->cap_sites, site);
	}
	if (!error)
		merge_sites(targets);
	return error;
}

/* ---- what stacks tell ---- */

/* Per frame: the weights of the samples that are at it or below it.  Parents come before their
 * children. */
static double *weights_of_frames(const struct profile *profile)
{
	double *weights = calloc(profile->n_frames + 1, sizeof(*weights));
	for (size_t i = 0; weights && i < profile->n_samples; i++)
		if (profile->samples[i].frame != PROFILE_NONE)
			weights[profile->samples[i].frame] += (double)profile->samples[i].weight_ns;
	for (size_t i = profile->n_frames; weights && i-- > 0;)
		if (profile->frames[i].parent != PROFILE_NONE)
			weights[profile->frames[i].parent] += weights[i];
	return weights;
}

/* The frame of a caller lies within its call. */
static struct call_site *site_of(struct call_targets *targets, const struct profile_frame *of)
{
	const size_t n = rf_search(targets->n_sites, i,
				   targets->sites[i].module < of->module ||
					   (targets->sites[i].module == of->module &&
					    targets->sites[i].offset <= of->offset));
	struct call_site *site = n ? &targets->sites[n - 1] : NULL;
	return site && site->module == of->module && of->offset < site->end ? site : NULL;
}

/* Of one call: the time below it, and that of the function with most of it. */
struct below {
	double all, most;
};

/* Notes a frame that stands below a call.  The function with most of the time is found if it has
 * more than half of it (Boyer and Moore's majority vote). */
static void note_below(struct call_site *site, struct below *below, uint32_t row, double weight)
{
	below->all += weight;
	if (site->seen == row) {
		below->most += weight;
	} else if (below->most >= weight) {
		below->most -= weight;
	} else {
		below->most = weight - below->most;
		site->seen = row;
	}
}

/* By its displacement alone. */
static uint32_t call_callee_by_code(const struct profile *profile, const struct call_site *site)
{
	return site->direct ? call_function_at(profile, site->module, site->target) : PROFILE_NONE;
}

static void vote(const struct profile *profile, const double *weights, struct call_targets *targets,
		 struct below *below, bool count)
{
	for (size_t i = 0; i < profile->n_frames; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		if (frame->parent == PROFILE_NONE || frame->module == PROFILE_NONE ||
		    !(weights[i] > 0))
			continue;
		struct call_site *site = site_of(targets, &profile->frames[frame->parent]);
		if (!site)
			continue;
		const uint32_t row =
			profile_function_at(profile, frame->module, frame->offset, NULL);
		struct below *of = &below[site - targets->sites];
		if (row == PROFILE_NONE || row == call_callee_by_code(profile, site))
			continue;
		if (!count)
			note_below(site, of, row, weights[i]);
		else if (row == site->seen)
			of->most += weights[i];
	}
}

static struct rf_error *find_seen(const struct profile *profile, struct call_targets *targets)
{
	double *weights = weights_of_frames(profile);
	struct below *below = calloc(targets->n_sites + 1, sizeof(*below));
	struct rf_error *error = weights && below ? NULL : rf_error_no_memory();
	if (!error) {
		vote(profile, weights, targets, below, false);
		for (size_t i = 0; i < targets->n_sites; i++)
			below[i].most = 0;
		vote(profile, weights, targets, below, true);
		for (size_t i = 0; i < targets->n_sites; i++)
			if (below[i].most < NEARLY_ALL * below[i].all)
				targets->sites[i].seen = PROFILE_NONE;
	}
	free(weights);
	free(below);
	return error;
}

/* ---- all of it ---- */

struct rf_error *call_targets_init(const struct function_code *code, struct call_targets *targets)
{
	*targets = (struct call_targets){0};
	return profile_index_functions(code->profile)
		       ?: find_sites(code, targets)
		       ?: find_seen(code->profile, targets);
}

void call_targets_deinit(struct call_targets *targets)
{
	free(targets->sites);
	*targets = (struct call_targets){0};
}

const struct call_site *call_site_at(const struct call_targets *targets, uint32_t module,
				     uint64_t offset)
{
	const struct call_site at = {.module = module, .offset = offset};
	const size_t n = rf_search(targets->n_sites, i, compare_sites(&targets->sites[i], &at) < 0);
	return n < targets->n_sites && compare_sites(&targets->sites[n], &at) == 0
		       ? &targets->sites[n]
		       : NULL;
}

uint32_t call_function_at(const struct profile *profile, uint32_t module, uint64_t offset)
{
	const uint32_t row = profile_function_at(profile, module, offset, NULL);
	return row != PROFILE_NONE && profile->functions[row].start == offset ? row : PROFILE_NONE;
}

uint32_t call_callee(const struct profile *profile, const struct call_site *site)
{
	return site->direct ? call_callee_by_code(profile, site) : site->seen;
}

bool call_reaches(const struct profile *profile, const struct call_site *site, uint32_t row)
{
	return site->seen == row || call_callee(profile, site) == row;
}
