#include "tracer/perf/perf_ring.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rings written here byte by byte, in the layout of perf_event_open(2). */
enum { DATA_SIZE = 4096 };

static _Alignas(8) uint8_t data[DATA_SIZE];
static uint64_t head, tail;
static struct perf_ring ring;

static void ring_reset(uint64_t position)
{
	memset(data, 0xee, sizeof(data));
	head = tail = position;
	ring = (struct perf_ring){.head = &head, .tail = &tail, .data = data, .size = DATA_SIZE};
}

static void append(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[head++ % DATA_SIZE] = ((const uint8_t *)bytes)[i];
}

/* A record in the making. */
struct maker {
	_Alignas(8) uint8_t bytes[8192];
	size_t size;
};

static void add_u64(struct maker *maker, uint64_t value)
{
	memcpy(maker->bytes + maker->size, &value, 8);
	maker->size += 8;
}

static void add_pair(struct maker *maker, uint32_t low, uint32_t high)
{
	add_u64(maker, (uint64_t)high << 32 | low);
}

static void add_text(struct maker *maker, const char *text)
{
	size_t size = strlen(text) / 8 * 8 + 8;
	memset(maker->bytes + maker->size, 0, size);
	memcpy(maker->bytes + maker->size, text, strlen(text));
	maker->size += size;
}

static void begin_record(struct maker *maker)
{
	maker->size = sizeof(struct perf_event_header);
}

static void end_record(struct maker *maker, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = {type, misc, (uint16_t)maker->size};
	memcpy(maker->bytes, &header, sizeof(header));
}

static void add_trailer(struct maker *maker, uint32_t pid, uint32_t tid, uint64_t time)
{
	add_pair(maker, pid, tid);
	add_u64(maker, time);
	add_u64(maker, 33);
}

static void make_sample(struct maker *maker, uint64_t number, size_t stack_size, size_t used)
{
	begin_record(maker);
	add_u64(maker, 34);
	add_u64(maker, 0x401000 + number);
	add_pair(maker, 10, 11);
	add_u64(maker, 1000 + number);
	add_u64(maker, 500);
	add_u64(maker, 2); /* a chain of the kernel's */
	add_u64(maker, 0xffffffff81000000);
	add_u64(maker, 0xffffffff82000000 + number);
	add_u64(maker, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 0; i < 11; i++)
		add_u64(maker, 0x100 * (i + 1) + number);
	add_u64(maker, stack_size);
	for (size_t i = 0; i < stack_size; i++)
		maker->bytes[maker->size++] = (uint8_t)(number + i);
	if (stack_size)
		add_u64(maker, used);
	end_record(maker, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

static void make_lost(struct maker *maker, uint64_t lost)
{
	begin_record(maker);
	add_u64(maker, 77);
	add_u64(maker, lost);
	add_trailer(maker, 10, 11, 5);
	end_record(maker, PERF_RECORD_LOST, 0);
}

static void make_mapping(struct maker *maker, bool by_build_id)
{
	static const uint8_t build_id[24] = {20, 0, 0, 0, 0xab, 0xcd};
	begin_record(maker);
	add_pair(maker, 10, 11);
	add_u64(maker, 0x7f0000001000);
	add_u64(maker, 0x3000);
	add_u64(maker, 0x2000);
	if (by_build_id) {
		memcpy(maker->bytes + maker->size, build_id, sizeof(build_id));
		maker->size += sizeof(build_id);
	} else {
		add_pair(maker, 8, 1);
		add_u64(maker, 4242);
		add_u64(maker, 0);
	}
	add_pair(maker, 5, 2);
	add_text(maker, "/usr/lib/libexample.so");
	add_trailer(maker, 10, 11, 99);
	end_record(maker, PERF_RECORD_MMAP2,
		   by_build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : PERF_RECORD_MISC_USER);
}

static void check_sample(const struct perf_record *record, uint64_t number, size_t used)
{
	const struct unwind_regs *regs = &record->regs;
	const uint64_t values[] = {regs->bx,  record->cx, record->di,    regs->bp,
				   regs->sp,  regs->ip,   record->flags, regs->r12,
				   regs->r13, regs->r14,  regs->r15};
	cr_assert_eq(record->id, 34);
	cr_assert_eq(record->type, PERF_RECORD_SAMPLE);
	cr_assert_eq(record->ip, 0x401000 + number);
	cr_assert(record->pid == 10 && record->tid == 11);
	cr_assert_eq(record->time, 1000 + number);
	cr_assert_eq(record->period, 500);
	cr_assert(record->has_regs);
	cr_assert_eq(record->n_chain, 2);
	cr_assert_eq(record->chain[1], 0xffffffff82000000 + number);
	for (uint64_t i = 0; i < 11; i++)
		cr_assert_eq(values[i], 0x100 * (i + 1) + number);
	cr_assert_eq(record->stack_size, used);
	for (size_t i = 0; i < used; i++)
		cr_assert_eq(record->stack[i], (uint8_t)(number + i));
}

Test(perf_record, sample)
{
	struct maker maker;
	struct perf_record record;
	make_sample(&maker, 7, 64, 40);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	check_sample(&record, 7, 40);
}

/* size 0: neither bytes nor the used size follow. */
Test(perf_record, sample_without_stack)
{
	struct maker maker;
	struct perf_record record;
	make_sample(&maker, 7, 0, 0);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	check_sample(&record, 7, 0);
}

/* PERF_SAMPLE_REGS_ABI_NONE: no registers follow; ip is still known. */
Test(perf_record, sample_without_registers)
{
	struct maker maker;
	struct perf_record record;
	begin_record(&maker);
	add_u64(&maker, 0);
	add_u64(&maker, 0x1234);
	add_pair(&maker, 1, 2);
	add_u64(&maker, 3);
	add_u64(&maker, 4);
	add_u64(&maker, 0); /* no chain */
	add_u64(&maker, PERF_SAMPLE_REGS_ABI_NONE);
	add_u64(&maker, 0);
	end_record(&maker, PERF_RECORD_SAMPLE, 0);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	cr_assert_not(record.has_regs);
	cr_assert_eq(record.regs.ip, 0x1234);
	cr_assert_eq(record.stack_size, 0);
}

Test(perf_record, mapping_with_inode)
{
	struct maker maker;
	struct perf_record record;
	make_mapping(&maker, false);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	cr_assert(record.pid == 10 && record.tid == 11 && record.time == 99 && record.id == 33);
	cr_assert(record.start == 0x7f0000001000 && record.length == 0x3000);
	cr_assert_eq(record.file_offset, 0x2000);
	cr_assert(record.has_inode && record.inode == 4242);
	cr_assert(record.major == 8 && record.minor == 1);
	cr_assert_str_eq(record.path, "/usr/lib/libexample.so");
}

Test(perf_record, mapping_with_build_id)
{
	struct maker maker;
	struct perf_record record;
	make_mapping(&maker, true);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	cr_assert_not(record.has_inode);
	cr_assert_eq(record.build_id_size, 20);
	cr_assert(record.build_id[0] == 0xab && record.build_id[1] == 0xcd);
	cr_assert_str_eq(record.path, "/usr/lib/libexample.so");
	maker.bytes[8 + 32] = 21; /* longer than its field */
	cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
}

Test(perf_record, fork_names_the_child)
{
	struct maker maker;
	struct perf_record record;
	begin_record(&maker);
	add_pair(&maker, 20, 10);
	add_pair(&maker, 21, 11);
	add_u64(&maker, 55);
	add_trailer(&maker, 10, 11, 55);
	end_record(&maker, PERF_RECORD_FORK, 0);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	cr_assert(record.pid == 20 && record.tid == 21 && record.time == 55);
	cr_assert(record.parent_pid == 10 && record.parent_tid == 11);
}

Test(perf_record, name_must_end)
{
	struct maker maker;
	struct perf_record record;
	begin_record(&maker);
	add_pair(&maker, 10, 11);
	add_text(&maker, "worker");
	add_trailer(&maker, 10, 11, 5);
	end_record(&maker, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	cr_assert(perf_record_parse(maker.bytes, maker.size, &record));
	cr_assert_str_eq(record.path, "worker");
	cr_assert(record.misc & PERF_RECORD_MISC_COMM_EXEC);
	memset(maker.bytes + 16, 'x', 8);
	cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
}

/* Every shorter form of every record is refused or parses within its bytes: the copies are of the
 * exact size on the heap, for the address sanitizer. */
static void check_truncated(const struct maker *maker)
{
	for (size_t size = 0; size < maker->size; size++) {
		struct perf_record record;
		uint8_t *bytes = malloc(size + 1);
		memcpy(bytes, maker->bytes, size);
		cr_assert_not(perf_record_parse(bytes, size, &record), "%zu bytes", size);
		free(bytes);
	}
}

Test(perf_record, truncated_records_are_refused)
{
	struct maker maker;
	make_sample(&maker, 1, 64, 64);
	check_truncated(&maker);
	make_mapping(&maker, false);
	check_truncated(&maker);
	make_mapping(&maker, true);
	check_truncated(&maker);
	make_lost(&maker, 9);
	check_truncated(&maker);
}

/* A header that promises less than its body needs. */
Test(perf_record, short_header_is_refused)
{
	struct maker maker;
	struct perf_record record;
	make_sample(&maker, 1, 64, 64);
	for (uint16_t size = 0; size < maker.size; size++) {
		memcpy(maker.bytes + 6, &size, sizeof(size));
		cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
	}
}

Test(perf_record, used_stack_cannot_exceed_its_size)
{
	struct maker maker;
	struct perf_record record;
	make_sample(&maker, 1, 64, 65);
	cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
	uint64_t huge = UINT64_MAX - 7;
	make_sample(&maker, 1, 64, 64);
	memcpy(maker.bytes + 8 + 9 * 8 + 11 * 8, &huge, 8);
	cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
	make_sample(&maker, 1, 64, 64);
	memcpy(maker.bytes + 8 + 5 * 8, &huge, 8); /* the length of the chain */
	cr_assert_not(perf_record_parse(maker.bytes, maker.size, &record));
}

/* What the ring handed out, parsed. */
struct seen {
	uint64_t n_samples, lost, n_refused;
	size_t used;
};

static void see(void *opaque, const void *bytes, size_t size)
{
	struct seen *seen = opaque;
	struct perf_record record;
	if (!perf_record_parse(bytes, size, &record))
		seen->n_refused++;
	else if (record.type == PERF_RECORD_LOST)
		seen->lost += record.lost;
	else
		check_sample(&record, seen->n_samples++, seen->used);
}

/* Records of many sizes over many turns of the ring, from every starting position: each arrives
 * once, whole and in order. */
static void check_wrapping(bool shared)
{
	for (uint64_t position = 0; position < DATA_SIZE; position += 8) {
		struct seen seen = {.used = 16};
		uint64_t written = 0, lost = 0;
		ring_reset(position);
		ring.shared = shared;
		for (int round = 0; round < 20; round++) {
			struct maker maker;
			for (int i = 0; i < 3; i++) {
				make_sample(&maker, written, 16 + 8 * (written % 37), 16);
				written++;
				append(maker.bytes, maker.size);
			}
			make_lost(&maker, (uint64_t)round);
			append(maker.bytes, maker.size);
			lost += (uint64_t)round;
			cr_assert_eq(perf_ring_read(&ring, see, &seen), 4);
			cr_assert_eq(tail, head);
		}
		cr_assert_eq(seen.n_samples, written);
		cr_assert_eq(seen.lost, lost);
		cr_assert(seen.n_refused == 0 && ring.broken == 0);
	}
}

Test(perf_ring, records_wrap_around)
{
	check_wrapping(false);
}

Test(perf_ring, records_wrap_around_in_shared_memory)
{
	check_wrapping(true);
}

Test(perf_ring, empty_ring)
{
	struct seen seen = {0};
	ring_reset(512);
	cr_assert_eq(perf_ring_read(&ring, see, &seen), 0);
	cr_assert_eq(ring.broken, 0);
}

/* A full ring: every byte is in use. */
Test(perf_ring, full_ring)
{
	struct seen seen = {0};
	struct maker maker;
	ring_reset(8 * 101);
	make_lost(&maker, 1);
	size_t n = 0;
	for (; head - tail + maker.size <= DATA_SIZE; n++)
		append(maker.bytes, maker.size);
	begin_record(&maker);
	while (maker.size < DATA_SIZE - (head - tail))
		add_u64(&maker, 0);
	end_record(&maker, PERF_RECORD_THROTTLE, 0);
	append(maker.bytes, maker.size);
	cr_assert_eq(head - tail, DATA_SIZE);
	cr_assert_eq(perf_ring_read(&ring, see, &seen), n + 1);
	cr_assert_eq(seen.lost, n);
}

/* A ring that contradicts itself is given up to its head, once, and works again after that. */
static void check_broken(void (*spoil)(void))
{
	struct seen seen = {.used = 16};
	struct maker maker;
	ring_reset(64);
	make_sample(&maker, 0, 16, 16);
	append(maker.bytes, maker.size);
	spoil();
	perf_ring_read(&ring, see, &seen);
	cr_assert_eq(ring.broken, 1);
	cr_assert_eq(tail, head);
	seen = (struct seen){.used = 16};
	append(maker.bytes, maker.size);
	cr_assert_eq(perf_ring_read(&ring, see, &seen), 1);
	cr_assert_eq(seen.n_samples, 1);
}

static void append_empty_header(void)
{
	static const uint8_t zeros[8];
	append(zeros, sizeof(zeros));
}

static void append_odd_size(void)
{
	struct perf_event_header header = {PERF_RECORD_COMM, 0, 12};
	append(&header, sizeof(header));
	append_empty_header();
}

static void append_beyond_head(void)
{
	struct perf_event_header header = {PERF_RECORD_COMM, 0, 4000};
	append(&header, sizeof(header));
}

static void append_half_header(void)
{
	uint32_t half = PERF_RECORD_COMM;
	append(&half, sizeof(half));
	head += 4; /* keeps what follows aligned: a header of which half is old bytes */
}

static void overrun(void)
{
	head += 2 * DATA_SIZE;
}

Test(perf_ring, broken_rings_are_given_up)
{
	check_broken(append_empty_header);
	check_broken(append_odd_size);
	check_broken(append_beyond_head);
	check_broken(append_half_header);
	check_broken(overrun);
}

static void *map_zeros(void *context, int fd, size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void unmap_all(void *context, void *mapping, size_t size)
{
	*(size_t *)context = size;
	munmap(mapping, size);
}

Test(perf_ring, control_page_of_the_kernel)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), unmapped = 0;
	const struct perf_source source = {.map = map_zeros,
					   .unmap = unmap_all,
					   .context = &unmapped};
	cr_assert(perf_ring_map(&source, 0, 2, &ring));
	struct perf_event_mmap_page *control = ring.mapping;
	cr_assert_eq((void *)ring.head, (void *)&control->data_head);
	cr_assert_eq((void *)ring.tail, (void *)&control->data_tail);
	cr_assert_eq((const void *)ring.data, (void *)((uint8_t *)control + page));
	cr_assert_eq(ring.size, 2 * page);
	perf_ring_unmap(&source, &ring);
	cr_assert(unmapped == 3 * page && !ring.mapping);
}
