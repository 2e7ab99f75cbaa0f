/* Code that changes under the program: rewritten in place, mapped over, moved, dropped, written by
 * another process's way; and code on the stack, on the heap, in shared memory, mapped twice.
 * @cases rewrite twice fixed moved dropped self_mem unmapped none heap shared threads pkey text
 * @partly rewrite twice heap shared self_mem text: memory
 * @partly unmapped none: not executable */
#include "../own.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

typedef int function(void);

static unsigned char *code;
static sigjmp_buf out;
static atomic_int phase, threads_wrong;

static int call(void *at)
{
	return ((function *)(intptr_t)at)();
}

static void emit(void *at, int value)		/* mov $value, %eax; ret */
{
	unsigned char bytes[6] = { 0xb8, 0, 0, 0, 0, 0xc3 };

	memcpy(bytes + 1, &value, 4);
	memcpy(at, bytes, 6);
}

static void *fresh(int value, int protection)
{
	void *at = pages(PAGE, PROT_READ | PROT_WRITE);

	emit(at, value);
	MUST(mprotect(at, PAGE, protection) == 0);
	return at;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	CHECK(info->si_addr == code);
	siglongjmp(out, 1);
}

static void *flip(void *unused)		/* calls whatever is in a page that others exchange */
{
	while (!phase)
		threads_wrong += call(code) < 100;
	return unused;
}

NOINLINE int in_text(void)
{
	__asm__ volatile("");
	return 1;
}

static int round_of(const char *how, int i)
{
	if (!strcmp(how, "rewrite")) {
		emit(code, i);
	} else if (!strcmp(how, "twice") || !strcmp(how, "shared")) {
		static unsigned char *writable;
		int fd = memfd_create("code", 0);

		if (!writable) {
			MUST(ftruncate(fd, PAGE) == 0);
			writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
			code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
		}
		close(fd);
		emit(writable, i);
	} else if (!strcmp(how, "fixed")) {
		unsigned char *next = fresh(i, PROT_READ | PROT_EXEC);

		MUST(mremap(next, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, code) == code);
	} else if (!strcmp(how, "moved")) {
		unsigned char *next = fresh(i, PROT_READ | PROT_EXEC), *gap = pages(PAGE, PROT_NONE);

		call(next);
		code = mremap(next, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, gap);
	} else if (!strcmp(how, "dropped")) {	/* a private file page goes back to what the file has */
		static int fd;

		if (!fd) {
			fd = memfd_create("code", 0);
			MUST(ftruncate(fd, PAGE) == 0);
			code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		}
		unsigned char bytes[6];

		emit(bytes, i);
		MUST(pwrite(fd, bytes, 6, 0) == 6 && madvise(code, PAGE, MADV_DONTNEED) == 0);
	} else if (!strcmp(how, "self_mem") || !strcmp(how, "text")) {
		int fd = open("/proc/self/mem", O_RDWR);
		unsigned char bytes[6];

		code = !strcmp(how, "text") ? (unsigned char *)(intptr_t)in_text : code;
		emit(bytes, i);
		call(code);
		MUST(pwrite(fd, bytes, 6, (off_t)(intptr_t)code) == 6);
		close(fd);
	} else if (!strcmp(how, "unmapped") || !strcmp(how, "none")) {
		code = fresh(i, PROT_READ | PROT_EXEC);
		CHECK(call(code) == i);
		if (sigsetjmp(out, 1) == 0) {
			MUST(!strcmp(how, "none") ? mprotect(code, PAGE, PROT_NONE) == 0 : munmap(code, PAGE) == 0);
			call(code);
			CHECK(!"reached");
		}
		return i;
	} else if (!strcmp(how, "heap")) {
		code = aligned_alloc(PAGE, PAGE);
		MUST(mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
		emit(code, i);
	} else if (!strcmp(how, "pkey")) {
		int key = pkey_alloc(0, 0);

		MUST(pkey_mprotect(code, PAGE, PROT_READ | PROT_WRITE, key < 0 ? -1 : key) == 0);
		emit(code, i);
		MUST(pkey_mprotect(code, PAGE, PROT_READ | PROT_EXEC, key < 0 ? -1 : key) == 0);
		if (key >= 0)
			pkey_free(key);
	}
	return call(code);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	const int writable = !strcmp(how, "rewrite");
	pthread_t threads[2];

	handle(SIGSEGV, on_fault, 0);
	code = fresh(100, PROT_READ | PROT_EXEC | (writable ? PROT_WRITE : 0));
	if (!strcmp(how, "threads")) {
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, flip, NULL);
		for (int i = 0; i < 100; i++)
			CHECK(round_of("fixed", 100 + i) == 100 + i);
		phase = 1;
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		CHECK(threads_wrong == 0);
		return done();
	}
	for (int i = 0; i < 60; i++)
		CHECK(round_of(how, i) == i);
	return done();
}
