/* Reads those symbols of the kernel that say what a thread is doing there. */
#include "tracer/process/kernel_symbols.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/kernel_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SYMBOLS "/proc/kallsyms"
#define BOOT "/proc/sys/kernel/random/boot_id"

/* Functions in which a thread waits, by the beginning of their names.  The first row that fits any
 * function of a chain counts, so what is more special stands in front: a read from a pipe is in
 * schedule() as everything else. */
static const struct {
	const char *name;
	enum wait_cause cause;
} waits[] = {
	{"pipe_", WAIT_PIPE},
	{"anon_pipe_", WAIT_PIPE},
	{"fifo_open", WAIT_PIPE},
	{"wait_for_partner", WAIT_PIPE},
	{"unix_stream_", WAIT_SOCKET},
	{"sk_wait_data", WAIT_SOCKET},
	{"__skb_wait_for_more", WAIT_SOCKET},
	{"sk_stream_wait_", WAIT_SOCKET},
	{"inet_csk_accept", WAIT_SOCKET},
	{"inet_stream_connect", WAIT_SOCKET},
	{"tcp_recvmsg", WAIT_SOCKET},
	{"tcp_sendmsg", WAIT_SOCKET},
	{"unix_wait_for_peer", WAIT_SOCKET},
	{"n_tty_", WAIT_TERMINAL},
	{"tty_", WAIT_TERMINAL},
	{"do_nanosleep", WAIT_SLEEP},
	{"hrtimer_nanosleep", WAIT_SLEEP},
	{"futex_", WAIT_FUTEX},
	{"__futex_wait", WAIT_FUTEX},
	{"kernel_wait", WAIT_CHILD}, /* wait4, waitid; do_wait begins the names of others, too */
	{"__x64_sys_wait", WAIT_CHILD},
	{"kernel_clone", WAIT_CHILD}, /* vfork */
	{"wait_for_vfork_done", WAIT_CHILD},
	{"do_sys_poll", WAIT_POLL},
	{"do_poll", WAIT_POLL},
	{"do_select", WAIT_POLL},
	{"ep_poll", WAIT_POLL},
	{"do_epoll_wait", WAIT_POLL},
	{"eventfd_", WAIT_EVENT},
	{"signalfd_", WAIT_SIGNAL},
	{"timerfd_", WAIT_SLEEP},
	{"do_sigtimedwait", WAIT_SIGNAL},
	{"sigsuspend", WAIT_SIGNAL},
	{"__x64_sys_pause", WAIT_SIGNAL},
	{"io_schedule", WAIT_DISK},
	{"folio_wait_", WAIT_DISK},
	{"wait_on_page_", WAIT_DISK},
	{"filemap_fault", WAIT_DISK},
	{"jbd2_", WAIT_DISK},
	{"blkdev_issue_flush", WAIT_DISK},
	{"submit_bio_wait", WAIT_DISK},
	{"blk_execute_rq", WAIT_DISK},
	{"wait_for_completion_io", WAIT_DISK},
	{"rq_qos_wait", WAIT_DISK},
	{"balance_dirty_pages", WAIT_DISK},
};

/* What leads into the kernel; behind the first two stands the name of a system call. */
static const char *const entries[] = {"__x64_sys_",           "ksys_",
				      "asm_exc_page_fault",   "asm_sysvec_",
				      "asm_common_interrupt", "do_exit",
				      "do_group_exit"};
enum { CALL_ENTRIES = 2, PAGE_FAULT = 2, EXIT = 5, N_ENTRIES = sizeof(entries) / sizeof(*entries) };
enum { N_WAITS = sizeof(waits) / sizeof(*waits) };

/* [start, end) is a function that says something. */
struct symbol {
	uint64_t start, end;
	int32_t entry, wait; /* row of these tables, or -1 */
	uint32_t call;       /* number of the system call, or NO_CALL */
};
#define NO_CALL UINT32_MAX

struct kernel_symbols {
	struct symbol *symbols; /* by start */
	size_t n_symbols, cap_symbols;
};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static struct symbol describe(const char *name)
{
	struct symbol symbol = {.entry = -1, .wait = -1, .call = NO_CALL};
	for (int i = 0; i < N_ENTRIES && symbol.entry < 0; i++)
		if (begins(name, entries[i]))
			symbol.entry = i;
	for (int i = 0; i < N_WAITS && symbol.wait < 0; i++)
		if (begins(name, waits[i].name))
			symbol.wait = i;
	if (symbol.entry >= 0 && symbol.entry < CALL_ENTRIES)
		symbol.call = kernel_call_number(name + strlen(entries[symbol.entry]));
	if (symbol.entry >= 0 && symbol.entry < CALL_ENTRIES && symbol.call == NO_CALL)
		symbol.entry = -1;
	return symbol;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;
	return rf_compare(x->start, y->start);
}

/* Each function ends where the next symbol begins: all of them are needed for that. */
static bool read_symbols(struct kernel_symbols *symbols)
{
	char line[256], name[128];
	bool done = true;
	FILE *file = fopen(SYMBOLS, "re");
	while (file && done && fgets(line, sizeof(line), file)) {
		uint64_t address;
		char type;
		if (sscanf(line, "%" SCNx64 " %c %127s", &address, &type, name) != 3 || !address)
			continue;
		if (type != 't' && type != 'T' && type != 'w' && type != 'W')
			continue;
		struct symbol symbol = describe(name);
		symbol.start = address;
		done = rf_array_push(symbols->symbols, symbols->n_symbols, symbols->cap_symbols,
				     symbol);
	}
	if (file)
		fclose(file);
	return done;
}

/* Keeps those that say something, with their ends. */
static void sort_out(struct kernel_symbols *symbols)
{
	size_t n = 0;
	if (!symbols->n_symbols)
		return;
	qsort(symbols->symbols, symbols->n_symbols, sizeof(*symbols->symbols), compare_symbols);
	for (size_t i = 0; i < symbols->n_symbols; i++) {
		struct symbol symbol = symbols->symbols[i];
		size_t next = i + 1;
		while (next < symbols->n_symbols && symbols->symbols[next].start == symbol.start)
			next++;
		symbol.end = next < symbols->n_symbols ? symbols->symbols[next].start
						       : symbol.start + 4096;
		if (symbol.entry >= 0 || symbol.wait >= 0)
			symbols->symbols[n++] = symbol;
	}
	symbols->n_symbols = n;
}

/* The kernel stays where it is until the machine starts anew. */
static bool find_key(struct kept_key *key)
{
	char boot[64];
	FILE *file = fopen(BOOT, "re");
	const bool known = file && fgets(boot, sizeof(boot), file);
	if (file)
		fclose(file);
	if (known)
		*key = (struct kept_key){
			.path = "[kernel]", /* a file in /proc is not kept by its name */
			.build_id = "",
			.stamp = file_stamp_of_image(boot, strlen(boot)),
			.kind = KEPT_KERNEL};
	return known;
}

static bool load(struct kernel_symbols *symbols, struct kept_store *kept,
		 const struct kept_key *key)
{
	struct kept_bytes bytes;
	if (!kept_store_load(kept, key, &bytes))
		return false;
	const size_t n = bytes.size / sizeof(*symbols->symbols);
	struct symbol *copy = n ? malloc(n * sizeof(*copy)) : NULL;
	if (copy) {
		memcpy(copy, bytes.bytes, n * sizeof(*copy));
		symbols->symbols = copy;
		symbols->n_symbols = symbols->cap_symbols = n;
		qsort(copy, n, sizeof(*copy), compare_symbols); /* whatever the file says */
	}
	kept_bytes_release(&bytes);
	return copy;
}

struct kernel_symbols *kernel_symbols_create(struct kept_store *kept)
{
	struct kept_key key;
	struct kernel_symbols *symbols = calloc(1, sizeof(*symbols));
	if (!symbols)
		return NULL;
	const bool keeps = kept && find_key(&key);
	if (keeps && load(symbols, kept, &key))
		return symbols;
	if (!read_symbols(symbols)) {
		kernel_symbols_destroy(symbols);
		return NULL;
	}
	sort_out(symbols);
	if (keeps && symbols->n_symbols)
		kept_store_save(kept, &key, symbols->symbols,
				symbols->n_symbols * sizeof(*symbols->symbols));
	return symbols;
}

void kernel_symbols_destroy(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	free(symbols->symbols);
	free(symbols);
}

static const struct symbol *symbol_at(const struct kernel_symbols *symbols, uint64_t address)
{
	const size_t n = symbols->n_symbols;
	const size_t behind = rf_search(n, i, symbols->symbols[i].start <= address);
	if (!behind || address >= symbols->symbols[behind - 1].end)
		return NULL;
	return &symbols->symbols[behind - 1];
}

struct kernel_place kernel_symbols_place(const struct kernel_symbols *symbols,
					 const uint64_t *chain, size_t n, bool in_call)
{
	const struct symbol *entry = NULL, *wait = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct symbol *symbol = symbol_at(symbols, chain[i]);
		if (symbol && symbol->entry >= 0)
			entry = symbol; /* the outermost one */
		if (symbol && symbol->wait >= 0 && symbol->wait < N_WAITS &&
		    (!wait || symbol->wait < wait->wait))
			wait = symbol;
	}
	struct kernel_place place = {.offset = in_call ? KERNEL_CALL : KERNEL_OTHER,
				     .cause = wait ? waits[wait->wait].cause : WAIT_OTHER};
	if (entry && entry->call != NO_CALL)
		place.offset = KERNEL_CALLS + entry->call;
	else if (entry && entry->entry == PAGE_FAULT)
		place.offset = KERNEL_FAULT;
	else if (entry && entry->entry >= EXIT)
		place.offset = KERNEL_EXIT;
	else if (entry && entry->entry > PAGE_FAULT)
		place.offset = KERNEL_INTERRUPT;
	return place;
}
