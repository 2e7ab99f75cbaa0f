/* Monitoring groups of resctrl: made, read and removed through its files. */
#include "tracer/pmu/resctrl.h"

#include "base/small_file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct resctrl_group {
	char path[PATH_MAX];
	/* a group that is made anew may go on where another has ended */
	uint64_t first_total;
};

/* A file "L3_MON/mon_features" names what is counted, one a line. */
static bool has_feature(const char *path, const char *feature)
{
	char line[64];
	bool found = false;
	FILE *file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = strcmp(line, feature) == 0;
	}
	if (file)
		fclose(file);
	return found;
}

struct rf_error *resctrl_probe(const char *root)
{
	char path[PATH_MAX];
	if (!small_file_exists(root, "/sys/fs/resctrl"))
		return rf_error_create(RF_EUNAVAILABLE,
				       "a processor with memory bandwidth monitoring and a kernel "
				       "with CONFIG_X86_CPU_RESCTRL are needed",
				       "this machine has no resctrl");
	if (!small_file_exists(root, "/sys/fs/resctrl/info"))
		return rf_error_create(RF_EUNAVAILABLE,
				       "as root: mount -t resctrl resctrl /sys/fs/resctrl",
				       "resctrl is not mounted");
	snprintf(path, sizeof(path), "%s/sys/fs/resctrl/info/L3_MON/mon_features", root);
	if (!has_feature(path, "mbm_total_bytes"))
		return rf_error_create(RF_EUNAVAILABLE,
				       "another processor may; use --traffic=trace",
				       "resctrl does not count bytes of memory here");
	return NULL;
}

/* --- a group --- */

static struct rf_error *no_group(int errnum)
{
	if (errnum == EACCES || errnum == EPERM || errnum == EROFS)
		return rf_error_errno(
			RF_EUNAVAILABLE, errnum,
			"run rfprof as root, or give its user the directory mon_groups",
			"no right to make a group in resctrl");
	if (errnum == ENOSPC)
		return rf_error_errno(RF_EUNAVAILABLE, errnum,
				      "remove groups that nobody needs from mon_groups",
				      "all of the processor's monitoring groups are taken");
	return rf_error_errno(RF_EUNAVAILABLE, errnum, "rfprof goes on without it",
			      "cannot make a group in resctrl");
}

static void name_group(const char *root, pid_t pid, char *path, size_t size)
{
	snprintf(path, size, "%s/sys/fs/resctrl/mon_groups/rfprof-%d", root, (int)pid);
}

/* Returns 0 or errno. */
static int add_task(const char *group, pid_t pid)
{
	char path[PATH_MAX + 16];
	snprintf(path, sizeof(path), "%s/tasks", group);
	FILE *file = fopen(path, "ae");
	if (!file)
		return errno;
	int errnum = fprintf(file, "%d\n", (int)pid) < 0 ? errno : 0;
	if (fclose(file) != 0 && !errnum)
		errnum = errno;
	return errnum;
}

struct rf_error *resctrl_group_open(const char *root, pid_t pid, struct resctrl_group **group)
{
	struct resctrl_bytes first;
	struct resctrl_group *made = calloc(1, sizeof(*made));
	if (!made)
		return rf_error_no_memory();
	name_group(root, pid, made->path, sizeof(made->path));
	struct rf_error *error = resctrl_group_read(made, &first);
	if (error) {
		free(made);
		return error;
	}
	made->first_total = first.total;
	*group = made;
	return NULL;
}

struct rf_error *resctrl_group_create(const char *root, pid_t pid, struct resctrl_group **group)
{
	char path[PATH_MAX];
	name_group(root, pid, path, sizeof(path));
	if (mkdir(path, 0755) != 0)
		return no_group(errno);
	const int errnum = add_task(path, pid);
	struct rf_error *error = errnum ? no_group(errnum) : resctrl_group_open(root, pid, group);
	if (error)
		rmdir(path);
	return error;
}

void resctrl_group_destroy(struct resctrl_group *group)
{
	if (!group)
		return;
	rmdir(group->path);
	free(group);
}

static bool add_number(const char *directory, const char *name, uint64_t *sum)
{
	char text[64], *end;
	if (!small_file_line(directory, name, text, sizeof(text)))
		return false;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9')
		return false;
	*sum += value;
	return true;
}

struct rf_error *resctrl_group_read(struct resctrl_group *group, struct resctrl_bytes *bytes)
{
	char path[PATH_MAX + 16], domain[2 * PATH_MAX];
	struct resctrl_bytes sum = {0};
	struct dirent *entry;
	unsigned n = 0;
	snprintf(path, sizeof(path), "%s/mon_data", group->path);
	DIR *folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "mon_L3_", 7) != 0)
			continue;
		snprintf(domain, sizeof(domain), "%s/%s", path, entry->d_name);
		n++;
		sum.unavailable += !add_number(domain, "mbm_total_bytes", &sum.total);
	}
	if (folder)
		closedir(folder);
	if (n == 0)
		return rf_error_create(RF_EUNAVAILABLE, "rfprof goes on without it",
				       "resctrl gives no number for a group");
	sum.total -= sum.total < group->first_total ? sum.total : group->first_total;
	*bytes = sum;
	return NULL;
}
