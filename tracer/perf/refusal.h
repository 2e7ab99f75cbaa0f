/* Why an event of perf cannot be had, and what to do about it: one message for each cause.
 *
 * errno alone does not say it: perf_event_open(2) has EACCES and EPERM for a level of
 * kernel.perf_event_paranoid, for a seccomp filter and for a security module, and ENOENT for an
 * event as well as for a machine without a PMU.  So what can be found out about this process and
 * machine is asked first. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers that could not be read are SMALL_FILE_UNKNOWN (small_file.h). */
struct refusal_facts {
	int paranoid; /* kernel.perf_event_paranoid; 3 and 4 are Debian's and Ubuntu's */
	bool perfmon; /* has CAP_PERFMON or CAP_SYS_ADMIN (effective) */
	bool seccomp; /* runs under a seccomp filter */
	bool container;
	bool hypervisor;  /* the processor says that it is virtual */
	int nmi_watchdog; /* kernel.nmi_watchdog */
	int mlock_kb;     /* kernel.perf_event_mlock_kb */
	uint64_t memlock; /* RLIMIT_MEMLOCK, bytes; UINT64_MAX: none */
	int nr_open;      /* fs.nr_open: no limit can be raised beyond it */
};

/* Reads what is true here.  `root` is put in front of every path ("" for the real one). */
void refusal_facts_read(const char *root, struct refusal_facts *facts);

enum refusal_kind {
	REFUSED_SOFTWARE, /* an event that the kernel counts itself */
	REFUSED_HARDWARE, /* an event of the core's PMU, for a task */
	REFUSED_UNCORE,   /* one of the whole package */
	REFUSED_RING,     /* memory for samples */
};

struct refusal_request {
	enum refusal_kind kind;
	const char *what; /* "a cpu-clock event", "the event skx::INST_RETIRED" */
	bool sampled;     /* by overflow */
};

/* The highest level of kernel.perf_event_paranoid at which a process without capabilities may have
 * it: 2 for user code of its own tasks, 0 for whole CPUs
 * (Documentation/admin-guide/sysctl/kernel.rst, "perf_event_paranoid"). */
int refusal_paranoid_needed(enum refusal_kind kind);

/* The one message for `errnum`, RF_EUNAVAILABLE with errnum and a next step. */
struct rf_error *refusal_explain(int errnum, const struct refusal_request *request,
				 const struct refusal_facts *facts)
	__attribute__((returns_nonnull));
/* The same with the facts of here and now; errno is kept out of their reading. */
struct rf_error *refusal_here(int errnum, enum refusal_kind kind, const char *what)
	__attribute__((returns_nonnull));
