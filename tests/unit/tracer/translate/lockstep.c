/* The prediction of where translated code must leave the cache, and the comparison. */
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_reference.h"
#include "tests/unit/tracer/translate/lockstep_trace.h"

#include "base/array.h"
#include "tracer/gate/protocol.h"
#include "tracer/translate/derive.h"

#include <Zydis/Zydis.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIRECTION_FLAG 0x400u

static uint64_t
	linked_pc[2][65536]; /* what the entries of the jump and of the return table stand for */

/* ---- failures ---- */

static void __attribute__((format(printf, 2, 3)))
say(struct lockstep *lockstep, const char *format, ...)
{
	const size_t used = strlen(lockstep->failure);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(lockstep->failure + used, sizeof(lockstep->failure) - used, format, arguments);
	va_end(arguments);
}

static void say_insn(struct lockstep *lockstep, const uint8_t *bytes, uint64_t address, size_t size)
{
	ZydisDisassembledInstruction insn;
	if (!ZYAN_SUCCESS(
		    ZydisDisassembleATT(ZYDIS_MACHINE_MODE_LONG_64, address, bytes, size, &insn)))
		return;
	say(lockstep, "  %#" PRIx64 ": %s  [", address, insn.text);
	for (int i = 0; i < insn.info.length; i++)
		say(lockstep, "%s%02x", i ? " " : "", bytes[i]);
	say(lockstep, "]\n");
}

/* The last instructions of the reference up to `at`. */
static bool fail(struct lockstep *lockstep, size_t at, const char *what)
{
	say(lockstep, "%s; layout %d, image at %#" PRIx64 ", after %zu instructions:\n", what,
	    (int)lockstep->layout, lockstep->image.start, at);
	for (size_t i = at < 12 ? 0 : at - 12; i <= at && i <= reference.n; i++) {
		const uint64_t pc = reference.steps[i].regs.rip;
		size_t size = lockstep_code_at(lockstep, pc);
		if (size)
			say_insn(lockstep, (const uint8_t *)pc, pc, size);
	}
	return false;
}

/* ---- the prediction ---- */

struct prediction {
	enum lockstep_exit exit;
	bool beyond;                    /* not known: the reference ends first */
	size_t at;                      /* state of the program there */
	uint32_t block;                 /* the last one */
	uint32_t visits[MAX_STEPS + 1]; /* blocks entered */
	size_t n_visits;
};

static bool is_indirect(const struct step *step)
{
	return step->kind == STEP_INDIRECT || step->kind == STEP_CALL_INDIRECT ||
	       step->kind == STEP_RETURN;
}

/* Control arrives at step `at`; returns whether there is a block.  `by_link`: by a direct transfer,
 * which is never linked to a provisional block. */
static bool arrive(struct lockstep *lockstep, struct prediction *prediction, size_t at,
		   bool by_link)
{
	struct code_cache *cache = &lockstep->translator.cache;
	struct code_block *block = code_cache_block(cache, reference.steps[at].regs.rip);
	prediction->at = at;
	prediction->exit = EXIT_MISS;
	if (!block || (by_link && block->provisional))
		return false;
	prediction->block = (uint32_t)(block - cache->blocks);
	prediction->visits[prediction->n_visits++] = prediction->block;
	return true;
}

/* After an indirect transfer: the exit through its table, or EXITS for none. */
static enum lockstep_exit table_exit(const struct step *step, uint64_t pc)
{
	const bool returns = step->kind == STEP_RETURN;
	const uint64_t linked = linked_pc[returns][pc & 0xffff];
	if (linked && linked == pc) /* 0: nothing is linked */
		return EXITS;
	return returns ? EXIT_RETURN : linked ? EXIT_COLLIDE : EXIT_INDIRECT;
}

static bool is_writable(const struct lockstep *lockstep, uint64_t address)
{
	for (size_t i = 0; i < lockstep->n_writable; i++)
		if (in_range(&lockstep->writable[i], address) &&
		    in_range(&lockstep->writable[i], address + 7))
			return true;
	return false;
}

/* Where translated calls and returns cannot write, the tracer completes them. */
static bool can_transfer(const struct lockstep *lockstep, size_t at)
{
	const uint64_t left = reference_left_at(at);
	return !left || is_writable(lockstep, left);
}

/* Whether a block ends in a jump through the GOT that is expected to go to pc. */
static bool goes_by_got(const struct code_cache *cache, uint32_t block, uint64_t pc)
{
	for (uint32_t i = code_cache_find(cache, &cache->links_to, pc); i != NOT_THERE;
	     i = cache->links[i].next) {
		const struct link *link = &cache->links[i];
		struct piece piece;
		if (link->by_got &&
		    arena_piece_at(&cache->arenas[link->arena], link->site, &piece) &&
		    piece.block == block)
			return true;
	}
	return false;
}

/* Whether the return that ends a block goes the way of indirect jumps, as status flags matter where
 * it leads (transfer.c). */
static bool returns_by_jump(const struct code_cache *cache, uint32_t block)
{
	const struct arena *arena = &cache->arenas[cache->blocks[block].arena];
	struct piece_reader reader = piece_reader_of(&arena->pieces);
	while (piece_reader_next(&reader))
		if (reader.piece.block == block && reader.piece.kind == PIECE_RETURN)
			return false;
	return true;
}

/* Follows the reference from step `at`, at the beginning of a block, to where translated code must
 * leave the cache. */
static void predict(struct lockstep *lockstep, size_t at, struct prediction *prediction)
{
	prediction->beyond = false;
	prediction->n_visits = 0;
	if (!arrive(lockstep, prediction, at, false))
		return;
	for (;; at++) {
		const struct step *step = &reference.steps[at], *next = step + 1;
		const struct code_block *block =
			&lockstep->translator.cache.blocks[prediction->block];
		prediction->at = at;
		prediction->exit = at == reference.n ? EXIT_FAULT : EXIT_SYSCALL;
		prediction->beyond = at == reference.n && !reference.fault;
		if (at == reference.n || step->kind == STEP_SYSCALL)
			return;
		if (step->regs.rip + step->length != block->pc + block->size ||
		    (step->repeats && next->regs.rip == step->regs.rip))
			continue;
		prediction->at = at + 1;
		prediction->beyond = !can_transfer(lockstep, at);
		if (prediction->beyond)
			return;
		if (step->kind == STEP_RETURN &&
		    returns_by_jump(&lockstep->translator.cache, prediction->block))
			reference.steps[at].kind = STEP_INDIRECT;
		const bool by_got =
			goes_by_got(&lockstep->translator.cache, prediction->block, next->regs.rip);
		if (is_indirect(step) && !by_got) {
			prediction->exit = table_exit(step, next->regs.rip);
			if (prediction->exit != EXITS)
				return;
		}
		const bool by_link = by_got || (!is_indirect(step) &&
						next->regs.rip != step->regs.rip + step->length);
		if (!arrive(lockstep, prediction, at + 1, by_link))
			return;
	}
}

/* ---- the translated run ---- */

struct run {
	struct lockstep *lockstep;
	const struct lockstep_options *options;
	struct prediction prediction;
	struct user_regs_struct raw;  /* where the child stopped */
	struct user_regs_struct regs; /* the program's registers there */
	int64_t *expected;            /* executions of blocks */
	size_t n_expected;
	size_t at; /* compared up to here */
	bool ended_in_fault;
	bool abandoned; /* nothing can be compared at the end */
};

/* Which of the gate's entries was reached; EXITS: none. */
static enum lockstep_exit gate_exit(const struct lockstep *lockstep, uint64_t rip)
{
	switch (rip - 1 - (uint64_t)lockstep->traps) {
	case TRAP_MISS:
		return EXIT_MISS;
	case TRAP_INDIRECT:
		return EXIT_INDIRECT;
	case TRAP_COLLIDE:
		return EXIT_COLLIDE;
	case TRAP_SYSCALL:
		return EXIT_SYSCALL;
	case TRAP_RETURN:
		return EXIT_RETURN;
	default:
		return EXITS;
	}
}

/* Memory of the child, which is mapped here at the same place. */
static uint64_t word_at(uint64_t address)
{
	uint64_t word;
	memcpy(&word, (const void *)address, sizeof(word));
	return word;
}

/* The program's registers behind a stop in one of the gate's entries (tracer/gate/gate.S). */
static bool regs_at_gate(struct run *run, enum lockstep_exit exit)
{
	const struct lockstep *lockstep = run->lockstep;
	struct user_regs_struct *regs = &run->regs;
	*regs = run->raw;
	switch (exit) {
	case EXIT_MISS:
		regs->rax = *lockstep_slot_word(lockstep, SAVE_RAX);
		if (run->raw.rax >= lockstep->translator.cache.n_stubs)
			return false;
		regs->rip = lockstep->translator.cache.stubs[run->raw.rax].pc;
		return true;
	case EXIT_INDIRECT:
	case EXIT_COLLIDE:
		regs->rcx = *lockstep_slot_word(lockstep, G_SPILL_RCX);
		regs->rax = *lockstep_slot_word(lockstep, G_SPILL_RAX);
		regs->rip = run->raw.rcx - (exit == EXIT_COLLIDE ? run->raw.rax : 0);
		return true;
	case EXIT_RETURN:
		regs->rip = word_at(regs->rsp);
		regs->rsp += 8;
		return true;
	default: /* rcx holds the way back; both are lost in a system call anyway */
		regs->r11 = reference.steps[run->prediction.at].regs.r11;
		regs->rcx = reference.steps[run->prediction.at].regs.rcx;
		regs->rip = reference.steps[run->prediction.at].regs.rip;
		return code_cache_arena_at(&lockstep->translator.cache, run->raw.rcx) != NULL;
	}
}

/* The same for a fault, by the piece that it happened in. */
static bool regs_at_fault(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	const struct code_cache *cache = &lockstep->translator.cache;
	struct piece found;
	const struct piece *piece = code_cache_piece(cache, run->raw.rip, &found) ? &found : NULL;
	struct user_regs_struct *regs = &run->regs;
	*regs = run->raw;
	if (!piece || piece->block == NO_BLOCK)
		return false;
	const struct code_block *block = &cache->blocks[piece->block];
	const bool is_other = piece->block != run->prediction.block; /* two blocks share one call */
	if (is_other && block->pc + piece->orig != reference.steps[run->at].regs.rip)
		return false;
	regs->rip = block->pc + piece->orig;
	unsigned long long *borrowed = register_number(regs, piece->reg);
	switch ((enum piece_kind)piece->kind) {
	case PIECE_CLEAN:
	case PIECE_REP:
	case PIECE_UNITS:
		break;
	case PIECE_RESTART:
		regs->rcx = *lockstep_slot_word(lockstep, G_SPILL_RCX);
		regs->rax = *lockstep_slot_word(lockstep, G_SPILL_RAX);
		break;
	case PIECE_RETURN:
		regs->rdi = *lockstep_slot_word(lockstep, G_SPILL_RDI);
		break;
	case PIECE_FAR:
		*borrowed = *lockstep_slot_word(lockstep, G_SPILL_FAR);
		break;
	case PIECE_LOOP:
		*lockstep_slot_word(lockstep, SLOT_COUNTERS + 8ul * block->counter) = *borrowed;
		*borrowed = *lockstep_slot_word(lockstep, G_SPILL_LOOP);
		lockstep->tally.loops++;
		break;
	default:
		return false;
	}
	if (piece->spilled)
		*register_number(regs, piece->spilled - 1u) =
			*lockstep_slot_word(lockstep, G_SPILL_TRACE);
	const bool counted =
		block->counter == NO_COUNTER
			? piece->orig
			: run->raw.rip >= arena_address(&cache->arenas[0], block->counted_at);
	derive_leave(&lockstep->translator.cache, block, counted,
		     lockstep_slot_word(lockstep, SLOT_COUNTERS));
	run->expected[piece->block] -= !counted;
	return counted || !is_other;
}

static bool compare_regs(struct run *run, uint64_t flags)
{
	struct lockstep *lockstep = run->lockstep;
	struct user_regs_struct native = reference.steps[run->at].regs;
	static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
					    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
	bool same = true;
	for (unsigned i = 0; i < 16; i++) {
		uint64_t truth = *register_number(&native, i),
			 seen = *register_number(&run->regs, i);
		if (truth != seen)
			say(lockstep, "%s is %#" PRIx64 ", not %#" PRIx64 "; ", names[i], seen,
			    truth);
		same &= truth == seen;
	}
	if (native.rip != run->regs.rip)
		say(lockstep, "rip is %#llx, not %#llx; ", run->regs.rip, native.rip);
	if ((native.eflags ^ run->regs.eflags) & flags)
		say(lockstep, "flags are %#llx, not %#llx; ", run->regs.eflags, native.eflags);
	return same && native.rip == run->regs.rip && native.fs_base == run->regs.fs_base &&
	       run->regs.gs_base == (uint64_t)lockstep->slot &&
	       !((native.eflags ^ run->regs.eflags) & flags);
}

static bool is_ours(const struct lockstep *lockstep, uint64_t value)
{
	return code_cache_arena_at(&lockstep->translator.cache, value) ||
	       value - (uint64_t)lockstep->traps < TRAPS_SIZE;
}

/* After a call the program's own return address is on its stack. */
static bool has_return_address(const struct run *run)
{
	const struct step *step = &reference.steps[run->at - 1];
	if (step->kind != STEP_CALL && step->kind != STEP_CALL_INDIRECT)
		return true;
	return word_at(run->regs.rsp) == step->regs.rip + step->length;
}

/* A transfer to an address with bits that no address has faults before it is done; translated code
 * asks for the block there first. */
static bool is_beyond_canonical(const struct run *run, enum lockstep_exit exit)
{
	const struct step *step = &reference.steps[run->at];
	const int64_t target =
		(int64_t)(exit == EXIT_RETURN ? word_at(run->raw.rsp) : run->raw.rcx);
	return is_indirect(step) && target >> 47 != 0 && target >> 47 != -1;
}

/* Flags may be lost behind a jump through the GOT, and in a return to an address that has no
 * landing, in whose cell there is that of another one: what calls return to always has one
 * (landing.c). */
static bool keeps_flags(const struct run *run, enum lockstep_exit exit)
{
	if (run->at > reference_first_got(run->lockstep))
		return false;
	return exit != EXIT_RETURN || !linked_pc[true][run->regs.rip & 0xffff] ||
	       code_cache_landing(&run->lockstep->translator.cache, run->regs.rip);
}

/* Runs translated code from the child's registers to the predicted exit and compares there. */
static bool run_to_exit(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	const enum lockstep_exit predicted = run->prediction.exit;
	for (size_t i = 0; i < run->prediction.n_visits; i++)
		run->expected[run->prediction.visits[i]]++;
	run->at = run->prediction.at;
	int number = lockstep_resume(lockstep);
	if (!number || !lockstep_get_regs(lockstep, &run->raw))
		return fail(lockstep, run->at, "translated code does not come back");
	enum lockstep_exit exit = number == SIGTRAP ? gate_exit(lockstep, run->raw.rip) : EXITS;
	if (exit == EXITS)
		exit = EXIT_FAULT;
	if (predicted == EXIT_FAULT && (exit == EXIT_INDIRECT || exit == EXIT_RETURN) &&
	    is_beyond_canonical(run, exit)) {
		run->abandoned = true;
		return true;
	}
	if (exit != predicted || (exit == EXIT_FAULT && number != reference.fault)) {
		say(lockstep, "exit %d by signal %d at %#llx, not %d by signal %d; ", exit, number,
		    run->raw.rip, predicted, reference.fault);
		return fail(lockstep, run->at, "left the cache elsewhere");
	}
	if (!(exit == EXIT_FAULT ? regs_at_fault(run) : regs_at_gate(run, exit))) {
		say(lockstep, "stopped at %#llx; ", run->raw.rip);
		return fail(lockstep, run->at, "the program's state cannot be told");
	}
	const uint64_t flags = keeps_flags(run, exit) ? flags_live_at(lockstep, run->regs.rip) : 0;
	if (!compare_regs(run, DIRECTION_FLAG | flags))
		return fail(lockstep, run->at, "registers differ");
	if (exit != EXIT_FAULT && run->at && !has_return_address(run))
		return fail(lockstep, run->at, "the return address on the stack is wrong");
	lockstep->tally.exits[exit]++;
	const size_t n = strlen(lockstep->path);
	if (n + 1 < sizeof(lockstep->path))
		lockstep->path[n] = "MICSRF"[exit];
	run->ended_in_fault = exit == EXIT_FAULT;
	return true;
}

/* ---- what the server does ---- */

static uint64_t linked_keys[2 * 65536];
static size_t n_linked_keys;

static uint64_t *linked(uint64_t key)
{
	return &linked_pc[key >> RETURN_KEY_BIT][key & 0xffff];
}

static uint64_t *cell_of(const struct lockstep *lockstep, uint64_t key)
{
	return lockstep_slot_word(lockstep, (key & RETURN_KEY ? SLOT_RETURNS : SLOT_JUMPS) +
						    8 * (key & 0xffff));
}

static void link_entry(struct lockstep *lockstep, uint64_t key, uint64_t entry)
{
	if (!*linked(key))
		linked_keys[n_linked_keys++] = key;
	*linked(key) = key & ~RETURN_KEY;
	*cell_of(lockstep, key) = entry;
}

/* Whatever is linked in the key's cell: a thread's cell is cleared for all that share it. */
static void unlink_entry(struct lockstep *lockstep, uint64_t key)
{
	*linked(key) = 0;
	*cell_of(lockstep, key) =
		(uint64_t)lockstep->traps + (key & RETURN_KEY ? TRAP_RETURN : TRAP_INDIRECT);
}

static void unlink_entries(struct lockstep *lockstep)
{
	while (n_linked_keys)
		unlink_entry(lockstep, linked_keys[--n_linked_keys]);
}

static void link_new_entries(struct run *run)
{
	struct translator *translator = &run->lockstep->translator;
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *new = &translator->new_entries[i];
		if (!new->entry)
			unlink_entry(run->lockstep, new->key);
		else if (run->options->link_indirect ||
			 *linked(new->key) == (new->key & ~RETURN_KEY))
			link_entry(run->lockstep, new->key, new->entry);
	}
	translator->n_new_entries = 0;
}

/* Goes on through the checking entry, as the gate does when it finds one in its table. */
static uint64_t answer_indirect(struct run *run, uint64_t pc, const char **why)
{
	struct lockstep *lockstep = run->lockstep;
	const bool returns = run->prediction.exit == EXIT_RETURN;
	const uint64_t entry = returns ? translate_landing(&lockstep->translator, pc, why)
				       : translate_entry(&lockstep->translator, pc, why);
	if (!entry)
		return 0;
	if (!returns || run->options->link_indirect)
		link_entry(lockstep, returns ? pc | RETURN_KEY : pc, entry);
	if (returns)
		run->regs.rsp -= 8;
	else
		run->regs.rcx = pc;
	return entry;
}

static bool add_hot(struct hot_code *hot, uint64_t pc, bool has_entry)
{
	const struct hot_block block = {pc, has_entry};
	return rf_array_push(hot->blocks, hot->n_blocks, hot->cap_blocks, block);
}

/* Some of the blocks that the reference comes to are hot, as chance has it. */
static bool choose_hot(struct lockstep *lockstep)
{
	struct hot_code *hot = &lockstep->translator.hot;
	bool begins = true, ok = true;
	for (size_t i = 0; i < reference.n && ok; i++) {
		const struct step *step = &reference.steps[i];
		const uint64_t pc = step->regs.rip, random = lockstep_random(lockstep);
		if (begins && random % 4 && !hot_code_weight(hot, pc))
			ok = u64_map_set(&hot->weights, pc, 1 + (random >> 8) % HOT_MOST) &&
			     add_hot(hot, pc, random >> 24 & 1);
		begins = step[1].regs.rip != pc + step->length || random >> 16 & 1;
	}
	return ok;
}

/* Now and then others are hot than before, while the program waits for an answer. */
static bool heat_again(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	if (!run->options->is_hot || run->prediction.exit == EXIT_SYSCALL ||
	    lockstep_random(lockstep) % 8)
		return true;
	hot_code_deinit(&lockstep->translator.hot);
	if (!choose_hot(lockstep))
		return false;
	translate_hot_anew(&lockstep->translator);
	link_new_entries(run);
	return true;
}

/* Answers the exit just compared; returns false when the program would go on natively. */
static bool answer(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	if (!heat_again(run))
		return false;
	const uint64_t pc = run->regs.rip;
	const char *why = NULL;
	uint64_t go_on = 0, stub_pc;
	switch (run->prediction.exit) {
	case EXIT_MISS:
		go_on = translate_stub(&lockstep->translator, run->raw.rax, &stub_pc, &why);
		break;
	case EXIT_INDIRECT:
	case EXIT_COLLIDE:
	case EXIT_RETURN:
		go_on = answer_indirect(run, pc, &why);
		break;
	case EXIT_SYSCALL:
		reference_pretend_syscall(&run->regs);
		run->regs.rcx = 0xdead;
		go_on = run->raw.rcx;
		run->at++;
		break;
	default:
		break;
	}
	run->regs.rip = go_on;
	run->regs.orig_rax = (unsigned long long)-1;
	link_new_entries(run);
	return go_on && lockstep_set_regs(lockstep, &run->regs);
}

/* ---- the comparison at the end ---- */

/* The word at `address`, which need not be aligned, as translated code has left it.  False outside.
 */
static bool translated_word(const struct lockstep *lockstep, uint64_t address, uint64_t *word)
{
	for (size_t i = 0; i < lockstep->n_writable; i++) {
		const uint64_t start = lockstep->writable[i].start;
		if (address < start || address + 8 > lockstep->writable[i].end)
			continue;
		memcpy(word, lockstep->translated[i] + (address - start), 8);
		return true;
	}
	return false;
}

/* Which bytes of the word that the return or call of step `i` wrote below the stack pointer are
 * those of a cache address; random code may have written a part of the word since. */
static uint64_t left_bytes(const struct run *run, size_t i)
{
	struct lockstep *lockstep = run->lockstep;
	struct code_cache *cache = &lockstep->translator.cache;
	const struct step *step = &reference.steps[i];
	const bool returns = step->kind == STEP_RETURN;
	const uint64_t pc = returns ? step[1].regs.rip : step->regs.rip + step->length;
	const struct landing *landing = code_cache_landing(cache, pc);
	uint64_t left = *cell_of(lockstep, pc | RETURN_KEY), seen, same = 0;
	if (!translated_word(lockstep, reference_left_at(i), &seen))
		return 0;
	if (is_ours(lockstep, seen))
		return UINT64_MAX;
	if (!returns)
		left = landing ? arena_address(&cache->arenas[landing->arena], landing->at) : 0;
	const uint64_t unlinked =
		(uint64_t)lockstep->traps + TRAP_RETURN; /* what the cell held before */
	for (unsigned bit = 0; bit < 64; bit += 8)
		if (!((seen ^ left) >> bit & 0xff) || !((seen ^ unlinked) >> bit & 0xff))
			same |= 0xffull << bit;
	return same;
}

/* Whether each byte that differs in the word at `address` is one of a cache address that a return
 * or a call has left there. */
static bool is_left(const struct run *run, uint64_t address, uint64_t different)
{
	for (size_t i = 0; i < run->at; i++) {
		const uint64_t at = reference_left_at(i);
		if (!at || at + 7 < address || at > address + 7)
			continue;
		const uint64_t bytes = left_bytes(run, i);
		different &=
			~(at < address ? bytes >> 8 * (address - at) : bytes << 8 * (at - address));
	}
	return !different;
}

static bool compare_memory(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	for (size_t i = 0; i < lockstep->n_writable; i++) {
		const uint64_t start = lockstep->writable[i].start,
			       size = lockstep->writable[i].end - start;
		if (!memcmp(lockstep->native[i], lockstep->translated[i], size))
			continue;
		for (uint64_t at = 0; at < size; at += 8) {
			uint64_t truth, seen;
			memcpy(&truth, lockstep->native[i] + at, 8);
			memcpy(&seen, lockstep->translated[i] + at, 8);
			if (truth == seen || is_left(run, start + at, truth ^ seen))
				continue;
			say(lockstep, "at %#" PRIx64 ": %#" PRIx64 ", not %#" PRIx64 "; ",
			    start + at, seen, truth);
			return fail(lockstep, run->at, "memory differs");
		}
	}
	return true;
}

/* The x87's last instruction and operand (bytes 6 to 23) show where the copy lies; bytes 464 on
 * and the header are the kernel's. */
static bool compare_xstate(struct run *run, const uint8_t *native, const uint8_t *translated)
{
	for (size_t i = 0; i < run->lockstep->xstate_size; i++) {
		if ((i >= 6 && i < 24) || (i >= 464 && i < 576) || native[i] == translated[i])
			continue;
		say(run->lockstep, "xsave area byte %zu is %#x, not %#x; ", i, translated[i],
		    native[i]);
		return fail(run->lockstep, run->at, "vector registers differ");
	}
	return true;
}

static bool compare_counters(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	const struct code_cache *cache = &lockstep->translator.cache;
	int64_t *seen = malloc(cache->n_blocks * sizeof(*seen) + 1);
	if (!seen || !derive_executions(cache, lockstep_slot_word(lockstep, SLOT_COUNTERS), seen))
		return fail(lockstep, run->at, "memory is short");
	size_t i = 0;
	while (i < run->n_expected && seen[i] == run->expected[i])
		i++;
	if (i < run->n_expected)
		say(lockstep, "block %zu%s was counted %" PRId64 " times, not %" PRId64 "; ", i,
		    cache->blocks[i].counter == NO_COUNTER ? ", derived," : "", seen[i],
		    run->expected[i]);
	free(seen);
	return i == run->n_expected ||
	       fail(lockstep, run->at, "blocks were not counted as often as they ran");
}

static uint64_t units_counted(const struct lockstep *lockstep, uint64_t pc)
{
	const struct code_cache *cache = &lockstep->translator.cache;
	uint64_t n = 0;
	for (size_t i = 0; i < cache->n_units; i++)
		if (cache->units[i].kind == UNIT_WORK &&
		    (!pc || cache->units[i].module_offset == pc - lockstep->image.start))
			n += *lockstep_slot_word(lockstep,
						 SLOT_COUNTERS + 8ul * cache->units[i].counter);
	return n;
}

/* All units, and those of each instruction that has some. */
static bool compare_units(struct run *run)
{
	struct lockstep *lockstep = run->lockstep;
	const size_t n = run->at + run->ended_in_fault;
	uint64_t total = 0;
	for (size_t i = 0; i < n; i++) {
		const struct step *step = &reference.steps[i];
		uint64_t truth = 0;
		if (!step->has_units)
			continue;
		for (size_t j = 0; j < n; j++)
			if (reference.steps[j].regs.rip == step->regs.rip)
				truth += reference.steps[j].units;
		uint64_t seen = units_counted(lockstep, step->regs.rip);
		total += step->units;
		lockstep->tally.unit_insns++;
		if (seen == truth)
			continue;
		say(lockstep, "at %#llx %" PRIu64 " units, not %" PRIu64 "; ", step->regs.rip, seen,
		    truth);
		return fail(lockstep, run->at, "units differ");
	}
	return total == units_counted(lockstep, 0) ||
	       fail(lockstep, run->at, "units of instructions that did not run");
}

static bool compare_end(struct run *run, const struct lockstep_state *start)
{
	static uint8_t native[LOCKSTEP_XSTATE_MAX], translated[LOCKSTEP_XSTATE_MAX];
	struct lockstep *lockstep = run->lockstep;
	if (!lockstep_get_xstate(lockstep, translated))
		return fail(lockstep, run->at, "the child is gone");
	reference_keep_memory(lockstep, lockstep->translated);
	const struct code_block *last =
		run->ended_in_fault ? &lockstep->translator.cache.blocks[run->prediction.block]
				    : NULL;
	if (!lockstep_trace_compare(lockstep, run->at, last))
		return fail(lockstep, run->at, "accesses differ");
	if (!compare_counters(run) || !compare_units(run))
		return false;
	if (!reference_replay(lockstep, start, run->at, native))
		return fail(lockstep, run->at, "the reference does not repeat itself");
	return compare_memory(run) && compare_xstate(run, native, translated);
}

/* ---- a run ---- */

/* Blocks translated since have not run yet. */
static bool make_expected(struct run *run)
{
	const size_t n = run->lockstep->translator.cache.n_blocks;
	int64_t *expected = realloc(run->expected, (n + 1) * sizeof(*expected));
	if (!expected)
		return false;
	run->expected = expected;
	for (; run->n_expected < n; run->n_expected++)
		run->expected[run->n_expected] = 0;
	return true;
}

static void reset_cache(struct lockstep *lockstep)
{
	struct code_cache *cache = &lockstep->translator.cache;
	const struct arena arena = cache->arenas[0];
	memset(arena.host, 0, arena.used);
	code_cache_deinit(cache);
	hot_code_deinit(&lockstep->translator.hot);
	code_cache_add_arena(cache, arena.base, arena.host, arena.size);
}

static bool run_translated(struct run *run, const struct lockstep_state *start)
{
	struct lockstep *lockstep = run->lockstep;
	const char *why = NULL;
	if (run->options->is_hot) {
		if (!choose_hot(lockstep))
			return fail(lockstep, 0, "memory is short");
		translate_hot(&lockstep->translator);
	}
	bool ok = true, compared = false;
	uint64_t whole = 0;
	run->regs = start->regs;
	run->regs.rip = translate_body(&lockstep->translator, start->regs.rip, &why);
	lockstep->refused = run->regs.rip ? NULL : why;
	if (!run->regs.rip)
		return true;
	if (run->options->collide_with)
		link_entry(lockstep, run->options->collide_with,
			   translate_entry(&lockstep->translator, run->options->collide_with,
					   &why));
	link_new_entries(run);
	reference_put_initial(lockstep, start);
	lockstep_set_regs(lockstep, &run->regs);
	for (bool go_on = true; ok && go_on && make_expected(run);) {
		size_t before = run->at;
		predict(lockstep, run->at, &run->prediction);
		if (run->prediction.beyond)
			break;
		ok = run_to_exit(run);
		compared |= ok && !run->abandoned;
		lockstep->tally.blocks += ok ? run->prediction.n_visits : 0;
		whole += run->prediction.n_visits - run->ended_in_fault;
		lockstep->tally.insns += run->at - before;
		go_on = ok && !run->abandoned && answer(run);
	}
	lockstep->tally.runs += compared;
	if (!ok || !compared || run->abandoned)
		return ok;
	lockstep->tally.whole_blocks += whole;
	return make_expected(run) && compare_end(run, start);
}

bool lockstep_run(struct lockstep *lockstep, const struct lockstep_state *start,
		  const struct lockstep_options *options)
{
	struct translator *translator = &lockstep->translator;
	struct run *run = calloc(1, sizeof(*run));
	lockstep->failure[0] = '\0';
	memset(lockstep->path, 0, sizeof(lockstep->path));
	if (!run || (!lockstep->child && !lockstep_start_child(lockstep)))
		return fail(lockstep, 0, "no child process");
	run->lockstep = lockstep;
	run->options = options;
	translator->batch_insns = options->batch_insns;
	translator->quiet = !options->busy;
	translator->loop_is_slow = lockstep_random(lockstep) % 2;
	unlink_entries(lockstep);
	memset(lockstep->slot + SLOT_COUNTERS, 0, 8ul * translator->cache.n_counters);
	if (translator->cache.n_blocks > 2000)
		reset_cache(lockstep);
	lockstep_trace_begin(lockstep);
	bool ok =
		reference_record(lockstep, start,
				 options->max_steps < MAX_STEPS ? options->max_steps : MAX_STEPS) ||
		fail(lockstep, reference.n, "the child is stuck in the reference");
	reference_end_at_left(lockstep);
	const size_t got = reference_first_got(lockstep);
	if (options->is_random && got < reference.n) {
		reference.n = got;
		reference.fault = 0;
	}
	ok = ok && run_translated(run, start);
	free(run->expected);
	free(run);
	return ok;
}

/* ---- how much is tried ---- */

bool lockstep_is_slow_run(void)
{
	const char *slow = getenv("RFPROF_SLOW");
	return slow && strcmp(slow, "0") != 0;
}

uint64_t lockstep_seed(void)
{
	const char *given = getenv("RFPROF_SEED");
	if (given)
		return strtoull(given, NULL, 0);
	return lockstep_is_slow_run() ? (uint64_t)time(NULL) : 1;
}
