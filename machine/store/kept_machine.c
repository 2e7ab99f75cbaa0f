/* Bytes of this machine and of this very rfprof, which kept_store answers for: arrays lie there as
 * they do in memory, texts with their NUL. */
#include "machine/store/kept_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than any file of roofs has; what says otherwise is broken. */
#define MOST_ROWS ((uint64_t)1 << 20)

struct head {
	uint64_t n_caches, n_counts, n_roofs, n_sizes, n_transfers, n_notes;
	double clock_ghz, clock_fp_ghz;
	int usable_threads;
	bool has_microarchitecture, sizes_in_small_pages;
	struct page_costs pages;
};

/* The whole key of the machine: the name of the file holds no more than its hash. */
static struct kept_key key_of(const char *path, const struct file_stamp *stamp, const char *key)
{
	return (struct kept_key){path, key, *stamp, KEPT_ROOFS};
}

/* ---- reading ---- */

struct cursor {
	const char *at, *end;
	bool failed;
};

static void take(struct cursor *cursor, void *to, size_t size)
{
	cursor->failed |= (size_t)(cursor->end - cursor->at) < size;
	if (cursor->failed)
		return;
	if (size)
		memcpy(to, cursor->at, size);
	cursor->at += size;
}

/* An array on the heap, NULL where there is none. */
static void *take_array(struct cursor *cursor, uint64_t n, size_t size)
{
	cursor->failed |= n > MOST_ROWS || (uint64_t)(cursor->end - cursor->at) / size < n;
	void *rows = cursor->failed || !n ? NULL : malloc(n * size);
	cursor->failed |= n && !rows;
	take(cursor, rows, cursor->failed ? 0 : n * size);
	return rows;
}

static char *take_text(struct cursor *cursor)
{
	const size_t left = (size_t)(cursor->end - cursor->at),
		     size = strnlen(cursor->at, left) + 1;
	cursor->failed |= size > left;
	char *text = cursor->failed ? NULL : malloc(size);
	cursor->failed |= !text;
	take(cursor, text, size);
	return text;
}

static void take_machine(struct cursor *cursor, struct machine *machine)
{
	struct head head = {0};
	take(cursor, &head, sizeof(head));
	cursor->failed |= head.n_caches > sizeof(machine->caches) / sizeof(*machine->caches) ||
			  head.n_transfers > LINE_WAYS;
	if (cursor->failed)
		return;
	machine->usable_threads = head.usable_threads;
	machine->clock_ghz = head.clock_ghz;
	machine->clock_fp_ghz = head.clock_fp_ghz;
	machine->sizes_in_small_pages = head.sizes_in_small_pages;
	machine->pages = head.pages;
	machine->n_caches = head.n_caches;
	take(cursor, machine->caches, head.n_caches * sizeof(*machine->caches));
	machine->counts = take_array(cursor, head.n_counts, sizeof(*machine->counts));
	machine->n_counts = machine->counts ? head.n_counts : 0;
	machine->roofs = take_array(cursor, head.n_roofs, sizeof(*machine->roofs));
	machine->n_roofs = machine->roofs ? head.n_roofs : 0;
	machine->sizes = take_array(cursor, head.n_sizes, sizeof(*machine->sizes));
	machine->n_sizes = machine->sizes ? head.n_sizes : 0;
	machine->n_transfers = head.n_transfers;
	take(cursor, machine->transfers, head.n_transfers * sizeof(*machine->transfers));
	machine->cpu_model = take_text(cursor);
	machine->microarchitecture = head.has_microarchitecture ? take_text(cursor) : NULL;
	machine->notes = head.n_notes && head.n_notes <= MOST_ROWS
				 ? calloc(head.n_notes, sizeof(*machine->notes))
				 : NULL;
	cursor->failed |= head.n_notes && !machine->notes;
	while (!cursor->failed && machine->n_notes < head.n_notes)
		machine->notes[machine->n_notes++] = take_text(cursor);
}

bool kept_machine_load(struct kept_store *store, const char *path, const char *key,
		       struct machine *machine)
{
	const struct file_stamp stamp = file_stamp_of_path(path);
	const struct kept_key kept = key_of(path, &stamp, key);
	struct kept_bytes file;
	if (!stamp.inode || !kept_store_load(store, &kept, &file))
		return false;
	struct cursor cursor = {file.bytes, file.bytes + file.size, false};
	struct machine read = {0};
	take_machine(&cursor, &read);
	kept_bytes_release(&file);
	if (cursor.failed || cursor.at != cursor.end) {
		kept_store_is_broken(store, &kept);
		machine_deinit(&read);
		return false;
	}
	*machine = read;
	return true;
}

/* ---- writing ---- */

static void put_machine(const struct machine *machine, FILE *stream)
{
	struct head head;
	memset(&head, 0, sizeof(head)); /* with what lies between */
	head.n_caches = machine->n_caches;
	head.n_counts = machine->n_counts;
	head.n_roofs = machine->n_roofs;
	head.n_sizes = machine->n_sizes;
	head.n_transfers = machine->n_transfers;
	head.n_notes = machine->n_notes;
	head.clock_ghz = machine->clock_ghz;
	head.clock_fp_ghz = machine->clock_fp_ghz;
	head.usable_threads = machine->usable_threads;
	head.has_microarchitecture = machine->microarchitecture;
	head.sizes_in_small_pages = machine->sizes_in_small_pages;
	head.pages = machine->pages;
	fwrite(&head, sizeof(head), 1, stream);
	fwrite(machine->caches, sizeof(*machine->caches), machine->n_caches, stream);
	fwrite(machine->counts, sizeof(*machine->counts), machine->n_counts, stream);
	fwrite(machine->roofs, sizeof(*machine->roofs), machine->n_roofs, stream);
	fwrite(machine->sizes, sizeof(*machine->sizes), machine->n_sizes, stream);
	fwrite(machine->transfers, sizeof(*machine->transfers), machine->n_transfers, stream);
	fwrite(machine->cpu_model, 1, strlen(machine->cpu_model) + 1, stream);
	if (machine->microarchitecture)
		fwrite(machine->microarchitecture, 1, strlen(machine->microarchitecture) + 1,
		       stream);
	for (size_t i = 0; i < machine->n_notes; i++)
		fwrite(machine->notes[i], 1, strlen(machine->notes[i]) + 1, stream);
}

void kept_machine_save(struct kept_store *store, const char *path, const struct file_stamp *stamp,
		       const char *key, const struct machine *machine)
{
	const struct kept_key kept = key_of(path, stamp, key);
	char *bytes = NULL;
	size_t size = 0;
	FILE *stream = machine->cpu_model ? open_memstream(&bytes, &size) : NULL;
	if (!stream)
		return;
	put_machine(machine, stream);
	const bool failed = ferror(stream);
	if (fclose(stream) == 0 && !failed)
		kept_store_save(store, &kept, bytes, size);
	free(bytes);
}
