/* Reading jit-PID.dump, and which of its functions holds at an address and a time. */
#include "symbols/jit_dump.h"

#include "base/array.h"
#include "base/confined.h"
#include "base/search.h"
#include "base/sort_by.h"
#include "base/u64_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* For the child that reads one file. */
#define READER_SECONDS 60

/* Functions are looked for by the pages that they are in: so many of all, and so many functions of
 * a page before one gives up. */
enum { PAGE_BITS = 12, MOST_LINKS = 1 << 22, MOST_STEPS = 4096 };

/* ---- the file ---- */

#define MAGIC 0x4a695444u /* "JiTD", in the writer's byte order */
#define OTHER_CLOCK 1u    /* of the header's flags: JITDUMP_FLAGS_ARCH_TIMESTAMP */

struct header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};

enum record_kind { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

/* In place of a file's name: that of the entry before. */
#define SAME_FILE "\xff"

/* Before the code: `n` of these. */
struct debug_info {
	uint64_t address, n;
};
struct debug_entry {
	uint64_t address;
	uint32_t line, discriminator; /* and the file's name */
};

struct record {
	uint32_t kind, size; /* size: with this head */
	uint64_t time;
};

struct code_load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
};

struct code_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

/* ---- the dump ---- */

/* From `time` on [start, end) is this function; `name` NULL: nothing any more. */
struct entry {
	uint64_t time, start, end;
	char *name; /* owned */
	uint32_t first_line, n_lines;
};

/* In the order of pages, and of each in that of its entries. */
struct link {
	uint64_t page;
	uint32_t entry;
};

struct jit_dump {
	struct entry *entries; /* in the order of their times, those of one time as written */
	size_t n_entries, cap_entries;
	struct link *links;
	size_t n_links, cap_links;
	struct jit_line *lines; /* of each entry, in the order of offsets */
	size_t n_lines, cap_lines;
	char **files; /* owned, of lines */
	size_t n_files, cap_files;
	size_t name_bytes;
	unsigned unused;
	/* while it is read: lines of the code that will be loaded next, and where */
	uint32_t next_line, n_next;
	uint64_t next_address;
	struct u64_map of_index; /* while it is read: key of a function's number → entry */
};

void jit_dump_destroy(struct jit_dump *dump)
{
	if (!dump)
		return;
	for (size_t i = 0; i < dump->n_entries; i++)
		free(dump->entries[i].name);
	for (size_t i = 0; i < dump->n_files; i++)
		free(dump->files[i]);
	u64_map_deinit(&dump->of_index);
	free(dump->files);
	free(dump->lines);
	free(dump->entries);
	free(dump->links);
	free(dump);
}

/* Takes `name`, NULL for none.  False: no memory. */
static bool add_entry(struct jit_dump *dump, uint64_t time, uint64_t start, uint64_t size,
		      char *name)
{
	struct entry entry = {.time = dump->unused & JIT_DUMP_CLOCK ? 0 : time,
			      .start = start,
			      .name = name};
	const bool bad = !size || size > JIT_DUMP_MAX_CODE ||
			 __builtin_add_overflow(start, size, &entry.end);
	if (dump->n_entries == JIT_DUMP_MAX_ENTRIES)
		dump->unused |= JIT_DUMP_CUT;
	if (bad || dump->n_entries == JIT_DUMP_MAX_ENTRIES) {
		free(name);
		return true;
	}
	if (!rf_array_push(dump->entries, dump->n_entries, dump->cap_entries, entry)) {
		free(name);
		return false;
	}
	dump->name_bytes += name ? strlen(name) + 1 : 0;
	return true;
}

/* A file's name, which is mostly that of the line before; NULL: no memory. */
static const char *keep_file(struct jit_dump *dump, const char *name)
{
	const char *last = dump->n_files ? dump->files[dump->n_files - 1] : NULL;
	if (last && strcmp(last, name) == 0)
		return last;
	char *copy = strdup(name);
	if (copy && rf_array_push(dump->files, dump->n_files, dump->cap_files, copy)) {
		dump->name_bytes += strlen(copy) + 1;
		return copy;
	}
	free(copy);
	return NULL;
}

/* False: no memory. */
static bool add_line(struct jit_dump *dump, uint64_t offset, uint32_t line, const char *file)
{
	const char *kept = keep_file(dump, file);
	const struct jit_line row = {offset, line, kept};
	return kept && rf_array_push(dump->lines, dump->n_lines, dump->cap_lines, row);
}

/* ---- reading ---- */

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

/* The name at `at`, in a record of `room` bytes more; to be freed; NULL: no memory, or none. */
static char *read_name(int fd, uint64_t at, size_t room)
{
	char name[JIT_DUMP_MAX_NAME + 1] = "";
	const size_t size = room < JIT_DUMP_MAX_NAME ? room : JIT_DUMP_MAX_NAME;
	if (!read_at(fd, name, size, at) || !*name)
		return NULL;
	return strdup(name);
}

/* The writer numbers functions; a map has no key 0. */
static uint64_t key_of(uint64_t index)
{
	return index + 1 ? index + 1 : 1;
}

/* `at`: behind the record's head.  False: memory is short. */
static bool take_load(struct jit_dump *dump, int fd, const struct record *record, uint64_t at)
{
	struct code_load load;
	const size_t head = sizeof(*record) + sizeof(load);
	if (record->size <= head || !read_at(fd, &load, sizeof(load), at))
		return true;
	char *name = read_name(fd, at + sizeof(load), record->size - head);
	const size_t before = dump->n_entries;
	if (!name)
		return true;
	if (!add_entry(dump, record->time, load.address, load.size, name))
		return false;
	const bool inside = dump->n_next && dump->lines[dump->n_lines - 1].offset < load.size;
	if (dump->n_next && !inside)
		dump->unused |= JIT_DUMP_LINES;
	if (dump->n_entries > before && inside && dump->next_address == load.address) {
		dump->entries[before].first_line = dump->next_line;
		dump->entries[before].n_lines = dump->n_next;
	}
	dump->n_next = 0;
	return dump->n_entries == before ||
	       u64_map_set(&dump->of_index, key_of(load.index), (uint32_t)before);
}

/* What was there is gone; without a name what comes is not known. */
static bool take_move(struct jit_dump *dump, int fd, const struct record *record, uint64_t at)
{
	struct code_move move;
	if (record->size < sizeof(*record) + sizeof(move) || !read_at(fd, &move, sizeof(move), at))
		return true;
	const uint32_t *of = u64_map_find(&dump->of_index, key_of(move.index));
	const struct entry was = of ? dump->entries[*of] : (struct entry){0};
	char *copy = was.name ? strdup(was.name) : NULL;
	const bool done =
		(copy || !was.name) && add_entry(dump, record->time, move.from, move.size, NULL);
	if (!done)
		free(copy);
	const size_t before = dump->n_entries;
	if (!done || !add_entry(dump, record->time, move.to, move.size, copy))
		return false;
	if (dump->n_entries > before) {
		dump->entries[before].first_line = was.first_line;
		dump->entries[before].n_lines = was.n_lines;
	}
	return true;
}

static bool is_text(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f)
			return false;
	return true;
}

/* V8 adds the size of the ELF header that `perf inject` puts before the code: its first line is
 * that far behind the beginning. */
enum { V8_BIAS = 64 };

/* Reads the entry at *at, in a record that ends at `end`.  `file`: of the entry before.  False:
 * it makes no sense. */
static bool read_line(int fd, uint64_t *at, uint64_t end, struct debug_entry *entry, char *file)
{
	if (*at + sizeof(*entry) >= end || !read_at(fd, entry, sizeof(*entry), *at))
		return false;
	*at += sizeof(*entry);
	char *name = read_name(fd, *at, end - *at);
	const bool same = name && strcmp(name, SAME_FILE) == 0;
	const bool good = name && (same ? *file != '\0' : is_text(name));
	if (good) {
		*at += strlen(name) + 1;
		if (!same)
			strcpy(file, name);
	}
	free(name);
	return good;
}

/* Lines of the record at `at`, up to its end.  *good: all of it makes sense.  False: memory is
 * short. */
static bool add_lines(struct jit_dump *dump, int fd, uint64_t at, uint64_t end,
		      const struct debug_info *info, bool *good)
{
	char file[JIT_DUMP_MAX_NAME + 1] = "";
	uint64_t bias = 0, least = 0;
	for (uint64_t i = 0; i < info->n; i++) {
		struct debug_entry entry;
		*good = dump->n_lines < JIT_DUMP_MAX_LINES &&
			read_line(fd, &at, end, &entry, file) && entry.address >= info->address;
		if (!*good)
			return true;
		if (i == 0 && entry.address - info->address == V8_BIAS)
			bias = V8_BIAS;
		const uint64_t offset = entry.address - info->address - bias;
		if (entry.address - info->address < bias || offset < least)
			continue; /* a place that has a line */
		least = offset + 1;
		if (!add_line(dump, offset, entry.line, file))
			return false;
	}
	*good = end - at < sizeof(uint64_t); /* padding */
	return true;
}

/* They are of the code that is loaded next. */
static bool take_lines(struct jit_dump *dump, int fd, const struct record *record, uint64_t at)
{
	const uint64_t end = at - sizeof(*record) + record->size;
	struct debug_info info;
	bool good = false;
	dump->next_line = (uint32_t)dump->n_lines;
	if (record->size >= sizeof(*record) + sizeof(info) &&
	    read_at(fd, &info, sizeof(info), at) &&
	    !add_lines(dump, fd, at + sizeof(info), end, &info, &good))
		return false;
	if (!good) {
		dump->unused |= JIT_DUMP_LINES;
		dump->n_lines = dump->next_line;
	}
	dump->n_next = (uint32_t)dump->n_lines - dump->next_line;
	dump->next_address = good ? info.address : 0;
	return true;
}

static bool read_records(struct jit_dump *dump, int fd, uint64_t at)
{
	struct record record;
	bool done = true;
	for (; done && !(dump->unused & JIT_DUMP_CUT) && read_at(fd, &record, sizeof(record), at);
	     at += record.size) {
		uint8_t last;
		if (record.size < sizeof(record) ||
		    !read_at(fd, &last, 1, at + record.size - 1)) /* it is being written */
			break;
		if (record.kind == CODE_LOAD)
			done = take_load(dump, fd, &record, at + sizeof(record));
		else if (record.kind == CODE_MOVE)
			done = take_move(dump, fd, &record, at + sizeof(record));
		else if (record.kind == CODE_DEBUG_INFO)
			done = take_lines(dump, fd, &record, at + sizeof(record));
	}
	return done;
}

/* ---- looking up ---- */

static int compare_links(const void *a, const void *b)
{
	const struct link *x = a, *y = b;
	return rf_compare(x->page, y->page) ?: rf_compare(x->entry, y->entry);
}

static uint64_t time_of(const void *item)
{
	return ((const struct entry *)item)->time;
}

/* Entries that would make too many links are left out. */
static bool make_links(struct jit_dump *dump)
{
	for (uint32_t i = 0; i < dump->n_entries; i++) {
		const struct entry *entry = &dump->entries[i];
		const uint64_t first = entry->start >> PAGE_BITS;
		const uint64_t last = (entry->end - 1) >> PAGE_BITS;
		if (last - first >= MOST_LINKS - dump->n_links) {
			dump->unused |= JIT_DUMP_CUT;
			break;
		}
		for (uint64_t page = first; page <= last; page++) {
			const struct link link = {page, i};
			if (!rf_array_push(dump->links, dump->n_links, dump->cap_links, link))
				return false;
		}
	}
	if (dump->n_links)
		qsort(dump->links, dump->n_links, sizeof(*dump->links), compare_links);
	return true;
}

static bool read_file(struct jit_dump *dump, int fd)
{
	struct header header;
	if (!read_at(fd, &header, sizeof(header), 0) || header.magic != MAGIC ||
	    header.version != 1 || header.size < sizeof(header))
		return false;
	if (header.flags & OTHER_CLOCK)
		dump->unused |= JIT_DUMP_CLOCK;
	return read_records(dump, fd, header.size) &&
	       rf_sort_by(dump->entries, dump->n_entries, sizeof(*dump->entries), time_of) &&
	       make_links(dump);
}

struct jit_dump *jit_dump_read(int fd)
{
	struct jit_dump *dump = calloc(1, sizeof(*dump));
	if (dump && read_file(dump, fd))
		return dump;
	jit_dump_destroy(dump);
	return NULL;
}

bool jit_dump_find(const struct jit_dump *dump, uint64_t address, uint64_t time,
		   struct jit_code *code)
{
	const uint64_t page = address >> PAGE_BITS;
	const struct link *links = dump->links;
	const uint64_t until = dump->unused & JIT_DUMP_CLOCK ? UINT64_MAX : time;
	size_t at =
		rf_search(dump->n_links, i,
			  links[i].page < page || (links[i].page == page &&
						   dump->entries[links[i].entry].time <= until));
	for (int steps = 0; steps < MOST_STEPS && at > 0 && links[at - 1].page == page; steps++) {
		const struct entry *entry = &dump->entries[links[--at].entry];
		if (entry->start > address || entry->end <= address)
			continue;
		*code = (struct jit_code){.name = entry->name,
					  .start = entry->start,
					  .size = entry->end - entry->start,
					  .time = entry->time,
					  .lines = dump->lines + entry->first_line,
					  .n_lines = entry->n_lines};
		return entry->name;
	}
	return false;
}

unsigned jit_dump_unused(const struct jit_dump *dump)
{
	return dump->unused;
}

size_t jit_dump_size(const struct jit_dump *dump)
{
	return dump->cap_entries * sizeof(*dump->entries) + dump->cap_links * sizeof(*dump->links) +
	       dump->name_bytes;
}

/* ---- through a child ---- */

/* unused; offset, line, file; time, start, end, number of its first line and how many it has, name
 */
enum { HEAD = 1, LINE, ENTRY };

static void answer(void *context, FILE *stream)
{
	const struct jit_dump *dump = jit_dump_read(CONFINED_FD);
	if (!dump)
		return;
	confined_put_tag(stream, HEAD);
	confined_put_number(stream, dump->unused);
	for (size_t i = 0; i < dump->n_lines; i++) {
		confined_put_tag(stream, LINE);
		confined_put_number(stream, dump->lines[i].offset);
		confined_put_number(stream, dump->lines[i].line);
		confined_put_text(stream, dump->lines[i].file);
	}
	for (size_t i = 0; i < dump->n_entries; i++) {
		const struct entry *entry = &dump->entries[i];
		confined_put_tag(stream, ENTRY);
		confined_put_number(stream, entry->time);
		confined_put_number(stream, entry->start);
		confined_put_number(stream, entry->end);
		confined_put_number(stream, entry->first_line);
		confined_put_number(stream, entry->n_lines);
		confined_put_text(stream, entry->name ? entry->name : "");
	}
}

static bool take_line(struct confined *child, struct jit_dump *dump)
{
	const uint64_t offset = confined_number(child), line = confined_number(child);
	char *file = confined_text(child);
	const bool good = file && *file && strlen(file) <= JIT_DUMP_MAX_NAME &&
			  line <= UINT32_MAX && dump->n_lines < JIT_DUMP_MAX_LINES &&
			  add_line(dump, offset, (uint32_t)line, file);
	free(file);
	return good;
}

/* Offsets of the lines of an entry ascend. */
static bool are_lines(const struct jit_dump *dump, uint64_t first, uint64_t n)
{
	if (first > dump->n_lines || n > dump->n_lines - first)
		return false;
	for (uint64_t i = first + 1; i < first + n; i++)
		if (dump->lines[i].offset <= dump->lines[i - 1].offset)
			return false;
	return true;
}

static bool take_entry(struct confined *child, struct jit_dump *dump)
{
	const uint64_t time = confined_number(child), start = confined_number(child);
	const uint64_t end = confined_number(child);
	const uint64_t first_line = confined_number(child), n_lines = confined_number(child);
	const uint64_t before = dump->n_entries ? dump->entries[dump->n_entries - 1].time : 0;
	char *name = confined_text(child);
	if (!name || strlen(name) > JIT_DUMP_MAX_NAME || time < before || start >= end ||
	    end - start > JIT_DUMP_MAX_CODE || dump->n_entries == JIT_DUMP_MAX_ENTRIES ||
	    !are_lines(dump, first_line, n_lines)) {
		free(name);
		return false;
	}
	if (!*name) {
		free(name);
		name = NULL;
	}
	if (!add_entry(dump, time, start, end - start, name))
		return false;
	dump->entries[dump->n_entries - 1].first_line = (uint32_t)first_line;
	dump->entries[dump->n_entries - 1].n_lines = (uint32_t)n_lines;
	return true;
}

static struct rf_error *take_answer(struct confined *child, struct jit_dump *dump)
{
	uint8_t tag = confined_next(child);
	const bool is_dump = tag == HEAD;
	bool makes_sense = true;
	if (is_dump) {
		const uint64_t unused = confined_number(child);
		makes_sense = unused <= JIT_DUMP_ALL_UNUSED;
		dump->unused = (unsigned)unused;
		while (makes_sense && ((tag = confined_next(child)) == LINE || tag == ENTRY))
			makes_sense =
				tag == LINE ? take_line(child, dump) : take_entry(child, dump);
	}
	const char *why = confined_failure(child);
	if (!makes_sense || tag)
		why = "its reader's answer makes no sense";
	else if (!why && !is_dump)
		why = "it is no jitdump of version 1";
	if (why)
		return rf_error_create(RF_EFORMAT, NULL, "%s", why);
	return make_links(dump) ? NULL : rf_error_no_memory();
}

struct rf_error *jit_dump_read_confined(int fd, struct jit_dump **out)
{
	const struct confined_job job = {fd, NULL, answer, NULL, READER_SECONDS};
	struct confined *child;
	struct jit_dump *dump = calloc(1, sizeof(*dump));
	struct rf_error *error = dump ? confined_create(&job, &child) : rf_error_no_memory();
	if (error) {
		free(dump);
		return error;
	}
	error = take_answer(child, dump);
	confined_destroy(child);
	if (error)
		jit_dump_destroy(dump);
	else
		*out = dump;
	return error;
}
