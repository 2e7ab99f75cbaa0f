/* Tells late ticks by the program's registers.
 *
 * Behind a system call RCX is the address that it returns to (the instruction `syscall`).  Behind a
 * fault the flag RF is set until the instruction has been done that faulted: the processor sets it
 * in the flags that a fault saves, and clears it behind each instruction (resume flag in AMD64
 * Architecture Programmer's Manual 2 and Intel SDM 3).  So a tick that finds the program
 * there came before it could go on.
 *
 * Instructions that are repeated are another matter: RF stays set to their end, and processors of
 * Intel set it, too, when they are interrupted.  They are the kernel's where they were seen to
 * fault, and stand at the beginning of a page.  One in 64 samples of the instruction's own work may
 * stand there, too. */
#include "tracer/timed/late_ticks.h"

#include "base/u64_map.h"

#include <stdlib.h>
#include <sys/uio.h>

#define RESUMES (1u << 16) /* RF */

enum { PAGE = 4096, LONGEST = 8 };

/* What is known of an instruction: a value of the map. */
enum { PLAIN, REPEATED, FAULTS };

struct late_ticks {
	struct u64_map of_place;
};

struct late_ticks *late_ticks_create(void)
{
	return calloc(1, sizeof(struct late_ticks));
}

void late_ticks_destroy(struct late_ticks *ticks)
{
	if (!ticks)
		return;
	u64_map_deinit(&ticks->of_place);
	free(ticks);
}

/* Whether a string instruction with a prefix to repeat it begins there (opcodes 6c to 6f, a4 to a7,
 * aa to af). */
static bool is_repeated(const uint8_t *code, size_t size)
{
	bool repeats = false;
	for (size_t i = 0; i < size; i++) {
		const uint8_t byte = code[i];
		if (byte == 0xf2 || byte == 0xf3)
			repeats = true;
		else if (byte != 0x66 && byte != 0x67 && byte >> 4 != 4)
			return repeats && ((byte & 0xfc) == 0x6c || (byte & 0xfc) == 0xa4 ||
					   (byte >= 0xaa && byte <= 0xaf));
	}
	return false;
}

/* What is known of the instruction of a sample; NULL: it cannot be read, or memory is short. */
static uint32_t *instruction(struct late_ticks *ticks, const struct perf_record *record)
{
	const uint64_t ip = record->regs.ip, key = (ip ^ (uint64_t)record->pid << 47) | !ip;
	uint32_t *known = u64_map_find(&ticks->of_place, key);
	uint8_t code[LONGEST] = {0};
	struct iovec to = {code, sizeof(code)};
	/* fewer bytes are read where the mapping ends */
	const struct iovec from = {(void *)(uintptr_t)ip, sizeof(code)};
	if (known)
		return known;
	const ssize_t n = process_vm_readv((pid_t)record->pid, &to, 1, &from, 1, 0);
	if (n <= 0 ||
	    !u64_map_set(&ticks->of_place, key, is_repeated(code, (size_t)n) ? REPEATED : PLAIN))
		return NULL;
	return u64_map_find(&ticks->of_place, key);
}

void late_ticks_add_fault(struct late_ticks *ticks, const struct perf_record *fault)
{
	uint32_t *known = fault->has_regs ? instruction(ticks, fault) : NULL;
	if (known && *known == REPEATED)
		*known = FAULTS;
}

enum late_tick late_ticks_tell(struct late_ticks *ticks, const struct perf_record *sample)
{
	if (!sample->has_regs)
		return LATE_NOT;
	if (sample->cx == sample->regs.ip)
		return LATE_CALL;
	if (!(sample->flags & RESUMES))
		return LATE_NOT;
	const uint32_t *known = instruction(ticks, sample);
	if (!known || *known == REPEATED || (*known == FAULTS && sample->di % PAGE))
		return LATE_NOT;
	return LATE_FAULT;
}
