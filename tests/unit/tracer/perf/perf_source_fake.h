/* A kernel with a PMU, simulated: for the tests of what uses tracer/perf/perf_source.h.
 *
 * Events keep what a test gives them.  Groups are taken as far as the counters suffice, else
 * refused with EINVAL.  A test says what happens in the program (fake_happen), lets time pass
 * (fake_pass), and writes records into the rings (fake_write, fake_sample).  Any call can be made
 * to fail. */
#pragma once

#include "tracer/perf/perf_source.h"

#include <stdbool.h>

enum { FAKE_EVENTS = 1024, FAKE_FAULTS = 8 };

enum fake_call { FAKE_OPEN, FAKE_READ, FAKE_CONTROL, FAKE_MAP };

struct fake_event {
	bool open;
	struct perf_event_attr attr;
	pid_t pid;
	int cpu, group; /* group: the leader's descriptor, its own if it leads */
	int output;     /* whose ring it writes to */
	uint64_t value, enabled, running;
	bool enabled_now;
	bool ended;     /* reads as the end of a file, as a pinned event without a counter does */
	bool truncated; /* read(2) gives less than asked for */
	uint8_t *mapping;
	size_t mapping_size;
};

/* The call `call` fails with `errnum` after `skip` times that it did not; for `config` alone, or
 * for any (UINT64_MAX). */
struct fake_fault {
	bool set;
	enum fake_call call;
	int errnum;
	unsigned skip;
	uint64_t config;
	bool sampled_only; /* only where the event has a sample period */
};

struct fake {
	struct perf_source source;
	struct fake_event events[FAKE_EVENTS]; /* by descriptor */
	unsigned general; /* counters that a group may take; fixed ones come on top */
	unsigned usable;  /* of these, that are free: a larger group is taken but never runs; 0: all
			     are */
	int n_cpus;       /* others are refused with ENODEV; 0: any */
	size_t max_pages; /* of one mapping; larger ones are refused with EPERM; 0: any */
	bool runs;        /* while an event is enabled and disabled again, a moment passes */
	unsigned max_precise; /* attr.precise_ip; more is refused with EOPNOTSUPP */
	bool old;             /* does not know attr.inherit_thread: EINVAL */
	bool hardware;        /* false: ENOENT for everything but software events */
	struct fake_fault faults[FAKE_FAULTS];
	unsigned n_open, n_mapped;
};

void fake_init(struct fake *fake);
void fake_fail(struct fake *fake, enum fake_call call, int errnum, unsigned skip, uint64_t config);

/* `n` events of kind `config` on `cpu` (-1: wherever): counted by those that are enabled and
 * running. */
void fake_happen(struct fake *fake, int cpu, uint64_t config, uint64_t n);
/* The program runs `ns` on `cpu`, and of all events there `share` (0…1) of it is counted; software
 * events always. */
void fake_pass(struct fake *fake, int cpu, uint64_t ns, double share);
/* The same for the group of one event; the others only wait. */
void fake_pass_group(struct fake *fake, int leader, uint64_t ns);
/* What an execve does. */
void fake_exec(struct fake *fake);

/* The first open event of that config on that CPU; -1. */
int fake_find(const struct fake *fake, int cpu, uint64_t config);
uint64_t fake_id(int fd);
/* Writes a record of this type into the ring that `fd` writes to, around its end where need be. */
void fake_write(struct fake *fake, int fd, uint32_t type, const void *body, size_t size);
void fake_sample(struct fake *fake, int fd, uint64_t time, uint64_t ip, uint32_t pid, uint32_t tid);
/* PERF_RECORD_LOST of `n`. */
void fake_lost(struct fake *fake, int fd, uint64_t n);
