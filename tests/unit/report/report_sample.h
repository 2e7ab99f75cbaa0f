/* A hand-made profile whose truth is known: real machine code, chosen counts, chosen samples. */
#pragma once

#include "base/array.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_PERIOD_NS 1000000u

struct sample_kernel {
	const char *name;
	const char *code;
	uint32_t size;
	int64_t executions[2]; /* per thread */
	unsigned samples[2];   /* per thread, one a period, from the same start */
	uint32_t unit_at;      /* offset of the instruction with run-time units */
	uint64_t units;
};

/* Assembled with gas 2.40; the comments are its disassembly. */
static const struct sample_kernel sample_kernels[] = {
	/* vmovupd ymm0,[rsi+rax]; vfmadd213pd ymm0,ymm1,[rdx+rax]; vmovupd [rdi+rax],ymm0;
	 * add rax,32; cmp rax,rcx; jb: 8 flop, 64 bytes in, 32 out, 6 instructions */
	{"triad",
	 "\xc5\xfd\x10\x04\x06\xc4\xe2\xf5\xa8\x04\x02\xc5\xfd\x11\x04\x07\x48\x83\xc0\x20\x48"
	 "\x39\xc8\x72\xe7",
	 25,
	 {60000000, 40000000},
	 {500, 500},
	 0,
	 0},
	/* 4 × vfmadd231pd ymm,ymm8,ymm9; dec rcx; jnz: 32 flop, no bytes, 6 instructions */
	{"fma_crunch(unsigned long)",
	 "\xc4\xc2\xbd\xb8\xc1\xc4\xc2\xbd\xb8\xc9\xc4\xc2\xbd\xb8\xd1\xc4"
	 "\xc2\xbd\xb8\xd9\x48\xff\xc9\x75\xe7",
	 25,
	 {1000000000, 0},
	 {400, 0},
	 0,
	 0},
	/* movsd xmm0,[rsi+rax]; mulsd xmm0,[rdx+rax]; addsd xmm1,xmm0; add; cmp; jb: 2 flop, 16
	 * bytes in, 6 instructions */
	{"dot",
	 "\xf2\x0f\x10\x04\x06\xf2\x0f\x59\x04\x02\xf2\x0f\x58\xc8\x48\x83\xc0\x08\x48\x39\xc8\x72"
	 "\xe9",
	 23,
	 {100000000, 0},
	 {300, 0},
	 0,
	 0},
	/* vaddpd zmm0{k1},zmm1,[rsi]; dec rcx; jnz: 1 flop a unit, 8 with all lanes */
	{"masked_add",
	 "\x62\xf1\xf5\x49\x58\x06\x48\xff\xc9\x75\xf5",
	 11,
	 {10000000, 0},
	 {100, 0},
	 0,
	 30000000},
	/* rep movsb; ret: 1 byte in and 1 out a unit; ret loads 8 */
	{"copy", "\xf3\xa4\xc3", 3, {5, 0}, {50, 0}, 0, 500000000},
	/* add; imul; dec; jnz: 4 instructions and nothing else */
	{"integer",
	 "\x48\x01\xd8\x48\x0f\xaf\xc2\x48\xff\xc9\x75\xf4",
	 12,
	 {90000000, 0},
	 {30, 0},
	 0,
	 0},
	/* compiled while the program ran, not counted */
	{"jit_code", NULL, 16, {0, 0}, {10, 0}, 0, 0},
};
#define N_SAMPLE_KERNELS (sizeof(sample_kernels) / sizeof(*sample_kernels))

static inline void sample_roof(struct profile *p, enum roof_kind kind, const char *isa,
			       const char *precision, const char *op, const char *level,
			       int threads, double best)
{
	struct roof roof = {.kind = kind,
			    .isa = roof_isa_find(isa),
			    .precision = roof_precision_find(precision),
			    .op = roof_op_find(op),
			    .level = roof_level_find(level),
			    .threads = threads,
			    .best = best,
			    .median = best,
			    .q1 = best,
			    .q3 = best,
			    .distinguishable = strcmp(level, "L3") != 0};
	strcpy(roof.unit, kind == ROOF_COMPUTE ? "GFLOP/s" : "GB/s");
	if (!rf_array_push(p->roofs, p->n_roofs, p->cap_roofs, roof))
		abort();
}

static inline void sample_roofs(struct profile *p)
{
	static const struct {
		const char *level;
		double read, triad;
	} levels[] = {
		{"L1", 311, 250},
		{"L2", 102, 80},
		{"L3", 14.6, 12},
		{"DRAM", 14.6, 12},
	};
	for (int threads = 1; threads <= 2; threads++) {
		double more = threads == 1 ? 1 : 1.7;
		sample_roof(p, ROOF_COMPUTE, "avx512f", "double", "fma", "", threads, 99.4 * more);
		sample_roof(p, ROOF_COMPUTE, "avx512f", "single", "fma", "", threads, 199 * more);
		sample_roof(p, ROOF_COMPUTE, "scalar", "double", "fma", "", threads, 12.2 * more);
		sample_roof(p, ROOF_COMPUTE, "scalar", "double", "add", "", threads, 6.1 * more);
		for (size_t i = 0; i < 4; i++) {
			sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", levels[i].level, threads,
				    levels[i].read * more);
			sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "triad", levels[i].level,
				    threads, levels[i].triad * more);
		}
	}
}

static inline void sample_function(struct profile *p, uint32_t module, uint64_t start, uint64_t end,
				   const char *name, const char *file, uint32_t line)
{
	struct profile_function function = {module, start, end, strdup(name), strdup(file), line};
	if (!rf_array_push(p->functions, p->n_functions, p->cap_functions, function))
		abort();
}

/* A block of code and how often one thread executed it. */
static inline void sample_block(struct profile *p, uint32_t module, uint64_t start,
				const char *code, uint32_t size, uint32_t thread, int64_t n)
{
	struct profile_block block = {module, start, size, memcpy(malloc(size), code, size)};
	const struct profile_count count = {(uint32_t)p->n_blocks, thread, n};
	if (!rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block) ||
	    !rf_array_push(p->counts, p->n_counts, p->cap_counts, count))
		abort();
}

static inline void sample_kernel_add(struct profile *p, const struct sample_kernel *kernel,
				     uint64_t start, uint64_t *time_ns)
{
	uint32_t module = profile_module(p, kernel->code ? "/opt/solver" : "[anon]", "");
	sample_function(p, module, start, start + kernel->size, kernel->name, "solver.c",
			(uint32_t)start);
	if (kernel->code) {
		struct profile_block block = {module, start, kernel->size, malloc(kernel->size)};
		memcpy(block.bytes, kernel->code, kernel->size);
		rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block);
	}
	for (int t = 0; t < 2; t++) {
		uint32_t timed = profile_thread(p, RUN_TIMED, 100, 100 + t, "solver");
		uint32_t counted = profile_thread(p, RUN_COUNTED, 200, 200 + t, "solver");
		struct profile_count count = {(uint32_t)p->n_blocks - 1, counted,
					      kernel->executions[t]};
		if (kernel->executions[t])
			rf_array_push(p->counts, p->n_counts, p->cap_counts, count);
		struct profile_units units = {module, start + kernel->unit_at, counted,
					      kernel->units};
		if (kernel->units && t == 0)
			rf_array_push(p->units, p->n_units, p->cap_units, units);
		for (unsigned i = 0; i < kernel->samples[t]; i++) {
			struct profile_sample sample = {
				timed, *time_ns + (i + 1) * SAMPLE_PERIOD_NS, SAMPLE_PERIOD_NS,
				profile_frame(p, PROFILE_NONE, module, start + 1)};
			rf_array_push(p->samples, p->n_samples, p->cap_samples, sample);
		}
	}
	*time_ns += kernel->samples[0] * (uint64_t)SAMPLE_PERIOD_NS;
}

static inline struct profile *report_sample(void)
{
	struct profile *p = profile_create();
	uint64_t time_ns = 0;
	for (size_t i = 0; i < N_SAMPLE_KERNELS; i++)
		sample_kernel_add(p, &sample_kernels[i], 0x1000 * (i + 1), &time_ns);
	sample_roofs(p);
	profile_add_uncounted(p, profile_module(p, "[anon]", ""),
			      "code made while the program ran");
	profile_set_fact(p, "command", "./solver 'in put.dat'");
	profile_set_fact(p, "program", "solver");
	profile_set_fact(p, "wall_s", "1.40");
	profile_set_fact(p, "counted_wall_s", "1.52");
	profile_set_fact(p, "threads", "2");
	profile_set_fact(p, "usable_threads", "2");
	profile_set_fact(p, "clock_ghz", "2.9");
	profile_set_fact(p, "exit_status", "0");
	profile_set_fact(p, "exit_same", "same");
	profile_set_fact(p, "stdout_same", "same");
	profile_set_fact(p, "work_source", "counted execution");
	profile_set_fact(p, "time_source", "perf cpu-clock");
	profile_set_fact(p, "sample_period_ns", "%u", SAMPLE_PERIOD_NS);
	profile_set_fact(p, "lost_samples", "3");
	return p;
}

#define SAMPLE_CLASSES 4

static inline void sample_lines(struct profile *p, uint64_t offset, enum traffic event,
				uint64_t lines, uint64_t step)
{
	for (uint32_t k = 0; k < SAMPLE_CLASSES; k++) {
		struct profile_traffic row = {
			.module = profile_module(p, "/opt/solver", ""),
			.thread = profile_thread(p, RUN_COUNTED, 200, 200, "solver"),
			.offset = offset,
			.class = k,
		};
		row.lines[event] = lines + step * k;
		if (!packed_rows_add(&p->traffic, &row, sizeof(row)))
			abort();
	}
}

/* The same profile as a traced run would leave it; a class of `lines` stands for lines × 64 × 64
 * bytes. triad: two arrays of 3.2 GB are read and one is written, all from memory, one array's
 * lines unevenly. dot: 1.6 GB from L2.  copy: reads and overwrites in L3 and memory, a part of it
 * still in a cache. */
static inline struct profile *report_traced_sample(void)
{
	struct profile *p = report_sample();
	const uint64_t array = 781250, copied = 122070;
	static const enum traffic reads[] = {TRAFFIC_L2_READ, TRAFFIC_L3_READ, TRAFFIC_MEM_READ};
	static const enum traffic writes[][2] = {
		{TRAFFIC_L2_WRITE_ALLOCATE, TRAFFIC_L2_WRITE_BACK},
		{TRAFFIC_L3_WRITE_ALLOCATE, TRAFFIC_L3_WRITE_BACK},
		{TRAFFIC_MEM_WRITE_ALLOCATE, TRAFFIC_MEM_WRITE_BACK},
	};
	for (int level = 0; level < 3; level++) {
		sample_lines(p, 0x1000, reads[level], array, 0);
		sample_lines(p, 0x1005, reads[level], array - 1500, 1000);
		sample_lines(p, 0x100b, writes[level][0], array, 0);
		sample_lines(p, 0x100b, writes[level][1], array, 0);
		sample_lines(p, 0x5000, reads[level], copied, 0);
		sample_lines(p, 0x5000, writes[level][0], copied, 0);
		sample_lines(p, 0x5000, writes[level][1], level < 2 ? copied : 100000, 0);
	}
	sample_lines(p, 0x3000, TRAFFIC_L2_READ, 390625, 0);
	sample_lines(p, 0x5000, TRAFFIC_MEM_EVADABLE, copied, 0);
	sample_lines(p, 0x5000, TRAFFIC_MEM_LEFT, copied - 100000, 0);
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_geometry", "L1=48K:12,L2=2M:16,L3=32M:16");
	profile_set_fact(p, "traffic_geometry_source", "machine");
	profile_set_fact(p, "traffic_policy", "Golden Cove");
	profile_set_fact(p, "traffic_classes", "%d", SAMPLE_CLASSES);
	profile_set_fact(p, "untraced_accesses", "12");
	return p;
}

/* Hardware counters: what --traffic=pmu leaves, with the fact `traffic_source` "PMU". */
static inline uint32_t sample_counter(struct profile *p, const char *quantity, double multiplier,
				      double events, uint64_t samples, enum counter_use use)
{
	const struct profile_counter counter = {.multiplier = multiplier,
						.use = use,
						.events = events,
						.share = 1,
						.samples = samples};
	if (profile_add_counter(p, quantity, "test::EVENT", &counter, ""))
		abort();
	return (uint32_t)p->n_counters - 1;
}

static inline void sample_counter_place(struct profile *p, uint32_t counter, uint64_t offset,
					uint64_t samples, double events)
{
	const struct profile_counter_place row = {counter,
						  profile_thread(p, RUN_TIMED, 100, 100, "solver"),
						  profile_module(p, "/opt/solver", ""),
						  offset,
						  samples,
						  events};
	if (!rf_array_push(p->counter_places, p->n_counter_places, p->cap_counter_places, row))
		abort();
}

/* A quantity of 64 bytes an event: four fifths in triad, one fifth in dot. */
static inline void sample_split(struct profile *p, const char *quantity, double events,
				uint64_t samples, enum counter_use use)
{
	uint32_t counter = sample_counter(p, quantity, 64, events, samples, use);
	sample_counter_place(p, counter, 0x1005, samples / 5 * 4, events * 4 / 5);
	sample_counter_place(p, counter, 0x3000, samples / 5, events / 5);
}

static inline uint32_t sample_object(struct profile *p, enum object_kind kind, const char *name,
				     const char *file, uint32_t line, uint64_t bytes)
{
	struct profile_object object = {kind,
					strdup(name),
					profile_module(p, "/opt/solver", ""),
					0x1234,
					strdup(file),
					line,
					bytes,
					1};
	if (!rf_array_push(p->objects, p->n_objects, p->cap_objects, object))
		abort();
	return (uint32_t)p->n_objects - 1;
}

static inline void sample_object_lines(struct profile *p, uint32_t object, uint64_t offset,
				       uint64_t read, uint64_t write_allocate, uint64_t write)
{
	struct profile_object_traffic row = {object,         profile_module(p, "/opt/solver", ""),
					     offset,         read,
					     write_allocate, write};
	if (!rf_array_push(p->object_traffic, p->n_object_traffic, p->cap_object_traffic, row))
		abort();
}

/* Objects, strides and working sets for it: the triad reads b and c, which main allocates, and
 * writes the variable a; copy would fit in 48 MB. */
static inline void sample_data(struct profile *p)
{
	const uint32_t m = profile_module(p, "/opt/solver", "");
	const uint64_t array = 4 * 781250ull;
	uint32_t heap = sample_object(p, OBJECT_HEAP, "main", "mesh.c", 88, 6400000000);
	uint32_t variable = sample_object(p, OBJECT_STATIC, "a", "", 0, 3200000000);
	sample_object_lines(p, heap, 0x1000, array, 0, 0);
	sample_object_lines(p, heap, 0x1005, array, 0, 0);
	sample_object_lines(p, variable, 0x100b, 0, array, array);
	const struct profile_stride strides[] = {
		{m, 0x1000, 900, 0, 100, 0, 64000, 64000},
		{m, 0x1005, 0, 990, 10, 4096, 64000, 8000},
	};
	for (size_t i = 0; i < 2; i++)
		if (!rf_array_push(p->strides, p->n_strides, p->cap_strides, strides[i]))
			abort();
	const struct profile_working_set sets[] = {
		{m, 0x5000, 48 << 20, 6000000, 4000000},
		{m, 0x5000, 1 << 20, 100000, 0},
		{m, 0x5000, 0, 500000, 0},
		{m, 0x5000, 1 << 20, 100000, 0},
	};
	for (size_t i = 0; i < 4; i++)
		if (!rf_array_push(p->working_sets, p->n_working_sets, p->cap_working_sets,
				   sets[i]))
			abort();
}
