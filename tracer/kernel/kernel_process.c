/* Notes places of kernels' functions by the symbol tables of mapped files. */
#include "tracer/kernel/kernel_process.h"

#include "tracer/kernel/kernel_files.h"

#include <stdlib.h>

struct kernel_process {
	struct module_files *files;
	struct program_memory memory;
};

static void look(struct kernel_process *process)
{
	struct program_memory *memory = &process->memory;
	const size_t n = kernel_files_find(memory, NULL, 0);
	struct kernel_entry *entries = calloc(n + 1, sizeof(*entries));
	const size_t found = entries ? kernel_files_find(memory, entries, n) : 0;
	/* which notes each place */
	for (size_t i = 0; i < found && i < n; i++)
		(void)kernel_files_at(memory, entries[i].address);
	free(entries);
	kernel_files_note_unread(memory->kernels, memory->profile);
}

struct rf_error *kernel_process_create(pid_t pid, const char *list, struct profile *profile,
				       struct kernel_process **out)
{
	struct kernel_process *process = calloc(1, sizeof(*process));
	if (!process)
		return rf_error_no_memory();
	process->memory.mem_fd = -1;
	process->files = module_files_create();
	if (process->files)
		program_memory_init_regions(&process->memory, pid, process->files, profile);
	struct rf_error *error =
		process->files ? kernel_files_create(list, profile, &process->memory.kernels)
			       : rf_error_no_memory();
	if (error) {
		kernel_process_destroy(process);
		return error;
	}
	look(process);
	*out = process;
	return NULL;
}

void kernel_process_look(struct kernel_process *process)
{
	program_memory_refresh(&process->memory);
	look(process);
}

void kernel_process_destroy(struct kernel_process *process)
{
	if (!process)
		return;
	kernel_files_destroy(process->memory.kernels);
	program_memory_deinit(&process->memory);
	if (process->files)
		module_files_destroy(process->files);
	free(process);
}
