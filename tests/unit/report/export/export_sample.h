/* The profile whose exports are checked in: report_sample.h's, traced, with callers, a recursion, a
 * second process, and names that no format can take as they are. */
#pragma once

#include "tests/unit/report/report_sample.h"

static inline uint32_t export_function(struct profile *p, const char *name, uint64_t start,
				       const char *file, uint32_t line)
{
	uint32_t module = profile_module(p, "/opt/solver", "");
	sample_function(p, module, start, start + 0x100, name, file, line);
	return module;
}

static inline void export_samples(struct profile *p, uint32_t thread, uint32_t frame, unsigned n,
				  uint64_t *time_ns)
{
	for (unsigned i = 0; i < n; i++) {
		struct profile_sample sample = {thread, *time_ns += SAMPLE_PERIOD_NS,
						SAMPLE_PERIOD_NS, frame};
		if (!rf_array_push(p->samples, p->n_samples, p->cap_samples, sample))
			abort();
	}
}

static inline struct profile *export_sample(void)
{
	static const char *const hostile[] = {
		"operator,(std::pair<a;b, \"c\">)",
		"line\none\r\ttwo",
		"\xff\xfe garbage \xc3",
		"(1) fn=; 12",
		"",
		"\xe6\xbc\xa2\xe5\xad\x97 </script>",
	};
	struct profile *p = report_traced_sample();
	sample_data(p);
	const size_t n_flat = p->n_samples;
	uint32_t m = export_function(p, "main", 0x10000, "solver.c", 7);
	export_function(p, "solve", 0x10100, "solver.c", 70);
	export_function(p, "recurse", 0x10200, "solver.c", 90);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
		export_function(p, hostile[i], 0x20000 + 0x100 * i, i % 2 ? "a;b, \"c\".c" : "", 0);
	uint32_t main_frame = profile_frame(p, PROFILE_NONE, m, 0x10010);
	uint32_t solve = profile_frame(p, main_frame, m, 0x10110);
	for (size_t i = 0; i < n_flat; i++) { /* all that was there is called by solve */
		const struct profile_frame leaf = p->frames[p->samples[i].frame];
		p->samples[i].frame = profile_frame(p, solve, leaf.module, leaf.offset);
	}
	uint32_t thread = profile_thread(p, RUN_TIMED, 300, 300, "child, \"quoted\";");
	profile_process_command(p, profile_process(p, RUN_TIMED, 100, PROFILE_NONE), "solver");
	profile_process_command(p, profile_process(p, RUN_TIMED, 300, 0), "child");
	uint32_t frame = main_frame;
	uint64_t time_ns = 5000000;
	for (int depth = 0; depth < 4; depth++)
		frame = profile_frame(p, frame, m, 0x10210);
	export_samples(p, thread, frame, 3, &time_ns);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
		export_samples(p, thread, profile_frame(p, frame, m, 0x20010 + 0x100 * i),
			       2 + (unsigned)i, &time_ns);
	export_samples(p, thread, PROFILE_NONE, 1, &time_ns);
	profile_set_fact(p, "sample_cost_ns", "1234");
	profile_set_fact(p, "date", "2026-03-01T12:00:00Z");
	profile_set_fact(p, "cpu_model", "Sample CPU");
	profile_set_fact(p, "kernel", "Linux 6.1");
	return p;
}

/* The same program changed: the triad takes half the time, dot does twice the work in half more
 * time, the masked addition is gone, another function is there, and the program has another name.
 */
static inline struct profile *export_sample_after(void)
{
	struct profile *p = export_sample();
	unsigned seen = 0;
	uint64_t time_ns = 7000000000;
	for (size_t i = 0; i < p->n_samples; i++) {
		const struct profile_frame *leaf = p->samples[i].frame == PROFILE_NONE
							   ? NULL
							   : &p->frames[p->samples[i].frame];
		if (leaf && (leaf->offset == 0x4001 || (leaf->offset == 0x1001 && seen++ % 2)))
			p->samples[i--] = p->samples[--p->n_samples];
	}
	for (size_t i = 0; i < p->n_counts; i++) {
		if (p->blocks[p->counts[i].block].start == 0x3000)
			p->counts[i].n *= 2;
		if (p->blocks[p->counts[i].block].start == 0x4000)
			p->counts[i].n = 0;
	}
	p->n_units = 0;
	uint32_t m = export_function(p, "fresh", 0x30000, "new.c", 3);
	export_samples(p, 0, profile_frame(p, PROFILE_NONE, m, 0x3001), 150, &time_ns);
	export_samples(p, 0, profile_frame(p, PROFILE_NONE, m, 0x30001), 40, &time_ns);
	free(p->modules[0].name);
	p->modules[0].name = strdup("solver-2");
	profile_set_fact(p, "program", "solver-2");
	profile_set_fact(p, "wall_s", "1.25");
	return p;
}
