/* One profile: everything a report needs, without the program or its binaries.
 *
 * The runs fill it in (tracer/, symbols/, machine/), profile_save writes it as one SQLite file,
 * profile_load reads it back, and report/ only ever reads it.  Code addresses are (module,
 * offset): offset is the ELF virtual address (run-time address minus load bias), so both runs
 * agree although address randomisation moves modules.  Modules without a file ("[vdso]",
 * "[anon]", "[jit]") use the plain run-time address. */
#pragma once

#include "base/error.h"
#include "cache/traffic.h"
#include "insn/work.h"
#include "machine/data/machine.h"
#include "profile/account_rows.h"
#include "profile/facts.h"
#include "profile/packed_rows.h"
#include "profile/rank_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_SCHEMA_VERSION 13  /* PRAGMA user_version */
#define PROFILE_MAX_RUNS 1000      /* timed runs of a program, at most */
#define PROFILE_MAX_FRAMES 1024    /* of a call path, at most; a run keeps 128 */
#define PROFILE_MAX_CPUS (1 << 20) /* threads of a roof, and NUMA nodes, at most */
#define PROFILE_NONE UINT32_MAX    /* "no such row" for every index below */
/* The module of what the kernel does for the program (kernel_names.h). */
#define PROFILE_KERNEL_MODULE "[kernel]"
/* The module of samples in the gate and between a program's translated instructions. */
#define PROFILE_OWN_MODULE "[rfprof]"

enum profile_run { RUN_TIMED = 1, RUN_COUNTED = 2 };

struct profile_module {
	char *path;     /* as mapped; "[vdso]", "[anon]", … for code without a file */
	char *name;     /* what a report shows: the base name */
	char *build_id; /* lower-case hex, or "" */
};

/* A process or thread as seen in one run.  The same program has other ids in the other run. */
struct profile_thread {
	enum profile_run run;
	int pid, tid;
	char *name; /* comm, or "" */
};

enum process_birth { BIRTH_UNKNOWN, BIRTH_FIRST, BIRTH_FORK, BIRTH_VFORK, BIRTH_SPAWN };

/* A process of one run; its threads are those of the same run and pid.  Times are since the start
 * of its run. */
struct profile_process {
	enum profile_run run;
	int pid;
	uint32_t parent; /* an earlier row, or PROFILE_NONE */
	/* the same process in the other run, if that row is an earlier one, else PROFILE_NONE */
	uint32_t twin;
	enum process_birth birth;
	uint32_t execs;            /* how many programs it has executed */
	char *command;             /* comm, the last one */
	uint32_t module;           /* its executable, the last one, or PROFILE_NONE */
	uint64_t start_ns, end_ns; /* end 0: not seen */
	int exit_status;           /* wait status, or -1: not known */
	/* why it ran natively in the counted run, from some moment on, or "" */
	char *native_reason;
	uint32_t rank_plus_1; /* of the counted run: the rank of a job that it is, and 1; 0: none */
};

/* A thread of the counted run that ran natively from some moment on. */
struct profile_native_thread {
	uint32_t thread;
	char *reason;       /* "": that of its process */
	uint64_t native_ns; /* how long it ran from then on; 0: not known */
};

struct profile_function {
	uint32_t module;
	uint64_t start, end; /* offsets [start, end) */
	char *name;          /* demangled; "libfoo.so+0x12a0" without a symbol */
	char *file;          /* source file of its first line, or "" */
	uint32_t line;       /* or 0 */
};

/* What became of a file of source text. */
enum source_state {
	SOURCE_KEPT,    /* its lines are in source_lines */
	SOURCE_MISSING, /* no such file, or none that can be read */
	SOURCE_NEWER,   /* it was changed later than the program */
	SOURCE_OTHER,   /* it has fewer lines than the program's, or is no text */
	SOURCE_UNSURE,  /* the program's own file was gone: nothing to compare it with */
	SOURCE_CUT,     /* some of its lines are kept, for the others there was no room */
};

/* A file with source lines of functions that took time. */
struct profile_source {
	enum source_state state;
	char *file; /* as in `lines` */
};

/* By source and line. */
struct profile_source_line {
	uint32_t source;
	uint32_t line;
	char *text; /* tabs are blanks */
};

/* Code [start, end) that the compiler made for one source line, be it inlined or not.  Only code
 * that was executed has rows. */
struct profile_line {
	uint32_t module;
	uint64_t start, end; /* offsets [start, end) */
	char *file;
	uint32_t line;
};

/* A function of which the compiler put a copy where it was called; "foo(int)" and its file are as
 * those of `functions` where it has code of its own as well. */
struct profile_inlined_function {
	uint32_t module;
	char *name;    /* demangled */
	char *file;    /* where it is declared, or "" */
	uint32_t line; /* or 0 */
};

/* One such call: the place of a copy in the source. */
struct profile_inlined_call {
	uint32_t parent;   /* the call that it stands in, an earlier row, or PROFILE_NONE: in the
			      function itself */
	uint32_t function; /* row in inlined_functions */
	uint32_t line;     /* or 0 */
	char *file;        /* where the call stands, or "" */
};

/* Code [start, end) whose innermost call is `call`.  By (module, start), without overlaps; only
 * code that was executed has rows, and only where something is inlined. */
struct profile_inlined_code {
	uint32_t module;
	uint64_t start, end;
	uint32_t call;
};

/* A run of instructions executed from its first to its last byte `count` times. */
struct profile_block {
	uint32_t module;
	uint64_t start; /* offset */
	uint32_t size;  /* bytes */
	uint8_t *bytes; /* the original machine code */
};

struct profile_count {
	uint32_t block, thread;
	int64_t n;
	int64_t checked; /* of these: while accesses to memory were checked; in no file */
	uint32_t
		kernel; /* it worked for that row of kernels, plus 1 (profile_kernels.h); 0: none */
};

/* Run-time units (enum work_units) of the instruction at (module, offset). */
struct profile_units {
	uint32_t module;
	uint64_t offset;
	uint32_t thread;
	uint64_t n;
	uint32_t kernel; /* as in struct profile_count */
};

/* Lines that an instruction moved (cache/traffic.h), as simulated in one of the sampled classes of
 * sets: classes are numbered from 0 to the fact `traffic_classes` less one, of CACHE_CLASSES in
 * all. */
struct profile_traffic {
	uint32_t module, thread;
	uint64_t offset;        /* of the instruction */
	uint32_t class, kernel; /* as in struct profile_count */
	uint64_t lines[N_TRAFFIC];
};

/* Bytes that an instruction would move in the caches of another machine (fact other_geometry), in
 * one of the threads: of lines, by event (TRAFFIC_L2_READ to TRAFFIC_MEM_LEFT), and those of stores
 * that its L1 passes on to L2. */
struct profile_other_traffic {
	uint32_t module;
	uint64_t offset;
	uint64_t bytes[TRAFFIC_MEM_LEFT + 1];
	uint64_t write_through;
	uint32_t kernel; /* as in struct profile_count */
};

enum object_kind {
	OBJECT_OTHER,
	OBJECT_HEAP,
	OBJECT_MAPPING,
	OBJECT_STATIC,
	OBJECT_STACK,
	OBJECT_CODE
};

/* Data that belongs together: what one place allocates, a variable, a thread's stack. */
struct profile_object {
	enum object_kind kind;
	char *name;      /* a variable's; the allocating function's; or "" */
	uint32_t module; /* of the variable or of the call that allocates, or PROFILE_NONE */
	uint64_t offset;
	char *file;     /* source file of that place, or "" */
	uint32_t line;  /* or 0 */
	uint64_t bytes; /* the most there was of it at one time */
	uint64_t n;     /* how often it was allocated */
};

/* Lines that an instruction moved between the last cache and memory for an object, in all sampled
 * classes. */
struct profile_object_traffic {
	uint32_t object, module;
	uint64_t offset;
	/* lines; `write` has write-backs and non-temporal ones */
	uint64_t read, write_allocate, write;
};

/* How the addresses of one instruction follow each other, among those that were looked at. */
struct profile_stride {
	uint32_t module;
	uint64_t offset;
	/* steps: by the width of the access, by another constant, others */
	uint64_t unit, constant, random;
	int64_t step;           /* bytes, the most frequent constant one; 0: none */
	uint64_t fetched, used; /* bytes of lines that it brought in from memory and that have left
				 * again, and of these those touched by anybody meanwhile */
};

/* An instruction with accesses that lie in two lines: so many of those that were looked at. */
struct profile_crossing {
	uint32_t module;
	uint64_t offset;
	uint64_t looked, crossed;
};

/* Loads of an instruction that came soon behind a store of another one, or the same, to the same
 * place or to one that looks like it. */
struct profile_store_load {
	uint32_t module;
	uint64_t offset;
	uint32_t store_module;
	uint64_t store_offset;
	uint64_t looked; /* loads of the instruction that were looked at, whatever they came behind
			  */
	/* The store has all bytes of the load, from the first on, and these are four or more; it
	 * has them from another one on, or fewer; it has some of them; it has none, but its address
	 * ends in the same twelve bits. */
	uint64_t forwarded, shifted, blocked, aliased;
	uint64_t since; /* executions of the store's instruction between the two, summed up */
};

/* Memory traffic of an instruction as a function of the last cache's capacity: these lines come
 * from memory (are written to memory) when it holds fewer than `capacity` bytes, and do not when it
 * holds more. Sums over all sampled lines, scaled to all lines.  0: with any capacity. */
struct profile_working_set {
	uint32_t module;
	uint64_t offset;
	uint64_t capacity;      /* bytes, a multiple of the line */
	uint64_t reads, writes; /* lines */
};

/* Whether threads use the same bytes of a line, or bytes of their own that happen to lie in one. */
enum sharing_kind { SHARING_FALSE, SHARING_TRUE };

/* So many rows there are at most, of lines and of places of each. */
#define PROFILE_SHARED_LINES 100
#define PROFILE_SHARED_PLACES 64

/* A line that several threads of a process touched while one of them stored to it
 * (docs/traffic.md, "Lines that threads share"); those that may have moved most come first. */
struct profile_shared_line {
	enum sharing_kind kind; /* of most of what may have moved */
	uint64_t accesses;
	double halfwidth; /* of `accesses`, 95 % */
	/* How often an access of a thread can have found that another one had stored to the line
	 * since its own last access; and to the very bytes.  No order of the accesses has more. */
	uint64_t transfers_at_most, true_at_most;
	uint64_t transfers_seen; /* at least so many there were */
	/* 1: threads use it in any order, or it is not known; near 0: one after the other, each for
	 * long */
	double mixed;
};

/* What one instruction of one thread did to a shared line.  By line, and of each line those with
 * most accesses first. */
struct profile_shared_place {
	uint32_t line, module;   /* line: row in shared_lines */
	uint64_t offset;         /* of the instruction */
	uint32_t thread, object; /* object: of its lowest byte, or PROFILE_NONE */
	bool has_object_offset;  /* that byte's place in the object is known: */
	uint64_t object_offset;
	uint64_t loaded, stored;          /* bit k: byte k of the line */
	uint64_t accesses, loads, stores; /* one that loads and stores is one access */
	double halfwidth;                 /* of `accesses`, 95 %; 0: they are exact */
	char *file;                       /* source file of the instruction, or "" */
	uint32_t source_line;             /* or 0 */
};

enum profile_branch_kind {
	PROFILE_BRANCH_CONDITIONAL,
	PROFILE_BRANCH_JUMP, /* indirect ones */
	PROFILE_BRANCH_CALL,
	PROFILE_BRANCH_RETURN,
	N_PROFILE_BRANCH_KINDS
};

/* What the simulated TLB said of an instruction's accesses, of all threads; each page that one lies
 * in is an access.  By module and offset. */
struct profile_page_walk {
	uint32_t module;
	uint64_t offset;
	uint64_t accesses;
	uint64_t near_misses; /* of these, not in the nearest level, */
	uint64_t walks;       /* and in none */
	uint32_t kernel;      /* as in struct profile_count */
};

/* What simulated predictors made of a branch's outcomes, in bursts of the counted run
 * (docs/branches.md).  By module and offset. */
struct profile_branch {
	uint32_t module;
	uint64_t offset; /* of the instruction */
	enum profile_branch_kind kind;
	uint64_t executions;         /* in all of the counted run */
	uint64_t outcomes;           /* seen, of all threads */
	uint64_t taken;              /* of them */
	uint64_t wrong, plain_wrong; /* mispredicted by TAGE and its kin; by gshare and its kin */
	/* Mispredicted share of all executions, by TAGE, with half of its 95 % interval; by gshare
	 */
	double share, halfwidth, plain_share;
	char *file;           /* source file of the instruction, or "" */
	uint32_t source_line; /* or 0 */
};

enum counter_use { COUNTER_UNUSED, COUNTER_USED, COUNTER_IN_TURNS, COUNTER_BELOW, N_COUNTER_USES };

/* A hardware event of the timed run.  A quantity ("flop_dp", tracer/pmu/event_table.h) is the
 * sum of multiplier times events over its counters. */
struct profile_counter {
	char *quantity, *event;
	double multiplier;
	enum counter_use use; /* not at all (`why`), all the time, in turns with others (events is
			       * an estimate), or stopped at times (events is a lower bound) */
	double events;        /* of all threads and processes */
	double share;         /* of the time that it was counted for, 0…1 */
	double missing;       /* share of the events that no sample stands for, 0…1 */
	uint64_t samples;
	char *why; /* it is not used, or what is to be said of it; or "" */
};

/* Where its events happened, by samples: scaled so that all places add up to the total. */
struct profile_counter_place {
	uint32_t counter, thread, module;
	uint64_t offset, samples;
	double events;
};

/* Call-stack frames as a tree; a sample points at its leaf.  parent of a root: PROFILE_NONE. */
struct profile_frame {
	uint32_t parent, module;
	uint64_t offset;
};

/* A sample in the kernel has a leaf frame in PROFILE_KERNEL_MODULE, below the program's own. */
struct profile_sample {
	uint32_t thread;
	uint64_t time_ns;   /* since the start of the timed run */
	uint64_t weight_ns; /* CPU time it stands for */
	uint32_t frame;     /* leaf frame */
};

/* A function of an interpreted program: Python. */
struct profile_python_function {
	uint32_t line; /* of its definition, or 0 */
	char *name;    /* qualified: "Class.method" */
	char *file;    /* as the program was told it, or "<string>" and the like */
};

/* Its frames as a tree, as those of machine code. */
struct profile_python_frame {
	uint32_t parent; /* an earlier row, or PROFILE_NONE */
	uint32_t function;
	uint32_t line; /* that it was at, or 0 */
	/* the first one of a call of the interpreter from C: it stands for one frame of
	 * _PyEval_EvalFrameDefault, with those that it has called directly */
	uint32_t entry; /* 0 or 1 */
};

/* What Python was at when a sample was taken, as it was looked at nearest in time.  By sample, one
 * row at most for each. */
struct profile_python_sample {
	uint32_t sample;
	uint32_t frame; /* leaf, in python_frames */
};

/* A timed run: of a program that was run several times (--repeat) there are as many.  What else the
 * profile has of a timed run, samples, stacks, threads and counters, is of the one that is `shown`:
 * its time is the median, or of two in the middle the shorter one. */
struct profile_timed_run {
	bool shown;
	int exit_status;                 /* wait status */
	double wall_s, user_s, system_s; /* by the clock, and by the kernel's account */
	uint64_t samples, time_ns;       /* their weights together */
};

/* The samples of a timed run at one place in the code.  None where there is but one run. */
struct profile_run_time {
	uint32_t timed_run, module; /* module: or PROFILE_NONE */
	uint64_t offset;
	uint64_t samples, time_ns;
};

/* A function that was asked for with all that it calls (--kernel), in the order of the option. */
struct profile_kernel {
	char *name;
	uint32_t threads; /* that worked for it, in the counted run */
	uint64_t calls;   /* counted */
};

/* Where a kernel's function begins: one of those of its name that were met in code that ran. */
struct profile_kernel_place {
	uint32_t kernel, module;
	uint64_t offset;
};

/* Calls of a kernel by a thread of the counted run. */
struct profile_kernel_caller {
	uint32_t kernel, thread;
	uint64_t calls;
};

/* What calls of a kernel did, all together (report/rows/kernel_sums.h). */
struct profile_kernel_sum {
	uint32_t kernel;
	uint64_t flop, load_bytes, store_bytes, instructions;
	bool traced; /* the bytes that moved to and from memory are known: */
	double mem_read, mem_read_halfwidth, mem_write, mem_write_halfwidth;
	uint64_t calls_ns;  /* of the threads that called: running and waiting, from entry to return
			     */
	bool by_call;       /* it comes from calls that were timed, not from samples */
	double halfwidth_s; /* of it, 95 % */
	uint64_t running_ns, samples; /* of all threads that worked for it */
};

/* Calls of a kernel that were timed from entry to return, without what that itself took
 * (tracer/calls). */
struct profile_kernel_time {
	uint32_t kernel;
	uint64_t calls, started;    /* that were timed, and that were to be */
	bool whole;                 /* all of the run was looked at, not windows of time */
	double stands_for;          /* calls that those which were to be timed stand for */
	double mean_s, halfwidth_s; /* of all calls; of the interval of 95 % of that mean (0: of one
				     * call) */
	/* Of mean_s: others had the processor, by what was timed; and of the interval of the rest
	 * of it. */
	double ready_s, rest_halfwidth_s;
	double least_s, q1_s, median_s, q3_s, most_s;
	/* Of what timing a call puts between its ends, taken off from each of them, and how far off
	 * that may be, the same for all. */
	double cost_s, cost_spread_s;
	/* What calls took together, at the least and at the most, that began before they could be
	 * seen: of functions in libraries that are opened while the program runs; 0: there can be
	 * none. */
	double unseen_least_s, unseen_s;
	bool one_place; /* they are looked out for where the first one was made, behind that one */
};

/* Times of single calls: of all that were timed, or a thousand that stand for equally many each. */
struct profile_kernel_call_time {
	uint32_t kernel;
	uint64_t time_ns;
};

/* Time or code that could not be counted, and why. */
struct profile_uncounted {
	char *reason;
	uint32_t module; /* or PROFILE_NONE */
};

/* Sums by function (model_summarise), so that a table of functions need not read every block and
 * sample.  They follow from the other tables.  One row is a function, code of a module that is in
 * none, or (both PROFILE_NONE) of no module. */
struct profile_sum {
	uint32_t function, module; /* one of them, or PROFILE_NONE */
	/* the part of its time that was not counted where another part was; no work */
	bool uncounted;
	double concurrency; /* struct model_function */
	uint32_t thread;    /* the one that did all of its work; PROFILE_NONE: see sum_threads */
	uint64_t flop, flop_unmasked, load_bytes, store_bytes, nt_store_bytes, string_bytes, loads,
		stores, instructions;
};
/* Of those that took time. */
struct profile_sum_classes {
	uint32_t sum;
	uint64_t instructions[INSN_CLASSES];
};
struct profile_sum_flop {
	uint32_t sum, kind, precision, width; /* enums of insn/work.h */
	uint64_t flop;
};
struct profile_sum_thread {
	uint32_t sum, thread;
	uint64_t flop, load_bytes, store_bytes, instructions;
};
/* What the code of a function shows (report/model/model_code.h). */
struct profile_sum_code {
	uint32_t sum;
	/* The chains of instructions in its loops that each wait for the one before, from turn to
	 * turn: their least time, and the turns. */
	uint64_t chain_cycles, chain_turns;
	uint32_t chain_kind;  /* enum step_kind (insn/dataflow.h) of most of these cycles */
	bool chain_in_memory; /* they pass through memory: stored in one turn, loaded in the next */
	uint64_t chased_loads; /* loads whose address comes from a load of the turn before */
	/* multiplications and additions, of which each adds a product that was just made */
	uint64_t fusible_flop;
	uint64_t taken;     /* jumps, calls, returns and conditional branches that were taken */
	uint64_t rare_ways; /* conditional branches within a turn that went the rarer of their ways
			     */
	uint64_t pause_ns;  /* of its time: in loops that pause */
	/* executed; of memory: with a lock prefix, or xchg */
	uint64_t integer_divisions, atomic_updates;
	/* of innermost loops that turn few times when they are entered */
	uint64_t short_turns, short_entries, short_ns;
};
struct profile_sum_time {
	uint32_t sum, thread;
	uint64_t samples, time_ns; /* less what the samples cost; with several timed runs: of the
				    * one that is shown, in proportion to the time of the row */
	/* of it: by then the counted run's thread may have gone on natively */
	uint64_t native_ns;
};
struct profile_sum_run_time {
	uint32_t sum, timed_run;
	uint64_t samples, time_ns; /* less what the samples cost */
};
struct profile_sum_traffic {
	uint32_t sum, size;
	uint8_t *lines; /* of each class in turn, N_TRAFFIC numbers, LEB128; `size` bytes */
};
struct profile_sum_object {
	uint32_t sum, object;
	double read, write; /* bytes; `read` with write-allocates */
};
struct profile_sum_stride {
	uint32_t sum;
	uint64_t unit, constant, random, fetched, used;
	int64_t step; /* of the instruction with most constant steps */
};
/* struct model_irregular; `level` counts from L1, 0, to DRAM, 3. */
struct profile_sum_irregular {
	uint32_t sum, level;
	double lines, chained, longest;
};
struct profile_sum_working_set {
	uint32_t sum;
	uint64_t capacity;
	double reads, writes; /* bytes */
};
/* Of hardware counters: struct model_quantity. */
struct profile_sum_quantity {
	uint32_t sum, counter; /* the first counter of the quantity */
	uint64_t samples;
	double value, events, variance;
};

/* A fact as text; facts.def lists the keys. */
struct profile_fact {
	char *key, *value;
};

struct profile {
	/* The rows of each table: `struct profile_module *modules; size_t n_modules, cap_modules;`
	 * and so on; `struct packed_rows traffic;`. */
#define TABLE(id, name, row, since, kind) \
	struct row *name;                 \
	size_t n_##name, cap_##name;
#define PACKED_TABLE(id, name, row, since, kind) struct packed_rows name;
#include "profile/tables.def"
	/* Until profile_settle_kernels; in no file. */
	struct kernel_share *kernel_shares;
	size_t n_kernel_shares, cap_kernel_shares;
	/* Until account_summarise has summed them up; in no file. */
	struct profile_meanwhile *meanwhile;
	size_t n_meanwhile;
	/* Of the roofs as model_build has found them (roof_index.h), or NULL. */
	struct roof_index *roof_index;
	struct function_index *function_index; /* function_index.h */
	bool has_sums; /* the tables of sums are there, and are those of this rfprof */
};

struct profile *profile_create(void);
void profile_destroy(struct profile *profile);

/* Find-or-add; strings are copied.  Return the index, PROFILE_NONE when memory is short. */
uint32_t profile_module(struct profile *profile, const char *path, const char *build_id);
uint32_t profile_thread(struct profile *profile, enum profile_run run, int pid, int tid,
			const char *name);
/* Child frame of `parent` (PROFILE_NONE for a root): find-or-add through a hash. */
uint32_t profile_frame(struct profile *profile, uint32_t parent, uint32_t module, uint64_t offset);

/* Find-or-add by all but the line of the function: a declaration and its definition are one. */
uint32_t profile_inlined_function(struct profile *profile, uint32_t module, const char *name,
				  const char *file, uint32_t line);
uint32_t profile_inlined_call(struct profile *profile, uint32_t parent, uint32_t function,
			      const char *file, uint32_t line);

uint32_t profile_python_function(struct profile *profile, const char *name, const char *file,
				 uint32_t line);
/* Child frame of `parent`, as profile_frame. */
uint32_t profile_python_frame(struct profile *profile, uint32_t parent, uint32_t function,
			      uint32_t line, bool entry);

/* The process with that id, find-or-add.  A new one has nothing but its id; its parent is `parent`.
 */
uint32_t profile_process(struct profile *profile, enum profile_run run, int pid, uint32_t parent);
/* Finds it; PROFILE_NONE when it is not there. */
uint32_t profile_find_process(struct profile *profile, enum profile_run run, int pid);
/* Replaces its command; copied.  Nothing happens for PROFILE_NONE, or when memory is short. */
void profile_process_command(struct profile *profile, uint32_t process, const char *command);
/* Says why a process, or a thread, of the counted run went on natively.  The first reason stays. */
void profile_native_process(struct profile *profile, int pid, const char *reason);
void profile_native_thread(struct profile *profile, uint32_t thread, const char *reason);
/* How long such a thread, or one of such a process, ran natively. */
void profile_native_thread_ran(struct profile *profile, uint32_t thread, uint64_t native_ns);
/* The longest that one of the first 1,000 processes with that command lived in that run, in ns; 0:
 * no end of any was seen. */
uint64_t profile_longest_life(const struct profile *profile, enum profile_run run,
			      const char *command);
/* How long the first 1,000 processes with that command whose ends were seen lived in that run, in
 * the mean, in ns; 0: there are none. */
uint64_t profile_mean_life(const struct profile *profile, enum profile_run run,
			   const char *command);
/* Sets the twins: the n-th process with a command under a parent in one run is the n-th with that
 * command under the parent's twin in the other.  Fails only when memory is short. */
struct rf_error *profile_match_processes(struct profile *profile);

/* The place of a function that was made at run time (JIT), by its name: in the module "[jit]",
 * where each name has PROFILE_JIT_STRIDE offsets from the one returned on.  A row of `functions`
 * says so.  Its real address is another one in each process and run.  PROFILE_NONE in *module when
 * memory is short. */
#define PROFILE_JIT_STRIDE (1ull << 24)
uint64_t profile_jit_function(struct profile *profile, const char *name, uint32_t *module);

/* A frame below `parent` (or PROFILE_NONE) for the kernel's work (enum kernel_offset), whose
 * function is added where it is new.  PROFILE_NONE: no memory. */
uint32_t profile_kernel_frame(struct profile *profile, uint32_t parent, uint32_t offset);
/* Whether a module is the kernel's, and whether a sample is one of the kernel's work. */
bool profile_is_kernel(const struct profile *profile, uint32_t module);
bool profile_is_kernel_sample(const struct profile *profile, const struct profile_sample *sample);

/* The row with what tells `key` from others, up to n; find-or-add; valid until the next one.  NULL:
 * no memory. */
struct profile_system_call *profile_system_call(struct profile *profile,
						const struct profile_system_call *key);

/* Adds a hardware counter: `given` with these texts, which are copied.  Fails only when memory is
 * short. */
struct rf_error *profile_add_counter(struct profile *profile, const char *quantity,
				     const char *event, const struct profile_counter *given,
				     const char *why);
/* Adds a reason for uncounted work once (copied). */
void profile_add_uncounted(struct profile *profile, uint32_t module, const char *reason);

/* Copies a machine into a profile: roofs, custom roofs, and the facts cpu_model, microarchitecture
 * (where it is known), usable_threads, clock_ghz, clock_fp_ghz and
 * line_transfer_…_ns (where they were measured). */
struct rf_error *profile_take_machine(struct profile *profile, const struct machine *machine);
/* Moves all rows to a profile whose tables of the same rows are empty, but for facts: those of
 * `from` replace its own. */
void profile_move_rows(struct profile *from, struct profile *to);
/* Copies custom roofs into a profile. */
struct rf_error *profile_take_custom(struct profile *profile, const struct custom_roof *roofs,
				     size_t n);

/* Makes all texts such as can be shown (base/text.h).  To be called when nothing is looked up by a
 * path any more: no view has to mind what a name is made of. */
void profile_clean_texts(struct profile *profile);

/* Whether all holds that the loader demands of a profile: of what is saved, builds for tests assert
 * it. */
bool profile_is_sound(const struct profile *profile);
/* Who has chosen the name of a profile's file.  Under a name of rfprof's own nobody else can read
 * it, and the profile that was there becomes NAME.old. */
enum profile_name { PROFILE_NAME_GIVEN, PROFILE_NAME_OWN };
/* Writes the profile to `path`, a name that was given, whole or not at all (base/whole_file.h). */
struct rf_error *profile_save(const struct profile *profile, const char *path);
/* The same while other things are done: a thread writes what is not summed up, and once the profile
 * has its sums (report/model) and facts, those.  Until the end nothing else of it may change. */
struct profile_saving;
struct rf_error *profile_saving_start(const struct profile *profile, const char *path,
				      enum profile_name name, struct profile_saving **out);
void profile_saving_has_sums(struct profile_saving *saving);
/* Waits until all is written, and puts the file into its place; with an error, which is returned,
 * the file is dropped. */
struct rf_error *profile_saving_end(struct profile_saving *saving, struct rf_error *error);
/* Says before anything is run whether it can be saved so; creates nothing. */
struct rf_error *profile_save_check(const char *path, enum profile_name name);
/* Takes out of it what tells of who recorded it: the program's arguments, the machine's name, and
 * the directories of all paths, which become numbers, also in notes and reasons.  Names of
 * programs, libraries, files, functions, variables and threads stay; source text goes.  The fact
 * "redacted" says so.
 * Fails only when memory is short; the profile is then to be thrown away. */
struct rf_error *profile_redact(struct profile *profile);
/* Takes out the source text, which profile_redact does, too. */
void profile_drop_sources(struct profile *profile);
/* Reads a profile, without its sums, and cleans its texts.  A foreign, truncated or newer file
 * gives a clear error; *out untouched. */
struct rf_error *profile_load(const char *path, struct profile **out);
/* The same, but of what not every view needs only these parts: the tables of the others stay empty.
 */
enum profile_part {
	/* Where the file has sums that this rfprof understands, these instead of the tables that
	 * they were made from (see has_sums). */
	PROFILE_SUMS = 1,
	/* Source lines, but beside sums. */
	PROFILE_LINES = 2,
};
struct rf_error *profile_load_parts(const char *path, unsigned parts, struct profile **out);
/* The fact "sums" says whose figures the sums are: another rfprof may count otherwise. */
#define PROFILE_SUMS_FACT "sums"
#define PROFILE_SUMS_VERSION "3"
