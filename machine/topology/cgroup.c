/* Reads the limits of control groups from the files that the kernel shows them in. */
#include "machine/topology/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mounted hierarchy that the process is in. */
struct hierarchy {
	bool unified; /* version 2 */
	char *mount;  /* where it is mounted */
	char *path;   /* of the process's group, below the mount */
};

/* One controller's files.  `limit` holds one number or, in version 2's cpu.max, two. */
struct controller {
	const char *limit, *period, *used;
};

static const struct controller cpu_v1 = {"cpu.cfs_quota_us", "cpu.cfs_period_us", NULL};
static const struct controller cpu_v2 = {"cpu.max", NULL, NULL};
static const struct controller memory_v1 = {"memory.limit_in_bytes", NULL, "memory.usage_in_bytes"};
static const struct controller memory_v2 = {"memory.max", NULL, "memory.current"};

static FILE *open_below(const char *root, const char *path)
{
	char *whole;
	if (asprintf(&whole, "%s%s", root, path) < 0)
		return NULL;
	FILE *file = fopen(whole, "re");
	free(whole);
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

/* The process's group in the hierarchy with `controller` (NULL: version 2), from
 * /proc/self/cgroup: lines "ID:CONTROLLERS:PATH". */
static char *group_path(const char *root, const char *controller)
{
	FILE *file = open_below(root, "/proc/self/cgroup");
	char *line = NULL, *found = NULL;
	size_t size = 0;
	while (file && !found && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(++controllers, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		if (controller ? list_has(controllers, controller) : controllers[0] == '\0')
			found = strdup(path);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* Reads one line of /proc/self/mountinfo (proc_pid_mountinfo(5)): "ID PARENT DEV ROOT MOUNT OPTIONS
 * [TAG…] - TYPE SOURCE SUPER".  False when it is not the wanted hierarchy. */
static bool parse_mount(char *line, const char *controller, char **mounted_root, char **mount)
{
	char *fields[5], *rest = line;
	for (int i = 0; i < 5; i++)
		if (!(fields[i] = strsep(&rest, " ")))
			return false;
	char *tail = rest ? strstr(rest, " - ") : NULL;
	if (!tail)
		return false;
	tail += 3;
	char *type = strsep(&tail, " ");
	strsep(&tail, " ");
	if (!tail)
		return false;
	tail[strcspn(tail, "\n")] = '\0';
	if (controller ? strcmp(type, "cgroup") || !list_has(tail, controller)
		       : strcmp(type, "cgroup2"))
		return false;
	*mounted_root = fields[3];
	*mount = fields[4];
	return true;
}

static bool find_mount(const char *root, const char *controller, char **mounted_root, char **mount)
{
	FILE *file = open_below(root, "/proc/self/mountinfo");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (file && !found && getline(&line, &size, file) > 0) {
		char *r, *m;
		if (!parse_mount(line, controller, &r, &m))
			continue;
		*mounted_root = strdup(r);
		*mount = strdup(m);
		found = true;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* In a container only a part of the hierarchy may be mounted: the group's path then starts with
 * the mounted root, which is cut off. */
static char *below_mount(const char *path, const char *mounted_root)
{
	size_t length = strlen(mounted_root);
	if (strcmp(mounted_root, "/") && !strncmp(path, mounted_root, length) &&
	    (path[length] == '/' || path[length] == '\0'))
		path += length;
	return strdup(path);
}

static bool find_hierarchy(const char *root, const char *controller, struct hierarchy *hierarchy)
{
	char *mounted_root = NULL, *mount = NULL;
	char *path = group_path(root, controller);
	bool found = path && find_mount(root, controller, &mounted_root, &mount) && mounted_root &&
		     mount;
	if (found) {
		hierarchy->unified = !controller;
		hierarchy->mount = mount;
		hierarchy->path = below_mount(path, mounted_root);
	} else {
		free(mount);
	}
	free(mounted_root);
	free(path);
	if (found && !hierarchy->path) {
		free(mount);
		return false;
	}
	return found;
}

/* Reads up to two numbers of a control file; "max" and negative numbers are no limit.  Returns how
 * many were read. */
static int read_numbers(const char *root, const char *mount, const char *group, const char *name,
			double numbers[2])
{
	char *path;
	if (asprintf(&path, "%s%s/%s", mount, group, name) < 0)
		return 0;
	FILE *file = open_below(root, path);
	free(path);
	if (!file)
		return 0;
	int n = fscanf(file, "%lf %lf", &numbers[0], &numbers[1]);
	fclose(file);
	return n > 0 && numbers[0] > 0 ? n : 0;
}

static void apply_cpu(const char *root, const struct hierarchy *hierarchy, const char *group,
		      struct cgroup_limits *limits)
{
	const struct controller *cpu = hierarchy->unified ? &cpu_v2 : &cpu_v1;
	double quota[2] = {0, 0};
	int n = read_numbers(root, hierarchy->mount, group, cpu->limit, quota);
	if (n == 1 && cpu->period) {
		double period[2];
		if (read_numbers(root, hierarchy->mount, group, cpu->period, period)) {
			quota[1] = period[0];
			n = 2;
		}
	}
	if (n < 2 || quota[1] <= 0)
		return;
	double cpus = quota[0] / quota[1];
	if (limits->cpus == 0 || cpus < limits->cpus)
		limits->cpus = cpus;
}

static void apply_memory(const char *root, const struct hierarchy *hierarchy, const char *group,
			 struct cgroup_limits *limits)
{
	const struct controller *memory = hierarchy->unified ? &memory_v2 : &memory_v1;
	double limit[2], used[2] = {0, 0};
	if (!read_numbers(root, hierarchy->mount, group, memory->limit, limit))
		return;
	/* Version 1 says "no limit" by the largest number of whole pages. */
	if (limit[0] > 0x1p62 || (uint64_t)limit[0] >= limits->memory_limit)
		return;
	limits->memory_limit = limit[0];
	if (!read_numbers(root, hierarchy->mount, group, memory->used, used))
		used[0] = 0;
	limits->memory_used = used[0];
}

typedef void apply_function(const char *root, const struct hierarchy *hierarchy, const char *group,
			    struct cgroup_limits *limits);

/* Applies the limits of the process's group and of all its parents up to the mount. */
static void apply_up(const char *root, const char *controller, apply_function *apply,
		     struct cgroup_limits *limits)
{
	struct hierarchy hierarchy = {0};
	if (!find_hierarchy(root, controller, &hierarchy))
		return;
	char *group = hierarchy.path;
	for (;;) {
		size_t length = strlen(group);
		while (length && group[length - 1] == '/')
			group[--length] = '\0';
		apply(root, &hierarchy, group, limits);
		char *slash = strrchr(group, '/');
		if (!slash)
			break;
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
