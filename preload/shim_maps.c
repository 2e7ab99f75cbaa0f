/* Handler code: which executable memory this process has, from /proc/self/maps.
 *
 * dlopen is not wrapped: it looks at its caller to find the search path.  Instead the mappings are
 * read at the start, and again when a sample lies in memory that is not yet known.  A library that
 * is unloaded and replaced by another at the same address goes unseen until then. */
#include "preload/shim_maps.h"

#include "preload/shim_ring.h"
#include "preload/shim_syscall.h"

#include <fcntl.h>

#define SHIM_HANDLER_CODE
#include "preload/shim_rules.h"

enum { MAX_RANGES = 1024 };

struct range {
	uint64_t start, end, inode;
};

/* Entries are only ever added; n_ranges moves after the entry is whole. */
static struct range ranges[MAX_RANGES];
static uint32_t n_ranges;
static uint32_t locked;
static char line[8192], block[4096];

static bool is_known(uint64_t address)
{
	uint32_t n = __atomic_load_n(&n_ranges, __ATOMIC_ACQUIRE);
	for (uint32_t i = n; i > 0; i--)
		if (address >= ranges[i - 1].start && address < ranges[i - 1].end)
			return true;
	return false;
}

/* Notes a range; false when it is known already, or there are too many (then all of memory counts
 * as known, so that no sample reads the mappings again). */
static bool add_range(uint64_t start, uint64_t end, uint64_t inode)
{
	for (uint32_t i = 0; i < n_ranges; i++)
		if (ranges[i].start == start && ranges[i].end == end && ranges[i].inode == inode)
			return false;
	if (n_ranges == MAX_RANGES)
		return false;
	struct range added = {start, end, inode};
	if (n_ranges == MAX_RANGES - 1)
		added = (struct range){0, UINT64_MAX, 0};
	ranges[n_ranges] = added;
	__atomic_store_n(&n_ranges, n_ranges + 1, __ATOMIC_RELEASE);
	return true;
}

static uint64_t take_number(const char **text, unsigned base)
{
	uint64_t value = 0;
	for (;; (*text)++) {
		char c = **text;
		unsigned digit = 99;
		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		if (digit >= base)
			return value;
		value = value * base + digit;
	}
}

static uint64_t take_field(const char **text, unsigned base)
{
	uint64_t value = take_number(text, base);
	if (**text)
		(*text)++; /* the separator */
	return value;
}

/* One line, proc(5): "start-end perms offset major:minor inode     path". */
static void take_line(struct shim_thread *thread)
{
	const char *text = line;
	uint64_t range[3];
	range[0] = take_field(&text, 16);
	range[1] = take_field(&text, 16);
	for (int i = 0; i < 5; i++)
		if (!text[i])
			return;
	if (text[2] != 'x')
		return;
	text += 5;
	range[2] = take_field(&text, 16);
	uint32_t major = (uint32_t)take_field(&text, 16);
	uint32_t minor = (uint32_t)take_field(&text, 16);
	uint64_t inode = take_field(&text, 10);
	while (*text == ' ')
		text++;
	if (add_range(range[0], range[1], inode))
		shim_write_mapping(thread, range, major, minor, inode, *text ? text : "//anon");
}

static void read_maps(struct shim_thread *thread, int fd)
{
	size_t length = 0;
	for (;;) {
		long n = shim_syscall(SYS_read, fd, (long)block, sizeof(block), 0);
		if (n <= 0)
			return;
		for (long i = 0; i < n; i++) {
			if (block[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = block[i];
				continue;
			}
			line[length] = '\0';
			take_line(thread);
			length = 0;
		}
	}
}

void shim_maps_need(struct shim_thread *thread, uint64_t address)
{
	if (address && is_known(address))
		return;
	/* Another thread reads them: what it writes serves this one, too. */
	if (__atomic_exchange_n(&locked, 1, __ATOMIC_ACQUIRE))
		return;
	long fd = shim_syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC,
			       0);
	if (fd >= 0) {
		read_maps(thread, (int)fd);
		shim_syscall(SYS_close, fd, 0, 0, 0);
		/* Neither there (made by another kernel feature): do not ask for it again. */
		if (address && !is_known(address))
			add_range(address & ~(uint64_t)4095, (address | 4095) + 1, 0);
	}
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}

void shim_maps_forked(void)
{
	__atomic_store_n(&locked, 0, __ATOMIC_RELEASE);
}
