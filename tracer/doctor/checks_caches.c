/* What reports stand on: caches that are simulated, roofs, names. */
#include "tracer/doctor/checks.h"

void check_caches(const struct doctor_facts *facts, struct doctor_line *line)
{
	const bool assumed = facts->cache_source == GEOMETRY_ASSUMED;
	SAY(line->found, "%s, %s", facts->caches, assumed ? "assumed: neither the system nor the processor tells"
					   : facts->caches_by_cpuid ? "from the processor (CPUID)" : "from the operating system");
	if (assumed)
		doctor_lacks(line, DOCTOR_PARTLY, "the traffic is that of caches of a middling core", "--cache=L1=48K:12,L2=2M:16,L3=32M:16, "
		      "with what the data sheet says");
}

void check_roofs(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->roofs_kept) {
		SAY(line->found, "%zu rows are kept in %s", facts->n_roofs, facts->roofs_path);
		return;
	}
	SAY(line->found, "none are kept%s%s%s", facts->roofs_path[0] ? " in " : ": there is no home directory", facts->roofs_path,
	    facts->roofs_path[0] && !facts->roofs_writable ? ", and it cannot be written to" : "");
	if (facts->roofs_writable)
		doctor_lacks(line, DOCTOR_PARTLY, "the next run measures them first, once, in some 3 seconds",
		      "rfprof machine measures all of them now");
	else
		doctor_lacks(line, DOCTOR_PARTLY, "each run measures them again, in some 3 seconds", "set XDG_CACHE_HOME to a directory that "
		      "can be written to");
}

/* rfprof itself asks no server. */
void check_debuginfod(const struct doctor_facts *facts, struct doctor_line *line)
{
	const bool ready = facts->debuginfod_urls && facts->debuginfod_client;
	SAY(line->found, "DEBUGINFOD_URLS is %sset, debuginfod-find is %s; rfprof itself asks no server",
	    facts->debuginfod_urls ? "" : "not ", facts->debuginfod_client ? "there" : "not there");
	doctor_lacks(line, ready ? DOCTOR_PARTLY : DOCTOR_MISSING, "stripped code has the names of what it exports, no lines and no "
	      "inlined functions", ready ? "debuginfod-find debuginfo FILE, and put what it fetches under "
	      "/usr/lib/debug/.build-id, or install the debug packages" : "install the debug packages (NAME-dbgsym, "
	      "NAME-debuginfo) of what is profiled");
}
