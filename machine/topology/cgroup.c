/* Reads the limits of control groups from the files that the kernel shows them in. */
#include "machine/topology/cgroup.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mounted hierarchy that the process is in. */
struct hierarchy {
	const char *root;       /* in front of all paths */
	const char *controller; /* that it has; NULL: version 2 */
	char *path;             /* of the process's group, or one of its parents, below the mount */
	char *mount;            /* where it is mounted */
};

__attribute__((format(printf, 1, 2))) static FILE *open_file(const char *format, ...)
{
	char *path;
	va_list args;
	va_start(args, format);
	int length = vasprintf(&path, format, args);
	va_end(args);
	if (length < 0)
		return NULL;
	FILE *file = fopen(path, "re");
	free(path);
	return file;
}

/* True when the comma-separated `list` holds `word`. */
static bool list_has(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, word, length) && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* A line of /proc/self/cgroup, "ID:CONTROLLERS:PATH": the process's group in the hierarchy. */
static bool parse_group(char *line, struct hierarchy *hierarchy)
{
	char *controllers = strchr(line, ':');
	char *path = controllers ? strchr(++controllers, ':') : NULL;
	if (!path)
		return false;
	*path++ = '\0';
	if (hierarchy->controller ? !list_has(controllers, hierarchy->controller) : *controllers)
		return false;
	hierarchy->path = strdup(path);
	return hierarchy->path;
}

/* A line of /proc/self/mountinfo (proc_pid_mountinfo(5)): "ID PARENT DEV ROOT MOUNT OPTIONS [TAG…]
 * - TYPE SOURCE SUPER".  In a container only a part of the hierarchy may be mounted: the group's
 * path then starts with the mounted root, which is cut off. */
static bool parse_mount(char *line, struct hierarchy *hierarchy)
{
	char *fields[5], *rest = line, *path = hierarchy->path;
	for (int i = 0; i < 5; i++)
		if (!(fields[i] = strsep(&rest, " ")))
			return false;
	char *tail = rest ? strstr(rest, " - ") : NULL;
	if (!tail)
		return false;
	tail += 3;
	const char *type = strsep(&tail, " "), *controller = hierarchy->controller;
	strsep(&tail, " ");
	if (!tail || (controller ? strcmp(type, "cgroup") || !list_has(tail, controller)
				 : strcmp(type, "cgroup2")))
		return false;
	hierarchy->mount = strdup(fields[4]);
	size_t cut = strlen(fields[3]);
	if (strcmp(fields[3], "/") && !strncmp(path, fields[3], cut) &&
	    (path[cut] == '/' || path[cut] == '\0'))
		memmove(path, path + cut, strlen(path + cut) + 1);
	return hierarchy->mount;
}

/* True when a line of the file is what `parse` seeks. */
static bool find_line(const char *file_name, bool (*parse)(char *, struct hierarchy *),
		      struct hierarchy *hierarchy)
{
	FILE *file = open_file("%s%s", hierarchy->root, file_name);
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (file && !found && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		found = parse(line, hierarchy);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* Reads up to two numbers of a control file; "max" and negative numbers are no limit.  Returns how
 * many were read. */
static int read_numbers(const struct hierarchy *hierarchy, const char *name, double numbers[2])
{
	FILE *file =
		open_file("%s%s%s/%s", hierarchy->root, hierarchy->mount, hierarchy->path, name);
	if (!file)
		return 0;
	int n = fscanf(file, "%lf %lf", &numbers[0], &numbers[1]);
	fclose(file);
	return n > 0 && numbers[0] > 0 ? n : 0;
}

/* Version 2 has quota and period in one file. */
static void apply_cpu(const struct hierarchy *hierarchy, struct cgroup_limits *limits)
{
	double quota[2] = {0, 0}, period[2];
	const bool unified = !hierarchy->controller;
	int n = read_numbers(hierarchy, unified ? "cpu.max" : "cpu.cfs_quota_us", quota);
	if (n == 1 && !unified && read_numbers(hierarchy, "cpu.cfs_period_us", period)) {
		quota[1] = period[0];
		n = 2;
	}
	if (n < 2 || quota[1] <= 0)
		return;
	double cpus = quota[0] / quota[1];
	if (limits->cpus == 0 || cpus < limits->cpus)
		limits->cpus = cpus;
}

static void apply_memory(const struct hierarchy *hierarchy, struct cgroup_limits *limits)
{
	double limit[2], used[2] = {0, 0};
	const bool unified = !hierarchy->controller;
	if (!read_numbers(hierarchy, unified ? "memory.max" : "memory.limit_in_bytes", limit))
		return;
	/* Version 1 says "no limit" by the largest number of whole pages. */
	if (limit[0] > 0x1p62 || (uint64_t)limit[0] >= limits->memory_limit)
		return;
	limits->memory_limit = limit[0];
	bool known =
		read_numbers(hierarchy, unified ? "memory.current" : "memory.usage_in_bytes", used);
	limits->memory_used = known ? used[0] : 0;
}

/* Applies the limits of the process's group and of all its parents up to the mount. */
static void apply_up(const char *root, const char *controller,
		     void (*apply)(const struct hierarchy *, struct cgroup_limits *),
		     struct cgroup_limits *limits)
{
	struct hierarchy hierarchy = {.root = root, .controller = controller};
	bool found = find_line("/proc/self/cgroup", parse_group, &hierarchy) &&
		     find_line("/proc/self/mountinfo", parse_mount, &hierarchy);
	for (char *slash = hierarchy.path; found && slash;) {
		size_t length = strlen(hierarchy.path);
		while (length && hierarchy.path[length - 1] == '/')
			hierarchy.path[--length] = '\0';
		apply(&hierarchy, limits);
		slash = strrchr(hierarchy.path, '/');
		if (slash)
			*slash = '\0';
	}
	free(hierarchy.path);
	free(hierarchy.mount);
}

struct cgroup_limits cgroup_limits_read(const char *root)
{
	struct cgroup_limits limits = {.memory_limit = UINT64_MAX};
	apply_up(root, "cpu", apply_cpu, &limits);
	apply_up(root, "memory", apply_memory, &limits);
	apply_up(root, NULL, apply_cpu, &limits);
	apply_up(root, NULL, apply_memory, &limits);
	return limits;
}
