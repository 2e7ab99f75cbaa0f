/* What reports stand on: caches that are simulated, roofs, names. */
#include "tracer/doctor/checks.h"

void check_caches(const struct doctor_facts *facts, struct doctor_line *line)
{
	const bool assumed = facts->cache_source == GEOMETRY_ASSUMED;
	char last[80] = "";
	if (facts->last_cache_bytes && !assumed)
		snprintf(last, sizeof(last),
			 "; of the last, one thread has %llu KiB by measurement",
			 (unsigned long long)facts->last_cache_bytes >> 10);
	SAY(line->found, "%s, %s%s", facts->caches,
	    assumed                  ? "assumed: neither the system nor the processor tells"
	    : facts->caches_by_cpuid ? "from the processor (CPUID)"
				     : "from the operating system",
	    last);
	if (assumed)
		doctor_lacks(line, DOCTOR_PARTLY,
			     "the traffic is that of caches of a middling core",
			     "--cache=L1=48K:12,L2=2M:16,L3=32M:16, with what the data sheet says");
}

void check_roofs(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->roofs_kept) {
		SAY(line->found, "%zu rows are kept in %s", facts->n_roofs, facts->roofs_path);
		return;
	}
	SAY(line->found, "none are kept%s%s%s",
	    facts->roofs_path[0] ? " in " : ": there is no home directory", facts->roofs_path,
	    facts->roofs_path[0] && !facts->roofs_writable ? ", and it cannot be written to" : "");
	if (facts->roofs_writable)
		doctor_lacks(line, DOCTOR_PARTLY,
			     "the next run measures them first, once, in some 3 seconds",
			     "rfprof machine measures all of them now");
	else
		doctor_lacks(line, DOCTOR_PARTLY, "each run measures them again, in some 3 seconds",
			     "set XDG_CACHE_HOME to a directory that can be written to");
}

/* No server is asked here, as none is without --debuginfod. */
void check_debuginfod(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found,
	    "DEBUGINFOD_URLS is %sset, libdebuginfod is %s; rfprof asks a server with --debuginfod "
	    "only",
	    facts->debuginfod_urls ? "" : "not ", facts->debuginfod_client ? "there" : "not there");
	if (facts->debuginfod_urls && facts->debuginfod_client)
		return;
	doctor_lacks(
		line, DOCTOR_MISSING,
		"stripped code has the names of what it exports, no lines and no inlined functions",
		facts->debuginfod_client ? "set DEBUGINFOD_URLS to your distribution's server and "
					   "give --debuginfod, or install the debug packages "
					   "(NAME-dbgsym, NAME-debuginfo) of what is profiled"
					 : "install libdebuginfod, or the debug packages "
					   "(NAME-dbgsym, NAME-debuginfo) of what is profiled");
}
