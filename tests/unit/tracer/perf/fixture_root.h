/* A directory that stands in for "/": files as sysfs and procfs have them, for what takes a root.
 */
#pragma once

#define DEVICES "/sys/bus/event_source/devices/"

extern char fixture_root[64];

/* Around each test. */
void fixture_root_make(void);
void fixture_root_remove(void);
/* Writes a file below the root, with its directories. */
void fixture_put(const char *path, const char *text);
/* Memory controllers as a server has them, two channels of two packages (CPUs 0 and 18); reads are
 * event 0x304, writes 0xc04, 64 bytes each. */
void fixture_put_server(void);
