/* Counters of the memory controllers: the events that the kernel names in sysfs, opened for whole
 * packages, and the program's share of them. */
#include "tracer/pmu/uncore.h"

#include "base/array.h"
#include "base/small_file.h"
#include "tracer/perf/refusal.h"
#include "tracer/pmu/counters_read.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 64 };

/* Names of PMUs; the kinds that count every channel of memory come first. */
static const char *const kinds[] = {"uncore_imc", "amd_umc", "amd_df", "uncore_imc_free_running"};
enum { N_KINDS = sizeof(kinds) / sizeof(*kinds) };

static const struct {
	const char *name;
	enum uncore_direction direction;
} event_names[] = {
	{"cas_count_read", UNCORE_READ}, {"cas_count_write", UNCORE_WRITE},
	{"data_read", UNCORE_READ},      {"data_write", UNCORE_WRITE},
	{"data_reads", UNCORE_READ},     {"data_writes", UNCORE_WRITE},
};

/* --- the files of sysfs: a PMU's type, its events and how their fields become bits --- */

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

/* "event=0x04,umask=0x03" by the files in `directory`/format; a term without value is 1, and
 * config=… needs no file. */
static bool event_terms(const char *directory, const char *text, uint64_t configs[3])
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

/* "MiB" and the like; "Bytes" and "" are 1; 0: unknown. */
static double unit_bytes(const char *unit)
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

/* --- what there is --- */

/* N_KINDS: not of memory.  "uncore_imc", "uncore_imc_0": the kind, and a number. */
static size_t kind_of(const char *name)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		const size_t length = strlen(kinds[i]);
		if (strncmp(name, kinds[i], length) != 0)
			continue;
		const char *rest = name + length;
		if (!*rest ||
		    (*rest == '_' && rest[1] && rest[1 + strspn(rest + 1, "0123456789")] == '\0'))
			return i;
	}
	return N_KINDS;
}

/* A CAS moves a line; where a scale is given, that counts. */
static double bytes_of(const char *directory, const char *name)
{
	char file[96], text[64], unit[64] = "";
	snprintf(file, sizeof(file), "events/%s.scale", name);
	if (!small_file_line(directory, file, text, sizeof(text)))
		return LINE;
	const double scale = strtod(text, NULL);
	snprintf(file, sizeof(file), "events/%s.unit", name);
	small_file_line(directory, file, unit, sizeof(unit));
	return scale * unit_bytes(unit);
}

static void take_event(const char *directory, const char *name, enum uncore_direction direction,
		       struct uncore_pmu *pmu)
{
	char file[96], terms[256];
	uint64_t configs[3] = {0};
	for (size_t i = 0; i < pmu->n_events; i++)
		if (pmu->events[i].direction == direction)
			return;
	snprintf(file, sizeof(file), "events/%s", name);
	if (!small_file_line(directory, file, terms, sizeof(terms)) ||
	    !event_terms(directory, terms, configs))
		return;
	const double bytes = bytes_of(directory, name);
	if (!isfinite(bytes) || bytes <= 0)
		return;
	pmu->events[pmu->n_events++] =
		(struct uncore_event){direction, configs[0], configs[1], configs[2], bytes};
}

/* Without a cpumask a PMU is one of the core, or a file system that is not what it should be. */
static bool read_pmu(const char *devices, const char *name, struct uncore_pmu *pmu)
{
	char directory[4096], text[4096];
	*pmu = (struct uncore_pmu){.type = 0};
	if ((size_t)snprintf(pmu->name, sizeof(pmu->name), "%s", name) >= sizeof(pmu->name) ||
	    (size_t)snprintf(directory, sizeof(directory), "%s/%s", devices, name) >=
		    sizeof(directory))
		return false;
	if (!small_file_line(directory, "type", text, sizeof(text)) ||
	    sscanf(text, "%" SCNu32, &pmu->type) != 1)
		return false;
	if (!small_file_line(directory, "cpumask", text, sizeof(text)) ||
	    !uncore_cpu_list(text, &pmu->cpus, &pmu->n_cpus))
		return false;
	for (size_t i = 0; i < sizeof(event_names) / sizeof(*event_names); i++)
		take_event(directory, event_names[i].name, event_names[i].direction, pmu);
	return true;
}

static int compare_pmus(const void *left, const void *right)
{
	const struct uncore_pmu *a = left, *b = right;
	return strverscmp(a->name, b->name);
}

/* Two kinds that count the same bytes would count them twice: the first that counts any stays. */
static void leave_one_kind(struct uncore *uncore)
{
	size_t first = N_KINDS, n = 0;
	for (size_t i = 0; i < uncore->n_pmus; i++)
		if (uncore->pmus[i].n_events && kind_of(uncore->pmus[i].name) < first)
			first = kind_of(uncore->pmus[i].name);
	for (size_t i = 0; i < uncore->n_pmus; i++) {
		if (uncore->pmus[i].n_events && kind_of(uncore->pmus[i].name) != first)
			free(uncore->pmus[i].cpus);
		else
			uncore->pmus[n++] = uncore->pmus[i];
	}
	uncore->n_pmus = n;
}

static struct rf_error *none(void)
{
	return refusal_here(ENOENT, REFUSED_UNCORE, "PMUs of memory controllers");
}

struct rf_error *uncore_find(const char *root, struct uncore *uncore)
{
	char devices[4096];
	struct dirent *entry;
	*uncore = (struct uncore){0};
	snprintf(devices, sizeof(devices), "%s/sys/bus/event_source/devices", root);
	DIR *folder = opendir(devices);
	while (folder && (entry = readdir(folder))) {
		struct uncore_pmu pmu;
		if (kind_of(entry->d_name) == N_KINDS)
			continue;
		if (!read_pmu(devices, entry->d_name, &pmu) ||
		    !rf_array_push(uncore->pmus, uncore->n_pmus, uncore->cap_pmus, pmu))
			free(pmu.cpus);
	}
	if (folder)
		closedir(folder);
	if (uncore->n_pmus == 0)
		return none();
	leave_one_kind(uncore);
	qsort(uncore->pmus, uncore->n_pmus, sizeof(*uncore->pmus), compare_pmus);
	return NULL;
}

void uncore_deinit(struct uncore *uncore)
{
	for (size_t i = 0; i < uncore->n_pmus; i++)
		free(uncore->pmus[i].cpus);
	free(uncore->pmus);
	*uncore = (struct uncore){0};
}

bool uncore_is_complete(const struct uncore *uncore)
{
	bool counts[2] = {false, false};
	for (size_t i = 0; i < uncore->n_pmus; i++)
		for (size_t k = 0; k < uncore->pmus[i].n_events; k++)
			counts[uncore->pmus[i].events[k].direction] = true;
	return counts[UNCORE_READ] && counts[UNCORE_WRITE];
}

/* --- counting --- */

struct opened {
	int fd;
	enum uncore_direction direction;
	double bytes;
};

struct uncore_counters {
	const struct perf_source *source;
	struct opened *opened;
	size_t n_opened, cap_opened;
};

static struct rf_error *open_one(struct uncore_counters *counters, const struct uncore_pmu *pmu,
				 const struct uncore_event *event, int cpu)
{
	const struct perf_event_attr attr = {
		.type = pmu->type,
		.size = sizeof(attr),
		.config = event->config,
		.config1 = event->config1,
		.config2 = event->config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	struct opened opened = {.direction = event->direction, .bytes = event->bytes};
	opened.fd = counters->source->open(counters->source->context, &attr, -1, cpu, -1);
	if (opened.fd < 0)
		return refusal_here(errno, REFUSED_UNCORE, pmu->name);
	if (rf_array_push(counters->opened, counters->n_opened, counters->cap_opened, opened))
		return NULL;
	counters->source->close(counters->source->context, opened.fd);
	return rf_error_no_memory();
}

static struct rf_error *open_pmu(struct uncore_counters *counters, const struct uncore_pmu *pmu)
{
	for (size_t i = 0; i < pmu->n_events; i++)
		for (size_t k = 0; k < pmu->n_cpus; k++) {
			struct rf_error *error =
				open_one(counters, pmu, &pmu->events[i], pmu->cpus[k]);
			if (error)
				return error;
		}
	return NULL;
}

struct rf_error *uncore_open(const struct perf_source *source, const struct uncore *uncore,
			     struct uncore_counters **counters)
{
	struct uncore_counters *made = calloc(1, sizeof(*made));
	struct rf_error *error = NULL;
	if (!made)
		return rf_error_no_memory();
	made->source = source;
	for (size_t i = 0; i < uncore->n_pmus && !error; i++)
		error = open_pmu(made, &uncore->pmus[i]);
	if (!error && made->n_opened == 0)
		error = none();
	if (error)
		uncore_close(made);
	else
		*counters = made;
	return error;
}

struct rf_error *uncore_read(struct uncore_counters *counters, struct uncore_bytes *bytes)
{
	struct uncore_bytes sum = {.share = 1};
	for (size_t i = 0; i < counters->n_opened; i++) {
		const struct opened *opened = &counters->opened[i];
		uint64_t reading[3] = {0};
		ssize_t n = counters->source->read(counters->source->context, opened->fd, reading,
						   sizeof(reading));
		if (n != sizeof(reading))
			return rf_error_errno(RF_EUNAVAILABLE, n < 0 ? errno : EIO,
					      "rfprof goes on without it",
					      "cannot read a counter of the memory");
		struct counter_total total = counter_scale(reading[0], reading[1], reading[2]);
		double *to = opened->direction == UNCORE_READ ? &sum.read : &sum.written;
		*to += total.value * opened->bytes;
		if (total.share < sum.share && reading[1])
			sum.share = total.share;
	}
	*bytes = sum;
	return NULL;
}

void uncore_close(struct uncore_counters *counters)
{
	if (!counters)
		return;
	for (size_t i = 0; i < counters->n_opened; i++)
		counters->source->close(counters->source->context, counters->opened[i].fd);
	free(counters->opened);
	free(counters);
}

/* --- what of it is the program's --- */

void uncore_share_add(struct uncore_share *share, double bytes, double program_ns, double busy_ns)
{
	/* the two clocks tick differently: in a short slice the program may seem to have had more
	 * than all */
	double part = busy_ns > 0 ? program_ns / busy_ns : program_ns > 0;
	if (part > 1)
		part = 1;
	share->all += bytes;
	share->bytes += bytes * part;
	if (part >= 0.95)
		share->alone += bytes;
}

/* cpu user nice system idle iowait irq softirq steal …, in ticks: proc(5). */
bool uncore_busy_ns(const char *root, uint64_t *busy_ns)
{
	char directory[4096], line[512];
	uint64_t user, nice, system, idle, wait, irq, softirq;
	snprintf(directory, sizeof(directory), "%s/proc", root);
	if (!small_file_line(directory, "stat", line, sizeof(line)) ||
	    sscanf(line,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &user, &nice, &system, &idle, &wait, &irq, &softirq) != 7)
		return false;
	*busy_ns = (user + nice + system + irq + softirq) *
		   (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}
