/* Puts into words what a result depends on. */
#include "sweep/identity.h"

#include "base/array.h"
#include "tracer/process/file_headers.h"
#include "tracer/process/own_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static const char *const always[] = {
	"OMP_NUM_THREADS",   "OMP_PROC_BIND",
	"OMP_PLACES",        "OPENBLAS_NUM_THREADS",
	"OPENBLAS_CORETYPE", "MKL_NUM_THREADS",
	"GOMP_CPU_AFFINITY", "LD_LIBRARY_PATH",
	"LD_PRELOAD",        "PATH",
	"GLIBC_TUNABLES",
};

char *identity_file_state(const char *path)
{
	struct file_headers headers;
	struct stat status;
	char *text = NULL;
	size_t size;
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		if (fd >= 0)
			close(fd);
		return strdup("");
	}
	FILE *out = open_memstream(&text, &size);
	const bool is_elf = file_headers_read(fd, &headers);
	if (out && is_elf && headers.build_id_size)
		for (size_t i = 0; i < headers.build_id_size; i++)
			fprintf(out, "%02x", headers.build_id[i]);
	else if (out)
		fprintf(out, "%lld:%lld.%09ld", (long long)status.st_size,
			(long long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
	if (is_elf)
		free(headers.segments);
	close(fd);
	if (!out || fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- what is known before ---- */

/* With its length, so that no two lists are one text. */
static void put(FILE *out, const char *what, const char *text)
{
	fprintf(out, "%s %zu:%s\n", what, strlen(text), text);
}

static void put_variable(FILE *out, const char *name)
{
	const char *value = getenv(name);
	if (!value)
		return;
	put(out, "variable", name);
	put(out, "value", value);
}

static void put_environment(FILE *out, const char *names)
{
	char name[256];
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		put_variable(out, always[i]);
	for (size_t n; names && *names; names += n + (names[n] == ',')) {
		n = strcspn(names, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		put_variable(out, name);
	}
}

static void put_machine(FILE *out)
{
	char line[256], *value;
	struct utsname name;
	cpu_set_t cpus;
	FILE *info = fopen("/proc/cpuinfo", "re");
	while (info && fgets(line, sizeof(line), info))
		if (strncmp(line, "model name", 10) == 0 && (value = strchr(line, ':'))) {
			line[strcspn(line, "\n")] = 0;
			put(out, "processor", value + 1);
			break;
		}
	if (info)
		fclose(info);
	if (uname(&name) == 0) {
		put(out, "host", name.nodename);
		put(out, "kernel", name.release);
	}
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		fprintf(out, "processors %d\n", CPU_COUNT(&cpus));
}

char *identity_of(char *const *command, const char *names, const char *const *options)
{
	char *text = NULL, *own = identity_file_state(own_file()), *here = getcwd(NULL, 0);
	size_t size;
	FILE *out = own ? open_memstream(&text, &size) : NULL;
	if (!out) {
		free(own);
		free(here);
		return NULL;
	}
	put(out, "rfprof", own);
	fprintf(out, "profile %d\nsums %s\n", PROFILE_SCHEMA_VERSION, PROFILE_SUMS_VERSION);
	put(out, "directory", here ? here : "");
	for (; *options; options++)
		put(out, "option", *options);
	put_machine(out);
	put_environment(out, names);
	for (; *command; command++)
		put(out, "word", *command);
	free(own);
	free(here);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- files ---- */

/* Whose state `wanted` is; NULL: whatever it is, if it is a file at all. */
static struct rf_error *add(struct used_files *files, const char *path, const char *wanted)
{
	for (size_t i = 0; i < files->n; i++)
		if (strcmp(files->items[i].path, path) == 0)
			return NULL;
	struct used_file file = {strdup(path), identity_file_state(path)};
	const bool known = file.path && file.state;
	const bool is_used = known && (wanted ? strcmp(file.state, wanted) == 0 : *file.state != 0);
	if (is_used && rf_array_push(files->items, files->n, files->cap, file))
		return NULL;
	free(file.path);
	free(file.state);
	return known && !is_used ? NULL : rf_error_no_memory();
}

static struct rf_error *add_named(struct used_files *files, const char *path)
{
	struct rf_error *error = add(files, path, NULL);
	return error ?: strpbrk(path, "./") ? add(files, path, "") : NULL;
}

struct rf_error *identity_named_files(char *const *command, struct used_files *files)
{
	struct rf_error *error = NULL;
	*files = (struct used_files){0};
	for (; !error && *command; command++) {
		const char *value = strchr(*command, '=');
		error = add_named(files, *command);
		if (!error && value && value[1])
			error = add_named(files, value + 1);
	}
	return error;
}

struct rf_error *identity_files(const struct profile *profile, const struct used_files *before,
				struct used_files *files)
{
	struct rf_error *error = NULL;
	*files = (struct used_files){0};
	for (size_t i = 0; !error && i < profile->n_modules; i++)
		if (profile->modules[i].path[0] == '/')
			error = add(files, profile->modules[i].path, NULL);
	for (size_t i = 0; !error && i < before->n; i++)
		error = add(files, before->items[i].path, before->items[i].state);
	return error;
}

void identity_free_files(struct used_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->items[i].path);
		free(files->items[i].state);
	}
	free(files->items);
	*files = (struct used_files){0};
}
