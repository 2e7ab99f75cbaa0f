/* Touches new memory. */
#include "tracer/timed/fault_cost.h"

#include "base/clock.h"
#include "machine/roofs/measure.h"

#include <sys/mman.h>
#include <unistd.h>

enum { BATCHES = 9, PAGES = 256 };

uint64_t fault_cost_ns(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = BATCHES * PAGES * page;
	double costs[BATCHES];
	uint8_t *memory =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 0;
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < BATCHES; i++) {
		volatile uint8_t *batch = memory + i * PAGES * page;
		const uint64_t start = clock_thread_ns();
		for (size_t k = 0; k < PAGES; k++)
			batch[k * page] = 1;
		costs[i] = (double)(clock_thread_ns() - start) / PAGES;
	}
	munmap(memory, size);
	return (uint64_t)measure_summary(costs, BATCHES).median;
}
