/* Handler code: perf records into this thread's ring (see shim_protocol.h). */
#include "preload/shim_ring.h"

#include "preload/shim_syscall.h"

#include <linux/perf_event.h>
#include <time.h>

#define SHIM_HANDLER_CODE
#include "preload/shim_rules.h"

/* Where the next byte goes.  Nothing is seen by the reader until `publish`. */
struct writer {
	struct shim_slot *slot;
	uint8_t *ring;
	uint64_t at;
};

static void put(struct writer *writer, const void *data, size_t size)
{
	size_t offset = writer->at & (SHIM_RING_SIZE - 1);
	size_t first = SHIM_RING_SIZE - offset < size ? SHIM_RING_SIZE - offset : size;
	shim_copy(writer->ring + offset, data, first);
	shim_copy(writer->ring, (const uint8_t *)data + first, size - first);
	writer->at += size;
}

static void put_u64(struct writer *writer, uint64_t value)
{
	put(writer, &value, sizeof(value));
}

static void put_pair(struct writer *writer, uint32_t low, uint32_t high)
{
	put_u64(writer, (uint64_t)high << 32 | low);
}

enum { HEADER_SIZE = 8, TRAILER_SIZE = 24 };

/* Begins a record with so many bytes behind its header. */
static bool begin(const struct shim_thread *thread, struct writer *writer, uint32_t type,
		  uint16_t misc, size_t size)
{
	struct shim_slot *slot = thread->slot;
	struct perf_event_header header = {type, misc, (uint16_t)(HEADER_SIZE + size)};
	/* rfprof has taken the slot back, believing this process dead. */
	if (__atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) != thread->generation)
		return false;
	uint64_t tail = __atomic_load_n(&slot->tail, __ATOMIC_ACQUIRE);
	if (HEADER_SIZE + size > SHIM_RING_SIZE - (slot->head - tail)) {
		slot->lost++;
		return false;
	}
	*writer = (struct writer){slot, (uint8_t *)slot + SHIM_PAGE, slot->head};
	put(writer, &header, sizeof(header));
	return true;
}

static void publish(struct writer *writer)
{
	__atomic_store_n(&writer->slot->head, writer->at, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
	struct timespec now = {0, 0};
	shim_syscall(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whose record it is, and when. */
static void put_owner(struct writer *writer, const struct shim_thread *thread)
{
	put_pair(writer, thread->pid, thread->tid);
	put_u64(writer, now_ns());
}

/* Ends all records but samples, which have it further in front. */
static void put_trailer(struct writer *writer, const struct shim_thread *thread)
{
	put_owner(writer, thread);
	put_u64(writer, 0); /* the event: there are no others */
}

void shim_write_sample(struct shim_thread *thread, const struct shim_sample *sample)
{
	struct writer writer;
	/* event, ip, owner, time, period, an empty chain, abi, registers, stack size, stack, used
	 * size */
	size_t size = 8 * 8 + sizeof(sample->regs) + sample->stack_size;
	if (sample->stack_size)
		size += 8;
	if (!begin(thread, &writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, size))
		return;
	put_u64(&writer, 0); /* the event: there are no others */
	put_u64(&writer, sample->ip);
	put_owner(&writer, thread);
	put_u64(&writer, sample->period);
	put_u64(&writer, 0);
	put_u64(&writer, PERF_SAMPLE_REGS_ABI_64);
	put(&writer, sample->regs, sizeof(sample->regs));
	put_u64(&writer, sample->stack_size);
	if (sample->stack_size) {
		put(&writer, (const void *)sample->regs[4], sample->stack_size);
		put_u64(&writer, sample->stack_size);
	}
	publish(&writer);
}

void shim_write_comm(struct shim_thread *thread, bool exec)
{
	struct writer writer;
	if (!begin(thread, &writer, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0,
		   8 + sizeof(thread->name) + TRAILER_SIZE))
		return;
	put_pair(&writer, thread->pid, thread->tid);
	put(&writer, thread->name, sizeof(thread->name));
	put_trailer(&writer, thread);
	publish(&writer);
}

void shim_write_fork(struct shim_thread *thread, uint32_t parent_pid, uint32_t parent_tid)
{
	struct writer writer;
	if (!begin(thread, &writer, PERF_RECORD_FORK, 0, 24 + TRAILER_SIZE))
		return;
	put_pair(&writer, thread->pid, parent_pid);
	put_pair(&writer, thread->tid, parent_tid);
	put_u64(&writer, now_ns());
	put_trailer(&writer, thread);
	publish(&writer);
}

void shim_write_mapping(struct shim_thread *thread, const uint64_t range[3], uint32_t major,
			uint32_t minor, uint64_t inode, const char *path)
{
	static const uint64_t zeros = 0;
	struct writer writer;
	size_t length = 0;
	while (path[length])
		length++;
	size_t padding = 8 - length % 8; /* at least the closing zero */
	if (!begin(thread, &writer, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
		   64 + length + padding + TRAILER_SIZE))
		return;
	put_pair(&writer, thread->pid, thread->tid);
	put_u64(&writer, range[0]);
	put_u64(&writer, range[1] - range[0]);
	put_u64(&writer, range[2]);
	put_pair(&writer, major, minor);
	put_u64(&writer, inode);
	put_u64(&writer, 0);     /* generation */
	put_pair(&writer, 0, 0); /* protection, flags */
	put(&writer, path, length);
	put(&writer, &zeros, padding);
	put_trailer(&writer, thread);
	publish(&writer);
}
