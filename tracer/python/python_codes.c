/* Functions and lines of code objects.  A code object is known again by its process, its address,
 * and what it points to: when another one has taken its place, at least one of these differs. */
#include "tracer/python/python_codes.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/u64_map.h"
#include "tracer/python/python_memory.h"

#include <string.h>

/* Of a text in characters, of a location table in bytes. */
enum { MAX_TEXT = 512, MAX_TABLE = 1 << 20 };
/* When there are so many code objects, or so much of lines, all are forgotten and read again;
 * functions, of which samples have the numbers, stay. */
enum { MAX_CODES = 1 << 16, MAX_FUNCTIONS = 1 << 18 };
static const size_t MAX_ROWS = (size_t)4 << 20;

struct identity {
	uint64_t filename, qualname, linetable;
	int32_t first_line;
	pid_t pid;
};

struct code {
	uint64_t address;
	struct identity identity;
	uint32_t function;
	struct python_lines lines;
};

struct python_codes {
	struct code *codes;
	size_t n_codes, cap_codes;
	size_t n_rows; /* of all their lines */
	struct u64_map by_address;
	struct python_function *functions;
	size_t n_functions, cap_functions;
	struct u64_map by_name;
	uint8_t table[MAX_TABLE];
};

struct python_codes *python_codes_create(void)
{
	return calloc(1, sizeof(struct python_codes));
}

static void forget_codes(struct python_codes *codes)
{
	for (size_t i = 0; i < codes->n_codes; i++)
		python_lines_deinit(&codes->codes[i].lines);
	codes->n_codes = codes->n_rows = 0;
	u64_map_deinit(&codes->by_address);
	codes->by_address = (struct u64_map){0};
}

void python_codes_destroy(struct python_codes *codes)
{
	if (!codes)
		return;
	forget_codes(codes);
	for (size_t i = 0; i < codes->n_functions; i++) {
		free(codes->functions[i].name);
		free(codes->functions[i].file);
	}
	free(codes->codes);
	free(codes->functions);
	u64_map_deinit(&codes->by_name);
	free(codes);
}

const struct python_function *python_codes_function(const struct python_codes *codes,
						    uint32_t function)
{
	return function < codes->n_functions ? &codes->functions[function] : NULL;
}

/* --- texts --- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)((0xf0u << (4 - n) & 0xff) | c);
	return n;
}

/* `kind`: bytes of a character. */
static void to_utf8(const uint8_t *from, size_t length, unsigned kind, char *to)
{
	for (size_t i = 0; i < length; i++) {
		uint32_t c = 0;
		memcpy(&c, from + i * kind, kind);
		if (!c)
			break;
		to += put_utf8(to, c <= 0x10ffff ? c : 0xfffd);
	}
	*to = '\0';
}

/* A str of the program; its beginning where it is longer than MAX_TEXT. */
static bool read_text(pid_t pid, const struct python_layout *layout, uint64_t address,
		      char text[4 * MAX_TEXT + 1])
{
	uint8_t head[64], bytes[4 * MAX_TEXT];
	/* no more than these: the object may end where its memory does */
	if (!python_read(pid, address, head, layout->text_state + sizeof(uint32_t)))
		return false;
	const uint64_t length = python_u64(head, layout->text_length);
	const uint32_t state = (uint32_t)python_i32(head, layout->text_state);
	/* bits of PyASCIIObject.state: interned 2, kind 3, compact 1, ascii 1; all names of code
	 * are compact */
	const unsigned kind = state >> 2 & 7;
	const bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
	if (!compact || (kind != 1 && kind != 2 && kind != 4) || length > INT32_MAX)
		return false;
	const size_t n = length < MAX_TEXT ? (size_t)length : MAX_TEXT;
	if (!python_read(pid, address + (ascii ? layout->text_ascii : layout->text_compact), bytes,
			 n * kind))
		return false;
	to_utf8(bytes, n, kind, text);
	return true;
}

/* --- functions --- */

static uint32_t add_function(struct python_codes *codes, const char *name, const char *file,
			     uint32_t first_line)
{
	const struct python_function fresh = {strdup(name), strdup(file), first_line};
	if (fresh.name && fresh.file && codes->n_functions < MAX_FUNCTIONS &&
	    rf_array_push(codes->functions, codes->n_functions, codes->cap_functions, fresh))
		return (uint32_t)(codes->n_functions - 1);
	free(fresh.name);
	free(fresh.file);
	return PYTHON_NO_FUNCTION;
}

/* The number of a function, find-or-add. */
static uint32_t intern(struct python_codes *codes, const char *name, const char *file,
		       uint32_t first_line)
{
	uint64_t hash = rf_hash(name, strlen(name)) * 31 + rf_hash(file, strlen(file)) + first_line;
	const uint32_t *found;
	for (hash = hash ? hash : 1; (found = u64_map_find(&codes->by_name, hash)); hash++) {
		const struct python_function *function = &codes->functions[*found];
		if (function->first_line == first_line && strcmp(function->name, name) == 0 &&
		    strcmp(function->file, file) == 0)
			return *found;
	}
	const uint32_t number = add_function(codes, name, file, first_line);
	if (number != PYTHON_NO_FUNCTION && !u64_map_set(&codes->by_name, hash, number))
		return PYTHON_NO_FUNCTION;
	return number;
}

/* --- code objects --- */

static bool read_lines(struct python_codes *codes, const struct python_layout *layout,
		       const struct identity *identity, struct python_lines *lines)
{
	uint8_t head[64];
	if (!python_read(identity->pid, identity->linetable, head,
			 layout->bytes_size + sizeof(uint64_t)))
		return false;
	const uint64_t size = python_u64(head, layout->bytes_size);
	return size <= MAX_TABLE &&
	       python_read(identity->pid, identity->linetable + layout->bytes_data, codes->table,
			   (size_t)size) &&
	       python_locations_decode(codes->table, (size_t)size, identity->first_line, lines) ==
		       LOCATIONS_DONE;
}

static bool read_code(struct python_codes *codes, const struct python_layout *layout,
		      uint64_t address, const struct identity *identity, struct code *out)
{
	char name[4 * MAX_TEXT + 1], file[4 * MAX_TEXT + 1];
	*out = (struct code){.address = address, .identity = *identity};
	if (!read_text(identity->pid, layout, identity->qualname, name) ||
	    !read_text(identity->pid, layout, identity->filename, file) ||
	    !read_lines(codes, layout, identity, &out->lines))
		return false;
	out->function = intern(codes, name, file, (uint32_t)identity->first_line);
	if (out->function != PYTHON_NO_FUNCTION)
		return true;
	python_lines_deinit(&out->lines);
	return false;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->filename == b->filename && a->qualname == b->qualname &&
	       a->linetable == b->linetable && a->first_line == b->first_line && a->pid == b->pid;
}

static uint64_t key_of(pid_t pid, uint64_t address)
{
	const uint64_t key[2] = {(uint64_t)pid, address};
	return rf_hash(key, sizeof(key));
}

/* The code object, read where it is not known; NULL: it cannot be. */
static const struct code *get_code(struct python_codes *codes, const struct python_layout *layout,
				   uint64_t address, const struct identity *identity)
{
	const uint64_t key = key_of(identity->pid, address);
	const uint32_t *found = u64_map_find(&codes->by_address, key);
	struct code *known = found ? &codes->codes[*found] : NULL;
	struct code fresh;
	if (known && known->address == address && is_same(&known->identity, identity))
		return known;
	if (!read_code(codes, layout, address, identity, &fresh))
		return NULL;
	if (known) {
		codes->n_rows -= known->lines.n_rows;
		python_lines_deinit(&known->lines);
		*known = fresh;
		codes->n_rows += fresh.lines.n_rows;
		return known;
	}
	if (codes->n_codes >= MAX_CODES || codes->n_rows > MAX_ROWS)
		forget_codes(codes);
	if (u64_map_set(&codes->by_address, key, (uint32_t)codes->n_codes) &&
	    rf_array_push(codes->codes, codes->n_codes, codes->cap_codes, fresh)) {
		codes->n_rows += fresh.lines.n_rows;
		return &codes->codes[codes->n_codes - 1];
	}
	python_lines_deinit(&fresh.lines); /* memory is short */
	forget_codes(codes);
	return NULL;
}

bool python_codes_look(struct python_codes *codes, pid_t pid, const struct python_runtime *runtime,
		       uint64_t address, const uint8_t *bytes, uint64_t instruction,
		       uint32_t *function, uint32_t *line)
{
	const struct python_layout *layout = &runtime->layout;
	const struct identity identity = {
		.filename = python_u64(bytes, layout->code_filename),
		.qualname = python_u64(bytes, layout->code_qualname),
		.linetable = python_u64(bytes, layout->code_linetable),
		.first_line = python_i32(bytes, layout->code_first_line),
		.pid = pid,
	};
	const uint64_t start = address + layout->code_instructions;
	const uint64_t size = 2 * python_u64(bytes, layout->bytes_size);
	/* code that has not yet begun is one unit before its first instruction in 3.11 */
	if (python_u64(bytes, layout->object_type) != runtime->code_type ||
	    identity.first_line < 0 || size > UINT32_MAX || instruction + 2 < start ||
	    instruction + 2 - start > size)
		return false;
	const struct code *code = get_code(codes, layout, address, &identity);
	if (!code)
		return false;
	*function = code->function;
	*line = instruction < start
			? (uint32_t)identity.first_line
			: python_lines_find(&code->lines, (uint32_t)(instruction - start));
	return true;
}
