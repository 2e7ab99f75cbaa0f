/* What the timed run needs: samples. */
#include "tracer/doctor/checks.h"

#include "base/small_file.h"

enum { MIN_RING_PAGES = 8 }; /* below it the sampler does not start */
enum { EVENTS_PER_CPU = 5, OTHER_DESCRIPTORS = 64 };

void check_paranoid(const struct doctor_facts *facts, struct doctor_line *line)
{
	const int level = facts->refusal.paranoid,
		  needed = refusal_paranoid_needed(REFUSED_SOFTWARE);
	char next[256];
	if (level == SMALL_FILE_UNKNOWN) {
		SAY(line->found, "cannot be read");
		doctor_lacks(line, DOCTOR_PARTLY, "none by itself; see perf sampler",
			     "mount /proc, or a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	SAY(line->found, "%d%s", level,
	    facts->refusal.perfmon ? ", which does not bind: CAP_PERFMON or CAP_SYS_ADMIN is there"
	    : level > needed       ? ""
				   : ", which allows events of one's own programs");
	SAY(next, "as root%s: sysctl kernel.perf_event_paranoid=%d",
	    facts->refusal.container ? " of the host" : "", needed);
	if (level > needed && !facts->refusal.perfmon)
		doctor_lacks(line, DOCTOR_MISSING,
			     "no event of perf for plain users: neither its samples nor counters",
			     next);
}

void check_kernel_time(const struct doctor_facts *facts, struct doctor_line *line)
{
	const int level = facts->refusal.paranoid;
	const bool seen = facts->refusal.perfmon || (level != SMALL_FILE_UNKNOWN && level < 2);
	SAY(line->found, "%s",
	    seen ? "can be sampled, and what threads wait for" : "cannot be sampled");
	if (!seen)
		doctor_lacks(
			line, DOCTOR_PARTLY,
			"what the kernel does is known in all, not by function; short waits have "
			"no cause",
			"as root: sysctl kernel.perf_event_paranoid=1, or setcap "
			"cap_perfmon+ep rfprof");
}

static bool timer_works(const struct doctor_facts *facts)
{
	return facts->endings[PROBE_TIMER].how == GUARD_DONE && !facts->timer.there;
}

bool doctor_perf_works(const struct doctor_facts *facts)
{
	return facts->endings[PROBE_PERF].how == GUARD_DONE && !facts->perf.there;
}

void check_perf(const struct doctor_facts *facts, struct doctor_line *line)
{
	line->need = timer_works(facts) ? NEED_NOTHING : NEED_TIMES;
	SAY(line->found, "%s",
	    facts->perf.there ? facts->perf.message : "cpu-clock can be sampled");
	if (facts->perf.there)
		doctor_lacks(line, DOCTOR_MISSING,
			     timer_works(facts) ? "times come from timers in a preloaded library: "
						  "coarser, and none for static or setuid programs"
						: "there are no times",
			     facts->perf.hint);
}

/* rfprof -p: perf_event_open on another's task wants the rights to read its memory
 * (PTRACE_MODE_READ_REALCREDS; perf_event_open(2)), which Yama does not narrow. */
void check_attach(const struct doctor_facts *facts, struct doctor_line *line)
{
	const bool works = doctor_perf_works(facts);
	SAY(line->found, "%s",
	    !works                   ? "none can be measured (rfprof -p)"
	    : facts->refusal.perfmon ? "any that may be traced can be measured (rfprof -p)"
				     : "one's own can be measured (rfprof -p)");
	if (!works)
		doctor_lacks(line, DOCTOR_PARTLY, "rfprof -p needs the perf sampler",
			     "see perf sampler");
}

void check_timer(const struct doctor_facts *facts, struct doctor_line *line)
{
	line->need = doctor_perf_works(facts) ? NEED_NOTHING : NEED_TIMES;
	SAY(line->found, "%s",
	    facts->timer.there ? facts->timer.message : "the library to preload is there");
	if (facts->timer.there)
		doctor_lacks(line, DOCTOR_MISSING,
			     doctor_perf_works(facts) ? "nothing, since perf samples"
						      : "there are no times",
			     facts->timer.hint);
}

void check_locked(const struct doctor_facts *facts, struct doctor_line *line)
{
	const unsigned pages = facts->ring_pages;
	if (!doctor_perf_works(facts)) {
		SAY(line->found, "not needed: perf does not sample");
		return;
	}
	SAY(line->found, "a ring of %u pages can be had", pages);
	line->need = NEED_TIMES;
	if (pages >= DOCTOR_RING_PAGES)
		return;
	if (facts->ring.there)
		SAY(line->found, "a ring of %u pages can be had, not of %d: %s", pages,
		    DOCTOR_RING_PAGES, facts->ring.message);
	doctor_lacks(
		line, pages < MIN_RING_PAGES ? DOCTOR_MISSING : DOCTOR_PARTLY,
		pages < MIN_RING_PAGES
			? "the run fails when it samples by perf; --sampler=timer goes"
			: "samples get lost when the machine is busy; the report says how many",
		facts->ring.hint);
}

void check_descriptors(const struct doctor_facts *facts, struct doctor_line *line)
{
	const uint64_t needed = (uint64_t)(facts->n_cpus > 0 ? facts->n_cpus : 1) * EVENTS_PER_CPU +
				OTHER_DESCRIPTORS;
	char next[256];
	if (facts->descriptors == UINT64_MAX)
		SAY(line->found, "no limit");
	else
		SAY(line->found, "up to %llu, of which %llu are needed for %d CPU%s",
		    (unsigned long long)facts->descriptors, (unsigned long long)needed,
		    facts->n_cpus, facts->n_cpus == 1 ? "" : "s");
	SAY(next, "raise the hard limit: ulimit -Hn %llu", (unsigned long long)needed);
	if (facts->descriptors < needed)
		doctor_lacks(line, DOCTOR_MISSING, "the sampler cannot watch every CPU", next);
}
