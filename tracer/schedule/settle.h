/* What threads ran and were ready, by records of switches and by the kernel's own sums.
 *
 * The kernel changes over from one thread's time to that of the next as it begins to choose it; the
 * record that says "runs" comes when it has chosen, has switched, and has started the events that
 * sample.  So some 3 to 15 us before each such record are the thread's own, and no record says so.
 * That a thread is ready again when its wait ends is in no record either.
 *
 * The kernel's sums have both.  They are looked at now and then, and for a thread that stands still
 * they are exact.  What they exceeded the records by at the last look is taken as it was; for what
 * a thread did after it, or where it never was looked at, it is as much for each time it was
 * switched to.  Where the sum of a process is known at its end, its threads get what is missing,
 * each by how often it was switched to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By how much the kernel's sums exceeded those of the records, ns (below 0: were less), when the
 * thread had been switched to so often. */
struct settle_excess {
	bool known;
	int64_t ran_ns, ready_ns;
	uint64_t switches;
};

struct settle_thread {
	/* By the records; settled, these add up to the same. */
	uint64_t ran_ns, ready_ns, waited_ns;
	uint64_t late_ns;  /* of ran_ns: behind the record of its end, until that was seen */
	uint64_t switches; /* how often it was switched to, at its end */
	uint32_t process;  /* any number */
	struct settle_excess excess;
	bool is_final; /* `excess` is that at its end */
};

/* Settles n threads; `total_ns`: what those of `process` ran together (0: not known). */
void settle(struct settle_thread *threads, size_t n, uint32_t process, uint64_t total_ns);
