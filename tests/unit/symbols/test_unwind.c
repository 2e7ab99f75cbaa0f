#include "base/array.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"
#include "symbols/unwind.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MAX_FRAMES 256
#define STACK_BYTES 65536

/* --- One captured moment of this process, as a perf sample would hold it --- */

struct moment {
	struct unwind_regs regs;
	uint8_t stack[STACK_BYTES];
	size_t stack_size;
	void *caller;            /* return address of the capturing function */
	void *local[MAX_FRAMES]; /* what backtrace(3) sees at the same moment */
	int n_local;
};

static struct moment moment;
static struct unwind_mapping *mappings;
static size_t n_mappings, cap_mappings;
static uint64_t stack_top;

static void read_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[PATH_MAX + 128];
	cr_assert(maps);
	while (n_mappings)
		free((char *)mappings[--n_mappings].path);
	while (fgets(line, sizeof(line), maps)) {
		struct unwind_mapping mapping;
		char rights[8], path[PATH_MAX] = "";
		sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095[^\n]", &mapping.start, &mapping.end,
		       rights, &mapping.file_offset, path);
		if (strcmp(path, "[stack]") == 0)
			stack_top = mapping.end;
		if (rights[2] != 'x')
			continue;
		mapping.path = strdup(path);
		cr_assert(rf_array_push(mappings, n_mappings, cap_mappings, mapping));
	}
	fclose(maps);
}

/* The stack is read as it lies, beyond the locals of this frame, which is the purpose. */
__attribute__((no_sanitize("address"))) static void copy_stack(uint64_t top)
{
	const uint8_t *from = (const uint8_t *)moment.regs.sp;
	size_t left = top - moment.regs.sp;
	moment.stack_size = left < STACK_BYTES ? left : STACK_BYTES;
	for (size_t i = 0; i < moment.stack_size; i++)
		moment.stack[i] = ((const volatile uint8_t *)from)[i];
}

static void take_registers(const ucontext_t *context)
{
	const greg_t *from = context->uc_mcontext.gregs;
	moment.regs = (struct unwind_regs){
		.ip = from[REG_RIP],
		.sp = from[REG_RSP],
		.bp = from[REG_RBP],
		.bx = from[REG_RBX],
		.r12 = from[REG_R12],
		.r13 = from[REG_R13],
		.r14 = from[REG_R14],
		.r15 = from[REG_R15],
	};
}

/* Fills in `moment` as of this function. */
__attribute__((noinline)) static void capture(void *unused)
{
	ucontext_t context;
	moment.caller = __builtin_return_address(0);
	getcontext(&context);
	take_registers(&context);
	copy_stack(stack_top);
	moment.n_local = backtrace(moment.local, MAX_FRAMES);
}

static size_t walk(struct unwinder *unwinder, uint64_t *addresses, size_t max)
{
	return unwinder_walk(unwinder, &moment.regs, moment.stack, moment.stack_size, mappings,
			     n_mappings, addresses, max);
}

static void tear_down(void)
{
	while (n_mappings)
		free((char *)mappings[--n_mappings].path);
	free(mappings);
}

static void set_up(void)
{
	void *unused;
	backtrace(&unused, 1); /* loads libgcc_s before the mappings are read */
	read_mappings();
}

TestSuite(unwind, .init = set_up, .fini = tear_down, .timeout = 60);

/* The frames behind the capturing function as backtrace(3) sees them: return addresses, and for an
 * interrupted frame its instruction.  (A sanitizer puts a frame of its own before them.) */
static size_t first_local(void)
{
	for (int i = 0; i < moment.n_local; i++)
		if (moment.local[i] == moment.caller)
			return i;
	cr_assert_fail("backtrace(3) does not see the caller");
	return 0;
}

static void expect_local_frames(const uint64_t *addresses, size_t n)
{
	size_t first = first_local(), n_local = moment.n_local - first;
	cr_assert_gt(n_local, 2);
	cr_expect_geq(n, n_local + 1);
	for (size_t i = 0; i + 1 < n && i < n_local; i++) {
		uint64_t local = (uint64_t)moment.local[first + i];
		cr_expect(addresses[i + 1] == local || addresses[i + 1] == local - 1,
			  "frame %zu: %lx, not %lx", i + 1, addresses[i + 1], local);
	}
}

/* --- Chains of calls, compiled in each way there is --- */

struct chain {
	void *returns[MAX_FRAMES]; /* return address of each level, outermost first */
	int n_returns, depth;
	void (*bottom)(void *);
};

static const char chain_source[] =
	"#include <alloca.h>\n"
	"struct chain { void *returns[256]; int n_returns, depth; void (*bottom)(void *); };\n"
	"#define NOINLINE __attribute__((noinline))\n"
	"NOINLINE int grow(struct chain *c, int n);\n"
	"NOINLINE int plain(struct chain *c, int a, int b, int d, int e) {\n"
	"	c->returns[c->n_returns++] = __builtin_return_address(0);\n"
	"	if (--c->depth <= 0) c->bottom(c); else a += grow(c, b);\n"
	"	return a * b + d * e + c->depth; }\n"
	"NOINLINE int grow(struct chain *c, int n) {\n"
	"	volatile char *room = alloca(16 + n * 8);\n"
	"	c->returns[c->n_returns++] = __builtin_return_address(0);\n"
	"	room[n] = n;\n"
	"	int r = plain(c, n, n + 1, n + 2, n + 3);\n"
	"	return r + room[n]; }\n"
	"int start_chain(struct chain *c) {\n"
	"	c->returns[c->n_returns++] = __builtin_return_address(0);\n"
	"	return grow(c, 5) + 1; }\n";

typedef int start_fn(struct chain *);

static start_fn *build_chain(const char *flags)
{
	char folder[] = "/tmp/test_unwind.XXXXXX", path[PATH_MAX], command[PATH_MAX * 2];
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/chain.c", folder);
	FILE *file = fopen(path, "w");
	cr_assert(file);
	fputs(chain_source, file);
	fclose(file);
	snprintf(command, sizeof(command), "cd %s && cc -shared -fPIC %s -o chain.so chain.c",
		 folder, flags);
	cr_assert_eq(system(command), 0, "%s", command);
	snprintf(path, sizeof(path), "%s/chain.so", folder);
	void *library = dlopen(path, RTLD_NOW);
	cr_assert(library, "%s", dlerror());
	start_fn *start = (start_fn *)dlsym(library, "start_chain");
	read_mappings();
	/* The unwinder opens the file by its path, at the first walk. */
	return start;
}

static void remove_chain(start_fn *start)
{
	Dl_info info;
	char command[PATH_MAX + 16];
	cr_assert(dladdr((void *)start, &info));
	snprintf(command, sizeof(command), "rm -r %.*s",
		 (int)(strrchr(info.dli_fname, '/') - info.dli_fname), info.dli_fname);
	cr_assert_eq(system(command), 0);
}

/* The levels' own return addresses, innermost first, behind the capturing function. */
static void expect_chain(const struct chain *chain, const uint64_t *addresses, size_t n)
{
	cr_assert_geq(n, chain->n_returns + 2);
	cr_expect_eq(addresses[0], moment.regs.ip);
	cr_expect_eq(addresses[1], (uint64_t)moment.caller - 1);
	for (int i = 0; i < chain->n_returns; i++)
		cr_expect_eq(addresses[2 + i],
			     (uint64_t)chain->returns[chain->n_returns - 1 - i] - 1, "level %d", i);
}

static void check_chain(const char *flags, int depth, bool has_local)
{
	start_fn *start = build_chain(flags);
	struct chain chain = {.depth = depth, .bottom = capture};
	uint64_t addresses[MAX_FRAMES];
	start(&chain);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	expect_chain(&chain, addresses, n);
	if (has_local)
		expect_local_frames(addresses, n);
	/* Again, from the caches. */
	n = walk(unwinder, addresses, MAX_FRAMES);
	expect_chain(&chain, addresses, n);
	unwinder_destroy(unwinder);
	remove_chain(start);
}

Test(unwind, without_frame_pointers)
{
	check_chain("-O2 -fomit-frame-pointer", 10, true);
}
Test(unwind, with_frame_pointers)
{
	check_chain("-O2 -fno-omit-frame-pointer", 10, true);
}
Test(unwind, unoptimised)
{
	check_chain("-O0 -g", 10, true);
}
Test(unwind, deep_chain)
{
	check_chain("-O2", 80, true);
}

Test(unwind, without_header)
{
	check_chain("-O2 -fomit-frame-pointer -Wl,--no-eh-frame-hdr", 10, false);
}

Test(unwind, with_debug_frame_only)
{
	check_chain("-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables "
		    "-fno-unwind-tables",
		    10, false);
}

Test(unwind, with_compressed_debug_frame_only)
{
	check_chain("-O2 -g -gz=zlib -fomit-frame-pointer -fno-asynchronous-unwind-tables "
		    "-fno-unwind-tables",
		    10, false);
}

Test(unwind, with_frame_pointers_only)
{
	check_chain("-O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables "
		    "-fno-unwind-tables",
		    10, false);
}

Test(unwind, generated_code)
{
	/* push rbp; mov rbp, rsp; push rbx; sub rsp, 8; mov rax, rdi; mov rdi, rsi; call rax;
	 * add rsp, 8; pop rbx; pop rbp; ret */
	static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec,
				       0x08, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff,
				       0xd0, 0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0xc3};
	enum { AFTER_CALL = 17 };
	uint8_t *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(made, MAP_FAILED);
	memcpy(made, code, sizeof(code));
	start_fn *start = build_chain("-O2 -fno-omit-frame-pointer");
	struct chain chain = {.depth = 6, .bottom = capture};
	((int (*)(start_fn *, struct chain *))made)(start, &chain);
	uint64_t addresses[MAX_FRAMES];
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	expect_chain(&chain, addresses, n);
	/* The first return address leads into the made code, and behind it the test's own. */
	cr_assert_gt(n, chain.n_returns + 2);
	cr_expect_eq(addresses[chain.n_returns + 1], (uint64_t)made + AFTER_CALL - 1);
	Dl_info info;
	cr_assert(dladdr((void *)addresses[chain.n_returns + 2], &info));
	cr_expect_eq(info.dli_fbase, (void *)(getauxval(AT_PHDR) & ~4095ul));
	unwinder_destroy(unwinder);
	remove_chain(start);
}

Test(unwind, stops_at_max)
{
	uint64_t addresses[MAX_FRAMES] = {0};
	struct unwinder *unwinder = unwinder_create();
	capture(NULL);
	cr_expect_eq(walk(unwinder, addresses, 2), 2);
	cr_expect_eq(addresses[2], 0);
	cr_expect_eq(walk(unwinder, addresses, 1), 1);
	unwinder_destroy(unwinder);
}

Test(unwind, stops_where_the_saved_bytes_end)
{
	start_fn *start = build_chain("-O2");
	struct chain chain = {.depth = 10, .bottom = capture};
	uint64_t whole[MAX_FRAMES], part[MAX_FRAMES];
	start(&chain);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, whole, MAX_FRAMES), last = 0;
	for (size_t size = 0; size < 4096; size += 8) {
		size_t some = unwinder_walk(unwinder, &moment.regs, moment.stack, size, mappings,
					    n_mappings, part, MAX_FRAMES);
		cr_assert(some >= 1 && some >= last && some <= n);
		cr_expect_arr_eq(part, whole, some * sizeof(*part));
		last = some;
	}
	cr_expect_gt(last, 10);
	unwinder_destroy(unwinder);
	remove_chain(start);
}

/* --- Signals --- */

static sigjmp_buf after_signal;

static void handle(int number)
{
	capture(NULL);
	if (number == SIGILL)
		siglongjmp(after_signal, 1);
}

static void raise_signal(void *unused)
{
	raise(SIGUSR1);
}

/* An interrupted leaf: its very first instruction traps, so that ip - 1 would be another one. */
__attribute__((noinline)) static void trap(void *unused)
{
	__asm__ volatile("ud2");
}

static void catch_signal(int number, int flags)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
	cr_assert_eq(sigaction(number, &action, NULL), 0);
}

static bool holds(const uint64_t *addresses, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (addresses[i] == address)
			return true;
	return false;
}

Test(unwind, through_a_signal_frame)
{
	start_fn *start = build_chain("-O2 -fomit-frame-pointer");
	struct chain chain = {.depth = 6, .bottom = raise_signal};
	uint64_t addresses[MAX_FRAMES];
	catch_signal(SIGUSR1, 0);
	start(&chain);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	expect_local_frames(addresses, n);
	for (int i = 0; i < chain.n_returns; i++)
		cr_expect(holds(addresses, n, (uint64_t)chain.returns[i] - 1), "level %d", i);
	unwinder_destroy(unwinder);
	remove_chain(start);
}

Test(unwind, an_interrupted_instruction_is_exact)
{
	start_fn *start = build_chain("-O2 -fomit-frame-pointer");
	struct chain chain = {.depth = 6, .bottom = trap};
	uint64_t addresses[MAX_FRAMES];
	catch_signal(SIGILL, 0);
	if (sigsetjmp(after_signal, 1) == 0)
		start(&chain);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	uint64_t ud2 = 0;
	static const uint8_t code[] = {0x0f, 0x0b};
	for (uint64_t at = (uint64_t)trap; !ud2; at++)
		if (memcmp((const void *)at, code, sizeof(code)) == 0)
			ud2 = at;
	cr_expect(holds(addresses, n, ud2));
	cr_expect_not(holds(addresses, n, ud2 - 1));
	for (int i = 0; i < chain.n_returns; i++)
		cr_expect(holds(addresses, n, (uint64_t)chain.returns[i] - 1), "level %d", i);
	unwinder_destroy(unwinder);
	remove_chain(start);
}

Test(unwind, stops_at_the_end_of_a_signal_stack)
{
	static char other_stack[1 << 16];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	uint64_t addresses[MAX_FRAMES];
	cr_assert_eq(sigaltstack(&stack, NULL), 0);
	stack_top = (uint64_t)other_stack + sizeof(other_stack);
	catch_signal(SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	/* capture, the handler, the trampoline, and the interrupted raise. */
	cr_expect(n >= 3 && n <= 5, "%zu frames", n);
	size_t first = first_local();
	for (size_t i = 1; i < n; i++) {
		uint64_t local = (uint64_t)moment.local[first + i - 1];
		cr_expect(addresses[i] == local || addresses[i] == local - 1);
	}
	unwinder_destroy(unwinder);
}

/* --- The vdso --- */

Test(unwind, vdso)
{
	const void *image;
	size_t size;
	struct symbol_module *symbols;
	if (!vdso_image(&image, &size))
		cr_skip_test("no vdso here");
	cr_assert_null(symbol_module_open_image("[vdso]", image, size, &symbols));
	struct symbol symbol = {0};
	for (uint64_t at = 0; at < size; at++)
		if (symbol_find(symbols, at, &symbol) && strstr(symbol.name, "clock_gettime"))
			break;
	/* At a function's first instruction the return address is on top of the stack. */
	capture(NULL);
	uint64_t sp = moment.regs.sp - 8, addresses[MAX_FRAMES];
	memmove(moment.stack + 8, moment.stack, STACK_BYTES - 8);
	memcpy(moment.stack, &moment.regs.ip, 8);
	uint64_t ip = moment.regs.ip;
	moment.regs.ip = (uint64_t)image + symbol.start;
	moment.regs.sp = sp;
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	cr_assert_gt(n, 3);
	cr_expect_eq(addresses[0], (uint64_t)image + symbol.start);
	cr_expect_eq(addresses[1], ip - 1);
	cr_expect_eq(addresses[2], (uint64_t)moment.caller - 1);
	unwinder_destroy(unwinder);
	symbol_module_close(symbols);
}

/* --- Several processes, garbage, speed --- */

/* The same addresses mean other code in another process: rules must not be mixed up. */
Test(unwind, mappings_of_several_processes)
{
	start_fn *start = build_chain("-O2 -fomit-frame-pointer");
	struct chain chain = {.depth = 10, .bottom = capture};
	uint64_t addresses[MAX_FRAMES];
	start(&chain);
	struct unwinder *unwinder = unwinder_create();
	for (size_t round = 0; round < 60; round++) {
		/* The other process has a library of another kind at each of these addresses. */
		struct unwind_mapping *others = malloc(n_mappings * sizeof(*others));
		memcpy(others, mappings, n_mappings * sizeof(*others));
		for (size_t i = 0; i < n_mappings; i++) {
			others[i].path = "/lib/x86_64-linux-gnu/libm.so.6";
			others[i].file_offset = 0x1000 * (round % 20 + 16);
		}
		unwinder_walk(unwinder, &moment.regs, moment.stack, moment.stack_size, others,
			      n_mappings, addresses, MAX_FRAMES);
		cr_expect_eq(addresses[0], moment.regs.ip);
		free(others);
		size_t n = walk(unwinder, addresses, MAX_FRAMES);
		expect_chain(&chain, addresses, n);
	}
	unwinder_destroy(unwinder);
	remove_chain(start);
}

static unsigned int seed = 1;

static uint64_t random_word(void)
{
	return (uint64_t)rand_r(&seed) << 42 ^ (uint64_t)rand_r(&seed) << 21 ^ rand_r(&seed);
}

/* Something that the unwinder may take for real: code, stack, small, or anything. */
static uint64_t plausible_word(void)
{
	const struct unwind_mapping *mapping = &mappings[rand_r(&seed) % n_mappings];
	switch (rand_r(&seed) % 4) {
	case 0:
		return mapping->start + random_word() % (mapping->end - mapping->start);
	case 1:
		return moment.regs.sp + random_word() % STACK_BYTES;
	case 2:
		return random_word() % 65536;
	}
	return random_word();
}

Test(unwind, garbage_does_no_harm)
{
	uint64_t addresses[MAX_FRAMES];
	struct unwinder *unwinder = unwinder_create();
	size_t longest = 0;
	for (int round = 0; round < 20000; round++) {
		uint64_t sp = random_word() % ((uint64_t)1 << 47) & ~7ull;
		moment.regs.sp = round % 8 ? sp : UINT64_MAX - round;
		for (size_t i = 0; i < 256; i++) {
			uint64_t word = plausible_word();
			memcpy(moment.stack + 8 * i, &word, sizeof(word));
		}
		moment.regs.ip = plausible_word();
		moment.regs.bp = plausible_word();
		moment.regs.bx = plausible_word();
		moment.regs.r12 = plausible_word();
		size_t n = unwinder_walk(unwinder, &moment.regs, moment.stack, 2048, mappings,
					 n_mappings, addresses, MAX_FRAMES);
		cr_assert(n >= 1 && n <= MAX_FRAMES);
		longest = n > longest ? n : longest;
	}
	cr_expect_gt(longest, 2); /* the garbage was plausible enough to be walked */
	unwinder_destroy(unwinder);
}

Test(unwind, a_warm_walk_is_fast)
{
	start_fn *start = build_chain("-O2 -fomit-frame-pointer");
	struct chain chain = {.depth = 10, .bottom = capture};
	uint64_t addresses[MAX_FRAMES];
	struct timespec from, to;
	start(&chain);
	struct unwinder *unwinder = unwinder_create();
	size_t n = walk(unwinder, addresses, MAX_FRAMES);
	enum { ROUNDS = 2000 };
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < ROUNDS; i++)
		cr_assert_eq(walk(unwinder, addresses, MAX_FRAMES), n);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	double us = ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / 1e3 / ROUNDS;
	cr_log_info("%zu frames: %.2f us a walk", n, us);
	/* The aim is 20 us; the bound leaves room for sanitizers. */
	cr_expect_lt(us, 100, "%zu frames: %.2f us a walk", n, us);
	unwinder_destroy(unwinder);
	remove_chain(start);
}
