/* Samples of this process at instructions that are made here. */
#include "tracer/timed/late_ticks.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RF = 1 << 16, PAGE = 4096 };

/* Each is read with some bytes behind it. */
static const uint8_t store[16] = {0xc6, 0x01, 0x01};      /* movb $1, (%rcx) */
static const uint8_t load[16] = {0xf3, 0x0f, 0x6f, 0x06}; /* movdqu (%rsi), %xmm0 */
static const uint8_t set[16] = {0xf3, 0xaa};              /* rep stosb */
static const uint8_t copy[16] = {0x66, 0xf3, 0x48, 0xa5}; /* rep movsq */
static const uint8_t once[16] = {0x48, 0xab};             /* stosq */

static struct perf_record at(const void *code, uint64_t flags, uint64_t di)
{
	return (struct perf_record){.type = PERF_RECORD_SAMPLE,
				    .misc = PERF_RECORD_MISC_USER,
				    .pid = (uint32_t)getpid(),
				    .has_regs = true,
				    .regs = {.ip = (uint64_t)(uintptr_t)code},
				    .flags = flags,
				    .di = di};
}

static enum late_tick told(struct late_ticks *ticks, const void *code, uint64_t flags, uint64_t di)
{
	const struct perf_record record = at(code, flags, di);
	return late_ticks_tell(ticks, &record);
}

Test(late_ticks, by_the_flag)
{
	struct late_ticks *ticks = late_ticks_create();
	cr_assert_eq(told(ticks, store, 0x246, 5), LATE_NOT);
	cr_assert_eq(told(ticks, store, 0x246 | RF, 5), LATE_FAULT);
	cr_assert_eq(told(ticks, store, 0x246, 5), LATE_NOT, "told before, but without the flag");
	cr_assert_eq(told(ticks, load, RF, 5), LATE_FAULT, "f3 begins other instructions, too");
	cr_assert_eq(told(ticks, once, RF, 5), LATE_FAULT, "not repeated");
	late_ticks_destroy(ticks);
}

Test(late_ticks, system_calls)
{
	struct late_ticks *ticks = late_ticks_create();
	struct perf_record record = at(store, RF, 0);
	record.cx = record.regs.ip;
	cr_assert_eq(late_ticks_tell(ticks, &record), LATE_CALL);
	record.has_regs = false;
	cr_assert_eq(late_ticks_tell(ticks, &record), LATE_NOT);
	late_ticks_destroy(ticks);
}

static void check_repeated(const void *code)
{
	struct late_ticks *ticks = late_ticks_create();
	const struct perf_record fault = at(code, RF, 0);
	cr_assert_eq(told(ticks, code, RF, 7 * PAGE), LATE_NOT, "never seen to fault");
	late_ticks_add_fault(ticks, &fault);
	cr_assert_eq(told(ticks, code, RF, 7 * PAGE), LATE_FAULT);
	cr_assert_eq(told(ticks, code, RF, 7 * PAGE + 64), LATE_NOT, "within a page");
	cr_assert_eq(told(ticks, code, 0, 7 * PAGE), LATE_NOT);
	late_ticks_destroy(ticks);
}

Test(late_ticks, repeated_at_the_beginning_of_a_page)
{
	check_repeated(set);
	check_repeated(copy);
}

Test(late_ticks, code_that_is_gone)
{
	struct late_ticks *ticks = late_ticks_create();
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(page, MAP_FAILED);
	munmap(page, PAGE);
	cr_assert_eq(told(ticks, page, RF, 0), LATE_NOT);
	late_ticks_destroy(ticks);
}
