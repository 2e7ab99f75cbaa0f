/* FS and GS are the program's to use.
 * @cases set_fs wrfsbase set_gs get_gs wrgsbase read_gs selectors
 * @partly set_gs wrgsbase read_gs: GS */
#include "../own.h"

#include <asm/prctl.h>
#include <setjmp.h>

static uint64_t block[16] = { 11, 22, 33 };
static sigjmp_buf out;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	printf("fault at %p\n", info->si_addr);
	siglongjmp(out, 1);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	uint64_t value = 0, base = 1, old;
	uint16_t selector = 9, data = 9;

	handle(SIGSEGV, on_fault, 0);
	if (!strcmp(how, "set_fs")) {
		__asm__ volatile("mov $158, %%eax; mov $0x1003, %%edi; mov %3, %%rsi; syscall\n\t"	/* ARCH_GET_FS */
				 "mov $158, %%eax; mov $0x1002, %%edi; mov %2, %%rsi; syscall\n\t"
				 "mov %%fs:8, %0; mov (%3), %%rsi; mov $158, %%eax; mov $0x1002, %%edi; syscall"
				 : "=&b"(value), "+m"(old) : "r"(block), "r"(&old)
				 : "rax", "rcx", "r11", "rdi", "rsi", "memory");
	} else if (!strcmp(how, "wrfsbase")) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("rdfsbase %1; wrfsbase %2; mov %%fs:16, %0; wrfsbase %1"
					 : "=&r"(value), "=&r"(old) : "r"(block) : "memory");
	} else if (!strcmp(how, "set_gs")) {
		CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, block) == 0);
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("mov %%gs:8, %0" : "=r"(value));
		CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == (uint64_t)block);
	} else if (!strcmp(how, "get_gs")) {
		CHECK(syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0);
	} else if (!strcmp(how, "wrgsbase")) {
		__asm__ volatile("rdgsbase %1; wrgsbase %2; mov %%gs:0, %0" : "=&r"(value), "=&r"(base) : "r"(block));
		CHECK(base == 0);
	} else if (!strcmp(how, "read_gs")) {
		if (sigsetjmp(out, 1) == 0)
			__asm__ volatile("mov %%gs:0x40, %0" : "=r"(value));
	} else {
		__asm__ volatile("mov %%gs, %0; mov %%ds, %1" : "=r"(selector), "=r"(data));
		CHECK(selector == 0 && data == 0);
	}
	printf("value %llu, work %d\n", (unsigned long long)value, work(1000));
	return done();
}
