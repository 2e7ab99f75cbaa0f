/* Bytes at the memory controllers, counted by the PMUs of the package ("uncore"), which know no
 * process.
 *
 * What there is, is in /sys/bus/event_source/devices: for each PMU its `type` for perf_event_open,
 * `cpumask` (one CPU of each package to open it on), `events/NAME` ("event=0x04,umask=0x03", with
 * NAME.scale and NAME.unit) and `format/FIELD`
 * ("config:0-7,32"), as Documentation/ABI/testing/sysfs-bus-event_source-devices-events and -format
 * say.  Events with these names are read and written lines: cas_count_read, cas_count_write
 * (servers of Intel), data_read(s), data_write(s) (clients, and free running counters).  PMUs
 * without such names (amd_df) are listed without events: their events are in the tables. */
#pragma once

#include "base/error.h"
#include "tracer/perf/perf_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uncore_direction { UNCORE_READ, UNCORE_WRITE };

struct uncore_event {
	enum uncore_direction direction;
	uint64_t config, config1, config2;
	double bytes; /* of one count: scale × unit */
};

struct uncore_pmu {
	char name[64]; /* "uncore_imc_0" */
	uint32_t type;
	int *cpus; /* to open it on */
	size_t n_cpus;
	struct uncore_event events[2];
	size_t n_events; /* 0: its names say nothing of memory */
};

struct uncore {
	struct uncore_pmu *pmus;
	size_t n_pmus, cap_pmus;
};

/* Lists the PMUs of memory controllers and data fabrics below `root` ("" for the real system).
 * Where one kind counts all channels (uncore_imc_N), another kind that counts the same bytes
 * (uncore_imc_free_running_N) is left out. RF_EUNAVAILABLE when there is none; files that say
 * nonsense leave out their event. */
struct rf_error *uncore_find(const char *root, struct uncore *uncore);
void uncore_deinit(struct uncore *uncore);
/* Whether reads and writes are counted. */
bool uncore_is_complete(const struct uncore *uncore);

struct uncore_bytes {
	/* Of the whole machine since the opening; scaled where counted in turns. */
	double read, written;
	double share; /* the least share of the time that an event was counted; 1: all exact */
};

struct uncore_counters;
/* Opens every event on every CPU named, counting at once.  Needs kernel.perf_event_paranoid of 0 or
 * a capability. */
struct rf_error *uncore_open(const struct perf_source *source, const struct uncore *uncore,
			     struct uncore_counters **counters);
struct rf_error *uncore_read(struct uncore_counters *counters, struct uncore_bytes *bytes);
void uncore_close(struct uncore_counters *counters);

/* --- what of it is the program's --- */

/* An estimate: in each slice of time the program has moved such a share of the bytes as it had of
 * the CPU time that all programs used. */
struct uncore_share {
	double bytes; /* the program's, estimated */
	double all;   /* of the machine */
	double alone; /* of `all`, in slices where the program had at least 95 % of the CPU time */
};
void uncore_share_add(struct uncore_share *share, double bytes, double program_ns, double busy_ns);

/* CPU time that all programs have used since boot, ns, from /proc/stat below `root`; false:
 * unreadable. */
bool uncore_busy_ns(const char *root, uint64_t *busy_ns);

/* --- what the files of sysfs say --- */

/* "0,4-6" → 0, 4, 5, 6 (allocated).  False on anything else, on numbers above 65535, and when
 * memory is short. */
bool uncore_cpu_list(const char *text, int **cpus, size_t *n);
/* The bits of `value`, from the lowest on, at the places that a format names: "config:0-7,32" into
 * configs[0], "config1:…" and "config2:…" into the next.  False: no such format, or the value needs
 * more bits than it names. */
bool uncore_place_bits(const char *format, uint64_t value, uint64_t configs[3]);
