/* Lockstep: the slow and obvious beside the fast.
 *
 * A child process runs program code twice from the same state: natively, one instruction at a time
 * under ptrace (the reference), and translated.  Wherever translated code hands control to the
 * gate, and where an instruction faults, general registers, status flags, vector and mask
 * registers, the x87, all writable memory, and the counters must be what the reference says.
 *
 * The child runs nothing of its own, so neither a stray store nor an endless loop can hurt the
 * test.  The memory is shared and lies at the same addresses in both processes. */
#pragma once

#include "tracer/translate/translate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/* Where the code and the arena lie. */
enum lockstep_layout {
	LAYOUT_NEAR,    /* code above 4 GiB, operands in reach of the arena */
	LAYOUT_FAR,     /* rip-relative operands are out of reach */
	LAYOUT_LOW,     /* code below 2 GiB */
	LAYOUT_LOW_FAR, /* the same, arena out of reach */
	LAYOUTS,
};

/* How translated code left the code cache. */
enum lockstep_exit {
	EXIT_MISS,
	EXIT_INDIRECT,
	EXIT_COLLIDE,
	EXIT_SYSCALL,
	EXIT_RETURN,
	EXIT_FAULT,
	EXITS
};

#define LOCKSTEP_DATA 0x20000 /* offset of the data that lockstep_open_code adds to the code */
#define LOCKSTEP_XSTATE_MAX 16384

struct lockstep_state {
	struct user_regs_struct regs;
	uint8_t xstate[LOCKSTEP_XSTATE_MAX]; /* standard format (Intel SDM vol. 1, 13.4) */
};

struct lockstep_options {
	size_t batch_insns; /* of the translator */
	size_t max_steps;   /* of the reference */
	bool link_indirect; /* fill the jump table at each indirect transfer that is asked for */
	uint64_t
		collide_with; /* if not 0: the jump table holds the entry of this address already */
	bool is_random;       /* the code was not meant to run from here: see reference_first_got */
	bool is_hot;          /* some of the code is: translate/hot_code.h */
	bool busy; /* as if other threads ran translated code: no unaligned store to a link */
};

/* What was compared, summed over runs. */
struct lockstep_tally {
	uint64_t runs;         /* with at least one comparison */
	uint64_t blocks;       /* block executions */
	uint64_t whole_blocks; /* those that ended in no fault, in runs compared to the end */
	uint64_t insns;
	uint64_t exits[EXITS];
	uint64_t unit_insns; /* executions with repetitions or lanes counted at run time */
	uint64_t loops;      /* faults while a loop's counter was in a register */
};

struct range {
	uint64_t start, end;
};

struct lockstep {
	enum lockstep_layout layout;
	struct range image;             /* the code and what came with it */
	struct range exec[8], code[16]; /* executable segments; sections to pick code from */
	size_t n_exec, n_code;
	struct range writable[8]; /* compared: scratch area, stack, writable segments */
	size_t n_writable;
	uint8_t *initial[8], *native[8], *translated[8]; /* contents of `writable` */
	uint8_t *slot, *traps, *arena;
	struct translator translator;
	int child; /* process id, or 0 */
	size_t xstate_size;
	uint64_t random; /* state of the generator */
	struct lockstep_tally tally;
	uint64_t trace_classes; /* accesses to these classes of lines are traced and compared; 0:
				   none */
	uint64_t traced;        /* accesses compared */
	const char *refused;    /* why the last run was not translated, or NULL */
	char path[64];          /* exits of the last run: M I C S R F, as in enum lockstep_exit */
	char failure[4096];     /* what differed in the last run that failed */
};

/* The memory that random programs work on, the same in every layout. */
#define SCRATCH_ADDRESS 0x220000000000ull
#define SCRATCH_SIZE 0x8000
#define STACK_ADDRESS 0x221000000000ull
#define STACK_SIZE 0x8000

/* Maps the segments of an ELF file, unrelocated; its data is filled with plausible pointers and
 * numbers.  Returns false when the file cannot be had. */
bool lockstep_open_file(struct lockstep *lockstep, const char *path, enum lockstep_layout layout,
			uint64_t seed);

/* Maps bare code, with a page of data at LOCKSTEP_DATA behind its start. */
bool lockstep_open_code(struct lockstep *lockstep, const void *code, size_t size,
			enum lockstep_layout layout);
void lockstep_close(struct lockstep *lockstep);

/* A random place in the code at which an instruction begins. */
uint64_t lockstep_random_pc(struct lockstep *lockstep);

/* A plausible state at pc: registers that the next instructions use for addresses point into the
 * scratch area, indices and repeat counts are small, everything else is random. */
void lockstep_random_state(struct lockstep *lockstep, uint64_t pc, struct lockstep_state *state);

/* The same with values at the edges: largest and smallest integers, NaNs, denormals, rounding
 * modes, empty and full masks; now and then with exceptions unmasked. */
void lockstep_edge_state(struct lockstep *lockstep, uint64_t pc, struct lockstep_state *state);

/* Changes the pointers that the first `steps` instructions follow, in registers and in the memory
 * that both runs start from, so that the operands are there.  Faults that come from anything else
 * stay.  Returns false when the child is stuck or gone. */
bool lockstep_aim(struct lockstep *lockstep, struct lockstep_state *state, size_t steps);

/* Runs from `start` both ways and compares.  Returns false with `failure` set when something
 * differs. */
bool lockstep_run(struct lockstep *lockstep, const struct lockstep_state *start,
		  const struct lockstep_options *options);

uint64_t lockstep_random(struct lockstep *lockstep);

/* A general register by its number in instructions. */
static inline unsigned long long *register_number(struct user_regs_struct *regs, unsigned number)
{
	unsigned long long *const by_number[16] = {&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx,
						   &regs->rsp, &regs->rbp, &regs->rsi, &regs->rdi,
						   &regs->r8,  &regs->r9,  &regs->r10, &regs->r11,
						   &regs->r12, &regs->r13, &regs->r14, &regs->r15};
	return by_number[number & 15];
}

#define STATUS_FLAGS 0x8d5u /* CF PF AF ZF SF OF */

/* Which status flags the code from pc on may read before it has rewritten them. */
uint32_t flags_live_at(const struct lockstep *lockstep, uint64_t pc);

/* ---- how much is tried ---- */

/* Whether RFPROF_SLOW asks for more than the default. */
bool lockstep_is_slow_run(void);
/* RFPROF_SEED, or one by default: the same each time, but in a slow run, which looks at other code
 * each time. */
uint64_t lockstep_seed(void);

/* ---- the child, lockstep_child.c ---- */

#define TRAPS_SIZE 8192 /* the traps, and behind them the gate */
enum { TRAP_MISS = 0, TRAP_INDIRECT = 16, TRAP_COLLIDE = 32, TRAP_SYSCALL = 48, TRAP_RETURN = 64 };

bool lockstep_start_child(struct lockstep *lockstep);
void lockstep_stop_child(struct lockstep *lockstep);
/* Each returns the signal that stopped the child again, 0 when it is stuck or gone. */
int lockstep_step(struct lockstep *lockstep);
int lockstep_resume(struct lockstep *lockstep);
bool lockstep_get_regs(struct lockstep *lockstep, struct user_regs_struct *regs);
bool lockstep_set_regs(struct lockstep *lockstep, const struct user_regs_struct *regs);
bool lockstep_get_xstate(struct lockstep *lockstep, uint8_t *xstate);
bool lockstep_set_xstate(struct lockstep *lockstep, const uint8_t *xstate);

/* ---- the image, lockstep_image.c ---- */

static inline bool in_range(const struct range *range, uint64_t address)
{
	return address - range->start < range->end - range->start;
}

/* Bytes of executable code from pc on; 0: not executable. */
size_t lockstep_code_at(const struct lockstep *lockstep, uint64_t pc);
static inline uint64_t *lockstep_slot_word(const struct lockstep *lockstep, size_t offset)
{
	return (uint64_t *)(lockstep->slot + offset);
}

/* A word that random code can make something of: a pointer, an address of code, a number. */
uint64_t lockstep_plausible_word(struct lockstep *lockstep);

/* Offsets in the xsave area of components 0…9 (0: this processor has none). */
uint32_t lockstep_component(unsigned number);
