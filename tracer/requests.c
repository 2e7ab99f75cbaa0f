#include "tracer/requests.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_SET_GS 0x1001
#define ARCH_GET_GS 0x1004
#define FIRST_TABLE_CELLS (1u << 14)

/* As the gate reads it (gate_look_up). */
struct code_table {
	uint64_t mask, unused;
	struct { uint64_t key, entry; } cells[];
};

/* ---- the table of entries for indirect transfers ----
 *
 * The program can write the slots and the process area: what is read back from there is never
 * trusted.  So the mask that counts here is the target's own. */

static uint64_t cell_hash(uint64_t key)
{
	return (key * 0x2545f491u) >> 9;
}

static struct code_table *new_table(struct target *target, uint64_t n_cells)
{
	struct code_table *table = (struct code_table *)(target->slots + target->tables_end);
	uint64_t size = sizeof(*table) + n_cells * sizeof(table->cells[0]);
	if (target->tables_end + size > SLOT_STRIDE)
		return NULL;
	target->tables_end += (size + 4095) & ~4095ull;
	target->table_used = 0;
	target->table_mask = n_cells - 1;
	table->mask = target->table_mask;
	return table;
}

static void table_place(struct target *target, struct code_table *table, uint64_t key,
			uint64_t entry)
{
	const uint64_t mask = target->table_mask, first = cell_hash(key);
	for (uint64_t n = 0; n <= mask; n++) {
		const uint64_t i = (first + n) & mask;
		const uint64_t there = __atomic_load_n(&table->cells[i].key, __ATOMIC_RELAXED);
		if (there && there != key)
			continue;
		target->table_used += !there;
		__atomic_store_n(&table->cells[i].entry, entry, __ATOMIC_RELEASE);
		__atomic_store_n(&table->cells[i].key, key, __ATOMIC_RELEASE);
		return;
	}
}

static void show_table(struct target *target, struct code_table *table)
{
	uint64_t address = target->slots_address + (uint64_t)((uint8_t *)table - target->slots);
	target->table = table;
	__atomic_store_n((uint64_t *)(target->slots + P_TABLE), address, __ATOMIC_RELEASE);
}

static void table_set(struct target *target, uint64_t key, uint64_t entry)
{
	struct code_table *old = target->table;
	const uint64_t old_mask = target->table_mask;
	if (target->table_used * 2 > old_mask) {
		struct code_table *bigger = new_table(target, (old_mask + 1) * 4);
		if (!bigger)
			return; /* full: this target asks each time */
		for (uint64_t i = 0; i <= old_mask; i++)
			if (old->cells[i].entry)
				table_place(target, bigger, old->cells[i].key, old->cells[i].entry);
		table_place(target, bigger, key, entry);
		show_table(target, bigger);
		return;
	}
	table_place(target, old, key, entry);
}

/* The cell of a thread's own table for that key, and what it holds when it holds no entry. */
static uint64_t *thread_cell(struct target *target, int slot, uint64_t key)
{
	const size_t table = key & RETURN_KEY ? SLOT_RETURNS : SLOT_JUMPS;
	return slot_u64(target->slots + (uint64_t)slot * SLOT_STRIDE, table + 8 * (key & 0xffff));
}

static uint64_t no_entry(const struct target *target, uint64_t key)
{
	return target_gate(target, key & RETURN_KEY ? gate_return : gate_indirect);
}

static void clear_cells(struct target *target, uint64_t key)
{
	for (int slot = 1; slot < target->n_slots; slot++)
		__atomic_store_n(thread_cell(target, slot, key), no_entry(target, key),
				 __ATOMIC_RELEASE);
}

/* Returns, above all, then find their way without asking. */
static void show_new_entries(struct target *target)
{
	struct translator *translator = &target->translator;
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *new = &translator->new_entries[i];
		table_set(target, new->key, new->entry);
		if (new->replaces)
			clear_cells(target, new->key);
	}
	translator->n_new_entries = 0;
}

/* Makes all entries of [start, end) unreachable. */
static void forget_entries(struct target *target, uint64_t start, uint64_t end)
{
	for (uint64_t i = 0; i <= target->table_mask; i++) {
		uint64_t pc = target->table->cells[i].key & ~RETURN_KEY;
		if (pc >= start && pc < end)
			__atomic_store_n(&target->table->cells[i].entry, 0, __ATOMIC_RELEASE);
	}
	for (uint64_t low = 0; low < 65536; low++) {
		clear_cells(target, low);
		clear_cells(target, low | RETURN_KEY);
	}
}

/* ---- system calls that need a look before they run ---- */

/* Where the kernel saves the program counter of an interrupted thread, above the stack pointer at
 * rt_sigreturn: struct ucontext in <asm/sigcontext.h>. */
#define SIGFRAME_RIP 0xa8

static const uint16_t watched[] = {
	SYS_mmap,	  SYS_munmap, SYS_mremap,     SYS_mprotect, SYS_pkey_mprotect,
	SYS_rt_sigreturn, SYS_rseq,   SYS_arch_prctl, SYS_seccomp,  SYS_prctl,
};

void requests_init(struct target *target)
{
	uint8_t *systab = target->slots + P_SYSTAB;
	memset(systab, 1, 1024);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		systab[watched[i]] = 0;
	target->tables_end = P_TABLES;
	show_table(target, new_table(target, FIRST_TABLE_CELLS));
}

/* The code in the pages of [start, start + size) may be something else after this call. */
static void code_may_change(struct target *target, uint64_t start, uint64_t size)
{
	const uint64_t end = (start + size + 4095) & ~4095ull;
	if (program_memory_forget(&target->memory, start & ~4095ull, end) &&
	    translate_invalidate(&target->translator, start, end))
		forget_entries(target, start, end);
}

static void resume_where_interrupted(struct target *target, uint64_t frame)
{
	uint64_t pc;
	const char *why = NULL;
	if (!program_memory_read(&target->memory, frame + SIGFRAME_RIP, &pc, sizeof(pc)))
		return;
	uint64_t body = target->native ? 0 : translate_body(&target->translator, pc, &why);
	if (body)
		program_memory_write(&target->memory, frame + SIGFRAME_RIP, &body, sizeof(body));
	else if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
}

static void give_up(struct target *target, const char *why)
{
	profile_add_uncounted(target->profile, PROFILE_NONE, why);
	profile_native_process(target->profile, target->pid, why);
	profile_set_fact(target->profile, "counts_incomplete", "%s", why);
	target->native = true;
}

/* Decides how a watched system call goes on.  Returns the cache address to go on at. */
static uint64_t answer_syscall(struct target *target, uint8_t *slot)
{
	const uint64_t number = *slot_u64(slot, SAVE_RAX);
	const uint64_t a = *slot_u64(slot, SAVE_RDI), b = *slot_u64(slot, SAVE_RSI);
	const uint64_t behind = target_behind_syscall(target, *slot_u64(slot, G_SYSRET));
	switch (number) {
	case SYS_mmap:
		if (*slot_u64(slot, SAVE_R10) & MAP_FIXED)
			code_may_change(target, a, b);
		break;
	case SYS_mremap:
		if (*slot_u64(slot, SAVE_R10) & MREMAP_FIXED)
			code_may_change(target, *slot_u64(slot, SAVE_R8), *slot_u64(slot, SAVE_RDX));
		code_may_change(target, a, b);
		break;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		code_may_change(target, a, b);
		break;
	case SYS_rt_sigreturn:
		resume_where_interrupted(target, *slot_u64(slot, SAVE_RSP));
		break;
	case SYS_rseq: /* copied code is not restartable; glibc does without */
		*slot_u64(slot, SAVE_RAX) = (uint64_t)-ENOSYS;
		return *slot_u64(slot, G_SYSRET);
	case SYS_arch_prctl:
		if (a == ARCH_SET_GS || a == ARCH_GET_GS)
			give_up(target, "the program uses the GS segment");
		break;
	case SYS_seccomp:
		give_up(target, "the program sets up a seccomp sandbox");
		break;
	case SYS_prctl:
		if (a == PR_SET_SECCOMP)
			give_up(target, "the program sets up a seccomp sandbox");
		break;
	default:
		break;
	}
	if (target->native && number != SYS_rt_sigreturn)
		return behind - 2;
	return target_gate(target, gate_do_syscall);
}

/* ---- requests ---- */

/* Returns the cache address to go on at, or the program's own address to go on natively.  What is
 * no stub's request is taken as one for the address that it holds: nobody but a program that writes
 * into its slot asks so. */
static uint64_t answer_transfer(struct target *target, int slot, uint32_t type, uint64_t argument)
{
	const struct code_cache *cache = &target->translator.cache;
	const bool is_stub = type == REQ_MISS && argument < cache->n_stubs;
	const uint64_t pc = is_stub ? cache->stubs[argument].pc : argument;
	const char *why = NULL;
	uint64_t ignored, body = 0, entry = 0;
	if (target->native)
		return pc;
	if (is_stub)
		body = translate_stub(&target->translator, argument, &ignored, &why);
	else if (type == REQ_RETURN)
		entry = translate_landing(&target->translator, pc, &why);
	else
		entry = translate_entry(&target->translator, pc, &why);
	if (entry)
		body = translate_body(&target->translator, pc, &why);
	if (!body) {
		uint32_t module;
		uint64_t offset;
		program_memory_locate(&target->memory, pc, &module, &offset);
		profile_add_uncounted(target->profile, module, why);
		profile_native_thread(target->profile, target->slot_of[slot].thread, why);
		if (why != why_not_executable)
			profile_set_fact(target->profile, "counts_incomplete", "%s", why);
		return pc;
	}
	show_new_entries(target);
	if (entry)
		*thread_cell(target, slot, type == REQ_RETURN ? pc | RETURN_KEY : pc) = entry;
	return body;
}

void target_answer(struct target *target, int index)
{
	uint8_t *slot = target->slots + (uint64_t)index * SLOT_STRIDE;
	uint32_t *state = (uint32_t *)(target->slots + P_STATES) + index;
	uint32_t seen = __atomic_load_n(state, __ATOMIC_ACQUIRE);
	if (seen != STATE_REQUESTED && seen != STATE_SLEEPING)
		return;
	const uint32_t type = (uint32_t)*slot_u64(slot, G_REQ_TYPE);
	*slot_u64(slot, G_JUMP) =
		type == REQ_SYSCALL
			? answer_syscall(target, slot)
			: answer_transfer(target, index, type, *slot_u64(slot, G_REQ_ARG));
	if (__atomic_exchange_n(state, STATE_DONE, __ATOMIC_SEQ_CST) == STATE_SLEEPING)
		syscall(SYS_futex, state, FUTEX_WAKE, 1, NULL, NULL, 0);
}
