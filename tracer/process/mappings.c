/* The mappings of all processes of a run: for each a sorted table without overlaps. */
#include "tracer/process/mappings.h"

#include "base/array.h"
#include "base/search.h"

#include <assert.h>
#include <string.h>

struct process {
	uint32_t pid;
	struct mapping *maps; /* sorted by start, no overlaps */
	size_t n_maps, cap_maps;
	struct unwind_mapping *view;
	size_t n_view, cap_view;
	bool view_is_current;
};

struct mappings {
	struct process *processes; /* sorted by pid */
	size_t n_processes, cap_processes;
};

struct mappings *mappings_create(void)
{
	return calloc(1, sizeof(struct mappings));
}

void mappings_destroy(struct mappings *mappings)
{
	if (!mappings)
		return;
	for (size_t i = 0; i < mappings->n_processes; i++) {
		free(mappings->processes[i].maps);
		free(mappings->processes[i].view);
	}
	free(mappings->processes);
	free(mappings);
}

/* Index of the first process whose id is not below `pid`. */
static size_t process_position(const struct mappings *mappings, uint32_t pid)
{
	return rf_search(mappings->n_processes, i, mappings->processes[i].pid < pid);
}

static struct process *process_find(const struct mappings *mappings, uint32_t pid)
{
	size_t i = process_position(mappings, pid);
	if (i < mappings->n_processes && mappings->processes[i].pid == pid)
		return &mappings->processes[i];
	return NULL;
}

static struct process *process_get(struct mappings *mappings, uint32_t pid)
{
	struct process *found = process_find(mappings, pid);
	if (found)
		return found;
	if (!rf_array_reserve((void **)&mappings->processes, mappings->n_processes,
			      &mappings->cap_processes, sizeof(*mappings->processes)))
		return NULL;
	size_t at = process_position(mappings, pid);
	memmove(&mappings->processes[at + 1], &mappings->processes[at],
		(mappings->n_processes - at) * sizeof(*mappings->processes));
	mappings->n_processes++;
	mappings->processes[at] = (struct process){.pid = pid};
	return &mappings->processes[at];
}

/* Index of the first mapping that ends above `address`. */
static size_t map_position(const struct process *process, uint64_t address)
{
	return rf_search(process->n_maps, i, process->maps[i].end <= address);
}

static struct rf_error *insert_at(struct process *process, size_t at, const struct mapping *mapping)
{
	if (!rf_array_reserve((void **)&process->maps, process->n_maps, &process->cap_maps,
			      sizeof(*process->maps)))
		return rf_error_no_memory();
	memmove(&process->maps[at + 1], &process->maps[at],
		(process->n_maps - at) * sizeof(*process->maps));
	process->maps[at] = *mapping;
	process->n_maps++;
	return NULL;
}

static void set_start(struct mapping *mapping, uint64_t start)
{
	mapping->file_offset += start - mapping->start;
	mapping->start = start;
}

/* Takes [start, end) out of the table: mappings are cut, split or removed. */
static struct rf_error *carve(struct process *process, uint64_t start, uint64_t end)
{
	size_t i = map_position(process, start);
	if (i == process->n_maps)
		return NULL;
	if (process->maps[i].start < start) {
		struct mapping rest = process->maps[i];
		process->maps[i++].end = start;
		if (rest.end > end) {
			set_start(&rest, end);
			return insert_at(process, i, &rest);
		}
	}
	size_t last = i;
	while (last < process->n_maps && process->maps[last].end <= end)
		last++;
	if (last < process->n_maps && process->maps[last].start < end)
		set_start(&process->maps[last], end);
	memmove(&process->maps[i], &process->maps[last],
		(process->n_maps - last) * sizeof(*process->maps));
	process->n_maps -= last - i;
	return NULL;
}

struct rf_error *mappings_add(struct mappings *mappings, uint32_t pid,
			      const struct mapping *mapping)
{
	if (mapping->end <= mapping->start)
		return NULL;
	struct process *process = process_get(mappings, pid);
	if (!process)
		return rf_error_no_memory();
	process->view_is_current = false;
	struct rf_error *error = carve(process, mapping->start, mapping->end);
	if (error)
		return error;
	const size_t at = map_position(process, mapping->start);
	assert(at == process->n_maps || process->maps[at].start >= mapping->end);
	return insert_at(process, at, mapping);
}

struct rf_error *mappings_fork(struct mappings *mappings, uint32_t parent, uint32_t pid)
{
	/* Getting the child may move the array: look the parent up afterwards. */
	struct process *child = process_get(mappings, pid);
	const struct process *from = process_find(mappings, parent);
	if (!child)
		return rf_error_no_memory();
	child->view_is_current = false;
	child->n_maps = 0;
	if (!from || from == child)
		return NULL;
	while (child->cap_maps < from->n_maps)
		if (!rf_array_reserve((void **)&child->maps, child->cap_maps, &child->cap_maps,
				      sizeof(*child->maps)))
			return rf_error_no_memory();
	if (from->n_maps)
		memcpy(child->maps, from->maps, from->n_maps * sizeof(*child->maps));
	child->n_maps = from->n_maps;
	return NULL;
}

void mappings_exec(struct mappings *mappings, uint32_t pid)
{
	struct process *process = process_find(mappings, pid);
	if (!process)
		return;
	process->n_maps = 0;
	process->view_is_current = false;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint32_t pid, uint64_t address)
{
	const struct process *process = process_find(mappings, pid);
	if (!process)
		return NULL;
	size_t i = map_position(process, address);
	if (i < process->n_maps && process->maps[i].start <= address)
		return &process->maps[i];
	return NULL;
}

static void view_refresh(struct process *process)
{
	process->n_view = 0;
	for (size_t i = 0; i < process->n_maps; i++) {
		const struct mapping *map = &process->maps[i];
		if (!map->file->open_path && !map->file->is_vdso)
			continue;
		struct unwind_mapping row = {map->start, map->end, map->file_offset,
					     map->file->is_vdso ? map->file->path
								: map->file->open_path};
		if (!rf_array_push(process->view, process->n_view, process->cap_view, row))
			return; /* stacks end early where memory is short */
	}
	process->view_is_current = true;
}

const struct unwind_mapping *mappings_view(struct mappings *mappings, uint32_t pid, size_t *n)
{
	struct process *process = process_find(mappings, pid);
	*n = 0;
	if (!process)
		return NULL;
	if (!process->view_is_current)
		view_refresh(process);
	*n = process->n_view;
	return process->view;
}

uint64_t mapping_offset(const struct mapping *mapping, uint64_t address)
{
	if (!mapping->file->has_file)
		return address;
	return module_file_vaddr(mapping->file, address - mapping->start + mapping->file_offset);
}
