/* Memory bandwidth of a group of tasks, counted by the processor (Intel's MBM, AMD's likewise)
 * through the file system resctrl: Documentation/filesystems/resctrl.rst.  What a task of the group
 * starts is in it too. */
#pragma once

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Whether resctrl is mounted below `root` ("" for the real system) and counts bytes;
 * RF_EUNAVAILABLE with what to do otherwise. */
struct rf_error *resctrl_probe(const char *root);

struct resctrl_group;
/* Makes a monitoring group (mon_groups/rfprof-PID) and puts `pid` into it. */
struct rf_error *resctrl_group_create(const char *root, pid_t pid, struct resctrl_group **group);
/* Uses the group of that name, which is there already, from what it has counted so far on. */
struct rf_error *resctrl_group_open(const char *root, pid_t pid, struct resctrl_group **group);
/* Removes the group from the file system; NULL is allowed. */
void resctrl_group_destroy(struct resctrl_group *group);

struct resctrl_bytes {
	uint64_t total; /* between the last cache and memory, anywhere, since the group was made */
	/* Caches that gave no number just now ("Unavailable", "Error"): total is too low. */
	unsigned unavailable;
};
/* Sums mon_data/mon_L3_… of the group. */
struct rf_error *resctrl_group_read(struct resctrl_group *group, struct resctrl_bytes *bytes);
