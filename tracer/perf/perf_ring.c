/* Reading rings of perf records and parsing the records, without trusting what is there. */
#include "tracer/perf/perf_ring.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A cursor over one record; once something does not fit it stays failed. */
struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static const uint8_t *take(struct cursor *cursor, size_t size)
{
	if (cursor->failed || size > (size_t)(cursor->end - cursor->at)) {
		cursor->failed = true;
		return NULL;
	}
	const uint8_t *bytes = cursor->at;
	cursor->at += size;
	return bytes;
}

static uint64_t take_u64(struct cursor *cursor)
{
	uint64_t value = 0;
	const uint8_t *bytes = take(cursor, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

static uint32_t take_u32(struct cursor *cursor)
{
	uint32_t value = 0;
	const uint8_t *bytes = take(cursor, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

/* A string that ends inside the record; the rest of the record is its padding. */
static const char *take_string(struct cursor *cursor)
{
	if (cursor->failed || !memchr(cursor->at, 0, (size_t)(cursor->end - cursor->at))) {
		cursor->failed = true;
		return NULL;
	}
	const char *text = (const char *)cursor->at;
	cursor->at = cursor->end;
	return text;
}

static void take_registers(struct cursor *cursor, struct perf_record *record)
{
	uint64_t abi = take_u64(cursor);
	record->regs.ip = record->ip;
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	/* In the order of the bits of PERF_RING_REGS_USER. */
	record->regs.bx = take_u64(cursor);
	record->cx = take_u64(cursor);
	record->di = take_u64(cursor);
	record->regs.bp = take_u64(cursor);
	record->regs.sp = take_u64(cursor);
	record->regs.ip = take_u64(cursor);
	record->flags = take_u64(cursor);
	record->regs.r12 = take_u64(cursor);
	record->regs.r13 = take_u64(cursor);
	record->regs.r14 = take_u64(cursor);
	record->regs.r15 = take_u64(cursor);
	record->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
}

static void take_chain(struct cursor *cursor, struct perf_record *record)
{
	const uint64_t n = take_u64(cursor);
	if (n > UINT16_MAX)
		cursor->failed = true;
	if (cursor->failed)
		return;
	record->n_chain = n;
	record->chain = (const uint64_t *)take(cursor, n * sizeof(*record->chain));
}

static void take_stack(struct cursor *cursor, struct perf_record *record)
{
	uint64_t size = take_u64(cursor);
	if (!size)
		return;
	record->stack = take(cursor, size);
	/* Of the bytes reserved, `used` were readable in the task. */
	uint64_t used = take_u64(cursor);
	if (used > size)
		cursor->failed = true;
	record->stack_size = used;
}

static void take_head(struct cursor *cursor, struct perf_record *record)
{
	record->id = take_u64(cursor);
	record->ip = take_u64(cursor);
	record->pid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->time = take_u64(cursor);
}

static void take_sample(struct cursor *cursor, struct perf_record *record)
{
	take_head(cursor, record);
	record->period = take_u64(cursor);
	take_chain(cursor, record);
	take_registers(cursor, record);
	take_stack(cursor, record);
}

static void take_switch_sample(struct cursor *cursor, struct perf_record *record)
{
	take_head(cursor, record);
	take_chain(cursor, record);
	take_registers(cursor, record);
	take_stack(cursor, record);
}

static void take_hit(struct cursor *cursor, struct perf_record *record)
{
	take_head(cursor, record);
	const uint64_t abi = take_u64(cursor);
	if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
		record->regs.sp = take_u64(cursor);
		record->regs.ip = record->ip;
		record->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
	}
	take_stack(cursor, record);
}

static void take_inode(struct cursor *cursor, struct perf_record *record)
{
	record->major = take_u32(cursor);
	record->minor = take_u32(cursor);
	record->inode = take_u64(cursor);
	take_u64(cursor); /* generation */
	record->has_inode = true;
}

static void take_build_id(struct cursor *cursor, struct perf_record *record)
{
	const uint8_t *field = take(cursor, 24); /* u8 size, 3 reserved, u8 id[20] */
	if (!field)
		return;
	record->build_id_size = field[0];
	record->build_id = field + 4;
	if (record->build_id_size > 20)
		cursor->failed = true;
}

static void take_mapping(struct cursor *cursor, struct perf_record *record)
{
	take_u32(cursor); /* pid, tid: also in the trailer, but this is the mapping's owner */
	take_u32(cursor);
	record->start = take_u64(cursor);
	record->length = take_u64(cursor);
	record->file_offset = take_u64(cursor);
	if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		take_build_id(cursor, record);
	else
		take_inode(cursor, record);
	take_u64(cursor); /* protection, flags */
	record->path = take_string(cursor);
}

/* PERF_RECORD_FORK and PERF_RECORD_EXIT: the task meant is in the body, the trailer has the one
 * that wrote the record. */
static void take_task(struct cursor *cursor, struct perf_record *record)
{
	record->pid = take_u32(cursor);
	record->parent_pid = take_u32(cursor);
	record->tid = take_u32(cursor);
	record->parent_tid = take_u32(cursor);
}

static void take_body(struct cursor *cursor, struct perf_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP2:
		take_mapping(cursor, record);
		break;
	case PERF_RECORD_COMM:
		record->pid = take_u32(cursor);
		record->tid = take_u32(cursor);
		record->path = take_string(cursor);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		take_task(cursor, record);
		break;
	case PERF_RECORD_LOST:
		take_u64(cursor); /* id of the event */
		record->lost = take_u64(cursor);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		record->lost = take_u64(cursor);
		break;
	default:
		break;
	}
}

/* The trailer of every record but samples: u32 pid, tid; u64 time; u64 id. */
enum { TRAILER_SIZE = 24 };

static bool take_trailer(const uint8_t *bytes, size_t size, struct perf_record *record)
{
	if (size < sizeof(struct perf_event_header) + TRAILER_SIZE)
		return false;
	struct cursor cursor = {bytes + size - TRAILER_SIZE, bytes + size, false};
	record->pid = take_u32(&cursor);
	record->tid = take_u32(&cursor);
	record->time = take_u64(&cursor);
	record->id = take_u64(&cursor);
	return true;
}

static bool parse(const void *bytes, size_t size, struct perf_record *record,
		  void (*take_sample_body)(struct cursor *cursor, struct perf_record *record))
{
	struct perf_event_header header;
	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > size)
		return false;
	*record = (struct perf_record){.type = header.type, .misc = header.misc};
	const uint8_t *body = (const uint8_t *)bytes + sizeof(header);
	const uint8_t *end = (const uint8_t *)bytes + header.size;
	struct cursor cursor = {body, end, false};
	if (header.type == PERF_RECORD_SAMPLE) {
		take_sample_body(&cursor, record);
		return !cursor.failed;
	}
	if (!take_trailer(bytes, header.size, record))
		return false;
	cursor.end -= TRAILER_SIZE;
	take_body(&cursor, record);
	return !cursor.failed;
}

bool perf_record_parse(const void *bytes, size_t size, struct perf_record *record)
{
	return parse(bytes, size, record, take_sample);
}

bool perf_record_parse_switch(const void *bytes, size_t size, struct perf_record *record)
{
	return parse(bytes, size, record, take_switch_sample);
}

bool perf_record_parse_counter(const void *bytes, size_t size, struct perf_record *record)
{
	return parse(bytes, size, record, take_head);
}

bool perf_record_parse_hit(const void *bytes, size_t size, struct perf_record *record)
{
	return parse(bytes, size, record, take_hit);
}

bool perf_ring_map(const struct perf_source *source, int fd, size_t pages, struct perf_ring *ring)
{
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size = (pages + 1) * page_size;
	struct perf_event_mmap_page *page = source->map(source->context, fd, size);
	if (page == MAP_FAILED)
		return false;
	ring->mapping = page;
	ring->head = (uint64_t *)&page->data_head;
	ring->tail = (uint64_t *)&page->data_tail;
	ring->data = (const uint8_t *)page + page_size;
	ring->size = pages * page_size;
	ring->broken = 0;
	ring->shared = false;
	return true;
}

void perf_ring_unmap(const struct perf_source *source, struct perf_ring *ring)
{
	if (ring->mapping)
		source->unmap(source->context, ring->mapping,
			      ring->size + (size_t)sysconf(_SC_PAGESIZE));
	ring->mapping = NULL;
}

/* Copies `size` bytes from position `at`, around the end where need be. */
static void ring_copy(const struct perf_ring *ring, uint64_t at, void *to, size_t size)
{
	size_t offset = at & (ring->size - 1);
	size_t first = ring->size - offset < size ? ring->size - offset : size;
	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

/* The record at `at` as one piece, or NULL when what is there cannot be a record. */
static const void *ring_record(struct perf_ring *ring, uint64_t at, uint64_t head, size_t *size)
{
	struct perf_event_header header;
	if (head - at < sizeof(header))
		return NULL;
	ring_copy(ring, at, &header, sizeof(header));
	/* The kernel keeps records 8-byte aligned (perf_event_open(2)); so must the shim. */
	if (header.size < sizeof(header) || header.size % 8 || header.size > head - at)
		return NULL;
	*size = header.size;
	size_t offset = at & (ring->size - 1);
	if (!ring->shared && offset + header.size <= ring->size)
		return ring->data + offset;
	ring_copy(ring, at, ring->scratch, header.size);
	return ring->scratch;
}

size_t perf_ring_read(struct perf_ring *ring, perf_ring_fn *fn, void *context)
{
	uint64_t head = __atomic_load_n(ring->head, __ATOMIC_ACQUIRE);
	uint64_t tail = *ring->tail;
	size_t n = 0;
	if (head - tail > ring->size || tail % 8) {
		ring->broken++;
		tail = head;
	}
	while (tail != head) {
		size_t size;
		const void *record = ring_record(ring, tail, head, &size);
		if (!record) {
			ring->broken++;
			tail = head;
			break;
		}
		fn(context, record, size);
		tail += size;
		n++;
	}
	__atomic_store_n(ring->tail, tail, __ATOMIC_RELEASE);
	return n;
}
