/* Code that runs on from a page that stays into one that changes: straight on, behind a branch, and behind a call during
 * which the next page changes.
 * @cases straight branch call */
#include "../own.h"

static unsigned char *pages_of_code;

/* mov $value, %eax; add $8, %rsp; ret: the second page */
static int change(int value)
{
	unsigned char bytes[10] = { 0xb8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3 };

	memcpy(bytes + 1, &value, 4);
	MUST(mprotect(pages_of_code + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	memcpy(pages_of_code + PAGE, bytes, sizeof(bytes));
	MUST(mprotect(pages_of_code + PAGE, PAGE, PROT_READ | PROT_EXEC) == 0);
	return value % 2;
}

typedef int function(int (*change)(int), int value);

/* Puts code at the end of the first page.  Returns where it begins. */
static function *put(const void *code, size_t size)
{
	unsigned char *at = pages_of_code + PAGE - size;

	MUST(mprotect(pages_of_code, PAGE, PROT_READ | PROT_WRITE) == 0);
	memcpy(at, code, size);
	MUST(mprotect(pages_of_code, PAGE, PROT_READ | PROT_EXEC) == 0);
	return (function *)(intptr_t)at;
}

int main(int argc, char **argv)
{
	/* sub $8, %rsp; */
	static const unsigned char straight[] = { 0x48, 0x83, 0xec, 8 };
	/* sub $8, %rsp; test $1, %sil; jne 1f; nop; nop; 1: */
	static const unsigned char branch[] = { 0x48, 0x83, 0xec, 8, 0x40, 0xf6, 0xc6, 1, 0x75, 2, 0x90, 0x90 };
	/* sub $8, %rsp; mov %rdi, %rax; mov %esi, %edi; call *%rax; test %eax, %eax; jne 1f; nop; nop; 1: */
	static const unsigned char call[] = { 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8, 0x89, 0xf7, 0xff, 0xd0,
					      0x85, 0xc0, 0x75, 2, 0x90, 0x90 };
	const char *how = argv[argc - 1];
	const int changes_itself = !strcmp(how, "call");

	pages_of_code = pages(2 * PAGE, PROT_READ | PROT_WRITE);
	change(-1);
	function *f = changes_itself ? put(call, sizeof(call)) : !strcmp(how, "branch") ? put(branch, sizeof(branch)) :
									   put(straight, sizeof(straight));
	for (int i = 0; i < 60; i++) {
		if (!changes_itself)
			change(i);
		CHECK(f(change, i) == i);
	}
	return done();
}
