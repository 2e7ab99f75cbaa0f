/* Reads and writes the text of a geometry, and says which classes of lines share sets in it. */
#include "cache/geometry.h"

#include "cache/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_BYTES 65536 /* a longer one is not a geometry */
#define EXAMPLE "give the caches as in L1=48K:12,L2=2M:16,L3=32M:16, the nearest first"

enum kind { SHARING, INCLUSION, REPLACEMENT, WRITES, ALLOCATION, KINDS };

/* What has been read so far. */
struct parse {
	struct geometry geometry;
	const struct cache_policy *policy;
	uint8_t said[CACHE_LEVELS][KINDS]; /* by level and kind of attribute: its value plus 1 */
};

/* ---- One item ---- */

static struct rf_error *refuse(const char *item, size_t length, const char *why)
{
	int shown = length > 60 ? 60 : (int)length;
	return rf_error_create(RF_EINPUT, EXAMPLE, "cache geometry, '%.*s': %s", shown, item, why);
}

/* A number without sign or blanks, followed by `end`, which is not `text` when there was one. */
static uint64_t read_number(const char *text, const char **end)
{
	*end = text;
	return isdigit((unsigned char)*text) ? strtoull(text, (char **)end, 10) : 0;
}

/* Bytes, or 0 when it is not a size, or more than CACHE_BYTES. */
static uint64_t read_size(const char *text, const char **end)
{
	static const char units[] = "KMG";
	uint64_t value = read_number(text, end);
	const char *unit = **end ? strchr(units, toupper((unsigned char)**end)) : NULL;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;
	*end += shift > 0;
	return value > CACHE_BYTES >> shift ? 0 : value << shift;
}

static const struct attribute {
	const char *name;
	enum kind kind;
	int value;
} attributes[] = {
	{"private", SHARING, false},
	{"shared", SHARING, true},
	{"non-inclusive", INCLUSION, CACHE_NON_INCLUSIVE},
	{"inclusive", INCLUSION, CACHE_INCLUSIVE},
	{"victim", INCLUSION, CACHE_VICTIM},
	{"lru", REPLACEMENT, CACHE_LRU},
	{"plru", REPLACEMENT, CACHE_TREE_PLRU},
	{"write-back", WRITES, false},
	{"write-through", WRITES, true},
	{"write-allocate", ALLOCATION, false},
	{"no-write-allocate", ALLOCATION, true},
};

static const char *attribute_name(enum kind kind, int value)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].kind == kind && attributes[i].value == value)
			return attributes[i].name;
	return "";
}

/* Notes what an attribute says; false when it is none, or was said before. */
static bool set_attribute(uint8_t said[KINDS], const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		const struct attribute *attribute = &attributes[i];
		if (strlen(attribute->name) != length || strncasecmp(attribute->name, name, length))
			continue;
		bool is_new = !said[attribute->kind];
		said[attribute->kind] = attribute->value + 1;
		return is_new;
	}
	return false;
}

/* What is wrong with size and ways, or NULL. */
static const char *level_fault(const struct cache_level *level, unsigned line, bool tree)
{
	uint64_t lines = level->bytes / line;
	if (level->bytes == 0)
		return "the size must be from 64 bytes to 8G, in bytes or with K, M or G";
	if (level->ways == 0 || level->ways > CACHE_WAYS)
		return "the ways must be from 1 to 64";
	if (level->bytes % line || lines == 0 || lines % level->ways)
		return line == CACHE_LINE ? "the size is no multiple of ways times 64 bytes"
					  : "the size is no multiple of ways times a line";
	if (tree && level->ways & (level->ways - 1))
		return "a tree (plru) needs a power of two as ways";
	return NULL;
}

static struct rf_error *read_attributes(uint8_t said[KINDS], const char *item, size_t length,
					const char *text)
{
	for (size_t n; text < item + length; text += n) {
		const char *name = text + 1;
		size_t left = item + length - name;
		const char *colon = memchr(name, ':', left);
		n = 1 + (colon ? (size_t)(colon - name) : left);
		if (*text != ':' || !set_attribute(said, name, n - 1))
			return refuse(
				item, length,
				"after the ways there can be private or shared, non-inclusive, "
				"inclusive or victim, lru or plru, and of L1 write-back or "
				"write-through, write-allocate or no-write-allocate, each after a "
				"colon");
	}
	return NULL;
}

static struct rf_error *read_level(struct parse *parse, const char *item, size_t length)
{
	struct geometry *geometry = &parse->geometry;
	const char *text = item + 3;
	int at = geometry->n_levels;
	if (at == CACHE_LEVELS || item[1] != '1' + at)
		return refuse(item, length, "the levels must be L1, then L2, then L3, each once");
	struct cache_level *level = &geometry->levels[at];
	level->bytes = read_size(text, &text);
	if (*text != ':')
		return refuse(item, length,
			      level->bytes ? "after the size there must be a colon and the ways"
					   : level_fault(level, geometry->line, false));
	uint64_t ways = read_number(text + 1, &text);
	level->ways = ways > CACHE_WAYS ? CACHE_WAYS + 1 : ways;
	struct rf_error *error = read_attributes(parse->said[at], item, length, text);
	if (error)
		return error;
	const char *fault = level_fault(level, geometry->line,
					parse->said[at][REPLACEMENT] == CACHE_TREE_PLRU + 1);
	if (fault)
		return refuse(item, length, fault);
	level->sets = level->bytes / geometry->line / level->ways;
	geometry->n_levels++;
	return NULL;
}

/* Sizes are counted in lines: it stands before them. */
static struct rf_error *read_line(struct parse *parse, const char *item, size_t length)
{
	const char *end;
	const uint64_t bytes = read_number(item + 5, &end);
	if (parse->geometry.n_levels)
		return refuse(item, length, "the line must stand before the levels");
	if (end != item + length || bytes < CACHE_LINE_LEAST || bytes > CACHE_LINE_MOST ||
	    bytes & (bytes - 1))
		return refuse(item, length,
			      "a line must have 32, 64, 128, 256 or 512 bytes in all levels");
	parse->geometry.line = (unsigned)bytes;
	return NULL;
}

static struct rf_error *read_policy(struct parse *parse, const char *item, size_t length)
{
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)(length - 7), item + 7);
	if (parse->policy)
		return refuse(item, length, "there is a policy already");
	parse->policy = cache_policy_find(name);
	return parse->policy
		       ? NULL
		       : refuse(item, length, "no processor of that name in the table of policies");
}

/* An item without the blanks around it. */
static struct rf_error *read_item(struct parse *parse, const char *item, size_t length)
{
	if (length > 3 && toupper((unsigned char)item[0]) == 'L' &&
	    isdigit((unsigned char)item[1]) && item[2] == '=')
		return read_level(parse, item, length);
	if (length > 7 && !strncasecmp(item, "policy=", 7))
		return read_policy(parse, item, length);
	if (length > 5 && !strncasecmp(item, "line=", 5))
		return read_line(parse, item, length);
	return refuse(item, length, "neither a level (L1=48K:12) nor policy=NAME or line=BYTES");
}

/* ---- The whole ---- */

/* What nothing was said about. */
static void complete(struct parse *parse)
{
	struct geometry *geometry = &parse->geometry;
	if (parse->policy)
		cache_policy_apply(parse->policy, geometry);
	else
		snprintf(geometry->policy, sizeof(geometry->policy), "as given");
	for (int i = 0; i < geometry->n_levels; i++) {
		struct cache_level *level = &geometry->levels[i];
		const uint8_t *said = parse->said[i];
		level->shared =
			said[SHARING] ? said[SHARING] - 1 : i > 0 && i == geometry->n_levels - 1;
		level->inclusion = said[INCLUSION] ? said[INCLUSION] - 1 : level->inclusion;
		level->replacement = said[REPLACEMENT] ? said[REPLACEMENT] - 1 : level->replacement;
	}
	geometry->write_through = parse->said[0][WRITES] == true + 1;
	geometry->no_write_allocate = parse->said[0][ALLOCATION] == true + 1;
}

/* What is wrong with how stores are written, or NULL. */
static const char *writes_fault(const struct parse *parse)
{
	const struct geometry *geometry = &parse->geometry;
	for (int i = 1; i < geometry->n_levels; i++)
		if (parse->said[i][WRITES] || parse->said[i][ALLOCATION])
			return "how stores are written can be said of L1 alone; the others write "
			       "back and allocate";
	if (geometry->no_write_allocate && !geometry->write_through)
		return "an L1 that writes back allocates: no-write-allocate needs write-through";
	if (geometry->write_through &&
	    (geometry->n_levels < 2 || geometry->levels[1].inclusion != CACHE_INCLUSIVE))
		return "an L1 that writes through needs an inclusive L2 behind it";
	return NULL;
}

/* What is wrong between the levels. */
static struct rf_error *check(const struct parse *parse)
{
	const struct geometry *geometry = &parse->geometry;
	const struct cache_level *levels = geometry->levels;
	const char *fault = writes_fault(parse);
	if (geometry->n_levels == 0)
		return rf_error_create(RF_EINPUT, EXAMPLE, "cache geometry: there is no L1");
	if (levels[0].shared || levels[0].inclusion != CACHE_NON_INCLUSIVE)
		fault = "L1 is private and has no level above that it could include";
	for (int i = 1; i < geometry->n_levels && !fault; i++) {
		if (levels[i].bytes <= levels[i - 1].bytes && levels[i].inclusion != CACHE_VICTIM)
			fault = "a level must be larger than the one before, unless it is a victim "
				"cache";
		if (levels[i - 1].shared && !levels[i].shared)
			fault = "a private level cannot be behind a shared one";
	}
	return fault ? rf_error_create(RF_EINPUT, EXAMPLE, "cache geometry: %s", fault) : NULL;
}

/* Items are separated by commas or ends of lines; from # to the end of its line is a comment. */
static struct rf_error *read_items(struct parse *parse, const char *text)
{
	bool line_has_item = false;
	for (const char *at = text;;) {
		at += strspn(at, " \t\r");
		size_t length = strcspn(at, ",\n#"), kept = length;
		while (kept && strchr(" \t\r", at[kept - 1]))
			kept--;
		char end = at[length];
		struct rf_error *error = NULL;
		if (kept)
			error = read_item(parse, at, kept);
		else if (end == ',' || (line_has_item && at > text && at[-1] == ','))
			error = refuse(at, 1, "there is nothing before or behind a comma");
		if (error)
			return error;
		line_has_item = end == ',';
		at += length;
		if (end == '#')
			at += strcspn(at, "\n");
		if (!*at)
			return NULL;
		at++;
	}
}

struct rf_error *geometry_parse(const char *text, struct geometry *out)
{
	struct parse parse = {.geometry = {.source = GEOMETRY_GIVEN, .line = CACHE_LINE}};
	struct rf_error *error = read_items(&parse, text);
	if (error)
		return error;
	complete(&parse);
	error = check(&parse);
	if (!error)
		*out = parse.geometry;
	return error;
}

/* ---- Files ---- */

static struct rf_error *read_text(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return rf_error_errno(RF_EACCESS, errno, EXAMPLE ", or a file that has that",
				      "cannot open %s", path);
	size_t n = fread(text, 1, size, file);
	int errnum = ferror(file) ? errno : 0;
	fclose(file);
	if (errnum)
		return rf_error_errno(RF_EACCESS, errnum, EXAMPLE ", or a file that has that",
				      "cannot read %s", path);
	if (n == size || memchr(text, '\0', n))
		return rf_error_create(RF_EFORMAT, EXAMPLE, "%s is no description of caches", path);
	text[n] = '\0';
	return NULL;
}

/* Errors: RF_EACCESS, or as above with the file's name. */
static struct rf_error *geometry_from_file(const char *path, struct geometry *geometry)
{
	char *text = malloc(FILE_BYTES);
	struct rf_error *error = text ? read_text(path, text, FILE_BYTES) : rf_error_no_memory();
	struct rf_error *fault = error ? NULL : geometry_parse(text, geometry);
	free(text);
	if (fault)
		error = rf_error_create(fault->code, fault->hint, "%s: %s", path, fault->message);
	else if (!error)
		geometry->source = GEOMETRY_FILE;
	rf_error_destroy(fault);
	return error;
}

struct rf_error *geometry_given(const char *text_or_path, struct geometry *geometry)
{
	if (strchr(text_or_path, '=') && access(text_or_path, F_OK) != 0)
		return geometry_parse(text_or_path, geometry);
	return geometry_from_file(text_or_path, geometry);
}

/* ---- Other machines ---- */

static const struct {
	const char *name, *title, *text;
} machines[] = {
#define MACHINE(name, title, text) {name, title, text},
#include "cache/machines.def"
#undef MACHINE
};

struct rf_error *geometry_other(const char *given, struct geometry *geometry)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (strcasecmp(machines[i].name, given) != 0)
			continue;
		struct rf_error *error = geometry_parse(machines[i].text, geometry);
		if (!error)
			snprintf(geometry->policy, sizeof(geometry->policy), "%s",
				 machines[i].title);
		return error;
	}
	return geometry_given(given, geometry);
}

/* ---- Text ---- */

static void print_size(FILE *stream, uint64_t bytes)
{
	const char *units[] = {"", "K", "M", "G"};
	int unit = 0;
	for (; unit < 3 && bytes % 1024 == 0; unit++)
		bytes /= 1024;
	fprintf(stream, "%llu%s", (unsigned long long)bytes, units[unit]);
}

char *geometry_print(const struct geometry *geometry)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	if (geometry->line != CACHE_LINE)
		fprintf(stream, "line=%u,", geometry->line);
	for (int i = 0; i < geometry->n_levels; i++) {
		const struct cache_level *level = &geometry->levels[i];
		fprintf(stream, "%sL%d=", i ? "," : "", i + 1);
		print_size(stream, level->bytes);
		fprintf(stream, ":%u", level->ways);
		if (level->shared != (i > 0 && i == geometry->n_levels - 1))
			fprintf(stream, ":%s", attribute_name(SHARING, level->shared));
		if (level->inclusion != CACHE_NON_INCLUSIVE)
			fprintf(stream, ":%s", attribute_name(INCLUSION, level->inclusion));
		if (level->replacement != CACHE_LRU)
			fprintf(stream, ":%s", attribute_name(REPLACEMENT, level->replacement));
		if (i == 0 && geometry->write_through)
			fprintf(stream, ":%s", attribute_name(WRITES, true));
		if (i == 0 && geometry->no_write_allocate)
			fprintf(stream, ":%s", attribute_name(ALLOCATION, true));
	}
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

const char *geometry_source_name(enum geometry_source source)
{
	static const char *const names[] = {"machine", "given", "file", "assumed", "effective"};
	return names[source];
}

/* ---- Classes ---- */

unsigned geometry_class_groups(const struct geometry *geometry)
{
	unsigned groups = CACHE_CLASSES;
	for (int i = 0; i < geometry->n_levels; i++)
		while (geometry->levels[i].sets % groups)
			groups /= 2;
	return groups;
}

uint64_t geometry_classes(const struct geometry *geometry, uint64_t classes,
			  bool next_line_prefetch)
{
	const uint64_t even = UINT64_C(0x5555555555555555);
	if (next_line_prefetch)
		classes |= (classes & even) << 1 | (classes >> 1 & even);
	for (unsigned apart = CACHE_CLASSES / 2; apart >= geometry_class_groups(geometry);
	     apart /= 2)
		classes |= classes << apart | classes >> (CACHE_CLASSES - apart);
	return classes;
}
