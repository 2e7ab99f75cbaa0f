/* The files of sysfs that describe a PMU: its type, its events and how their fields become bits. */
#include "tracer/pmu/uncore_files.h"

#include "base/array.h"
#include "tracer/perf/small_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool take_number(const char **text, int base, uint64_t *value)
{
	char *end;
	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoull(*text, &end, base);
	if (errno || end == *text)
		return false;
	*text = end;
	return true;
}

/* "FIRST" or "FIRST-LAST". */
static bool take_range(const char **text, uint64_t *first, uint64_t *last)
{
	if (!take_number(text, 10, first))
		return false;
	*last = *first;
	if (**text != '-')
		return true;
	++*text;
	return take_number(text, 10, last) && *first <= *last;
}

bool uncore_cpu_list(const char *text, int **cpus, size_t *n)
{
	enum { LAST_CPU = 65535 };
	int *list = NULL;
	size_t n_list = 0, cap_list = 0;
	uint64_t first, last;
	do {
		if (!take_range(&text, &first, &last) || last > LAST_CPU)
			goto wrong;
		for (; first <= last; first++)
			if (!rf_array_push(list, n_list, cap_list, (int)first))
				goto wrong;
	} while (*text == ',' && text++);
	if (*text)
		goto wrong;
	*cpus = list;
	*n = n_list;
	return true;
wrong:
	free(list);
	return false;
}

static bool take_word(const char **format, uint64_t configs[3], uint64_t **word)
{
	static const char *const names[] = {"config:", "config1:", "config2:"};
	for (size_t i = 0; i < 3; i++)
		if (strncmp(*format, names[i], strlen(names[i])) == 0) {
			*format += strlen(names[i]);
			*word = &configs[i];
			return true;
		}
	return false;
}

bool uncore_place_bits(const char *format, uint64_t value, uint64_t configs[3])
{
	uint64_t *word, first, last;
	uint64_t placed[3] = {configs[0], configs[1], configs[2]};
	if (!take_word(&format, placed, &word))
		return false;
	do {
		if (!take_range(&format, &first, &last) || last > 63)
			return false;
		for (; first <= last; first++, value >>= 1)
			*word |= (value & 1) << first;
	} while (*format == ',' && format++);
	if (*format || value)
		return false;
	memcpy(configs, placed, sizeof(placed));
	return true;
}

static bool place_term(const char *directory, const char *name, uint64_t value, uint64_t configs[3])
{
	char path[96], format[256];
	if (strcmp(name, "config") == 0) {
		configs[0] |= value;
		return true;
	}
	if (strchr(name, '/') ||
	    (size_t)snprintf(path, sizeof(path), "format/%s", name) >= sizeof(path))
		return false;
	return small_file_line(directory, path, format, sizeof(format)) &&
	       uncore_place_bits(format, value, configs);
}

bool uncore_event_terms(const char *directory, const char *text, uint64_t configs[3])
{
	char copy[256], *rest = copy, *term;
	if ((size_t)snprintf(copy, sizeof(copy), "%s", text) >= sizeof(copy) || !*copy)
		return false;
	while ((term = strsep(&rest, ","))) {
		char *equals = strchr(term, '=');
		uint64_t value = 1;
		if (equals) {
			const char *number = equals + 1;
			*equals = '\0';
			if (!take_number(&number, 0, &value) || *number)
				return false;
		}
		if (!*term || !place_term(directory, term, value, configs))
			return false;
	}
	return true;
}

double uncore_unit_bytes(const char *unit)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = {
		{"", 1},     {"Bytes", 1}, {"bytes", 1},    {"B", 1},        {"KB", 1e3},
		{"MB", 1e6}, {"GB", 1e9},  {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30},
	};
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].bytes;
	return 0;
}
