/* Writes the facts about a run into its profile. */
#include "tracer/run/run_facts.h"

#include "base/text.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

/* ---- before the runs ---- */

static void note_command(struct run *run)
{
	char *command = NULL;
	size_t size;
	FILE *stream = open_memstream(&command, &size);
	for (char **word = run->options->argv; stream && *word; word++) {
		if (word != run->options->argv)
			fputc(' ', stream);
		text_write_word(stream, *word);
	}
	if (stream)
		fclose(stream);
	profile_set_fact(run->profile, "command", "%s", command ? command : "");
	free(command);
}

void run_note_environment(struct run *run)
{
	struct utsname system;
	char date[32];
	const time_t now = time(NULL);
	note_command(run);
	profile_set_fact(run->profile, "program", "%s", run->name);
	uname(&system);
	profile_set_fact(run->profile, "kernel", "%s %s", system.sysname, system.release);
	profile_set_fact(run->profile, "hostname", "%s", system.nodename);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	profile_set_fact(run->profile, "date", "%s", date);
	profile_set_fact(run->profile, "rfprof_version", "%s", RFPROF_VERSION);
}

/* ---- after the runs ---- */

void run_note_comparison(struct run *run)
{
	static const char *const words[] = {[STDIO_SAME] = "same",
					    [STDIO_NUMBERS] = "same but for numbers",
					    [STDIO_DIFFERENT] = "different",
					    [STDIO_UNKNOWN] = "unknown"};
	const char *why = NULL;
	char kept[384];
	const enum stdio_same same = stdio_plan_compare(run->plan, &why);
	if (same == STDIO_UNKNOWN && why)
		profile_set_fact(run->profile, "stdout_same", "unknown: %s", why);
	else
		profile_set_fact(run->profile, "stdout_same", "%s", words[same]);
	profile_set_fact(run->profile, "exit_same", "%s",
			 run->timed_status == run->counted_status ? "same" : "different");
	if (!stdio_plan_input_replayed(run->plan, &why) && why)
		run_log_note(&run->log, why);
	if (stdio_plan_input_kept(run->plan, kept, sizeof(kept)))
		run_log_note(&run->log, kept);
}

static void note_status(struct run *run)
{
	const int status = run->timed_status;
	if (WIFSIGNALED(status))
		profile_set_fact(run->profile, "exit_status", "signal %d", WTERMSIG(status));
	else
		profile_set_fact(run->profile, "exit_status", "%d", WEXITSTATUS(status));
}

static void note_sources(struct run *run)
{
	static const char *const words[] = {[WORK_FROM_PMU] = "PMU",
					    [WORK_FROM_COUNTING] = "counted execution",
					    [WORK_FROM_BOTH] = "counted execution and PMU"};
	const struct choice *choice = &run->counters.choice;
	const bool there = run->counted || choice->work == WORK_FROM_PMU;
	profile_set_fact(run->profile, "work_source", "%s", there ? words[choice->work] : "none");
	profile_set_fact(run->profile, "work_why", "%s", choice->why_work);
	if (choice->traffic == TRAFFIC_FROM_TRACE)
		return;
	const bool pmu = choice->traffic == TRAFFIC_FROM_PMU;
	profile_set_fact(run->profile, "traffic_source", pmu ? "PMU" : "none");
	profile_set_fact(run->profile, "traffic_why", "%s",
			 run->options->pid    ? "--pid"
			 : run->is_snapshot   ? "a snapshot"
			 : run->options->once ? "--once"
			 : pmu                ? choice->why_traffic
					      : "--traffic=none");
}

/* Also those that slept, or were too short for a sample. */
static void note_threads(struct profile *profile)
{
	size_t n = (size_t)profile_number_fact(profile, "unsampled_threads", 0);
	for (size_t i = 0; i < profile->n_threads; i++)
		n += profile->threads[i].run == RUN_TIMED;
	profile_set_fact(profile, "threads", "%zu", n ? n : (size_t)1);
}

void run_note_end(struct run *run)
{
	if (!run->options->pid && !run->is_snapshot) /* else it goes on */
		note_status(run);
	note_sources(run);
	note_threads(run->profile);
	if (run->options->no_children)
		profile_set_fact(run->profile, "no_children", "1");
}
