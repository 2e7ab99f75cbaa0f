/* What the processor keeps: vector and mask registers, x87, flags, protection keys, counters, identity.
 * @flags -mxsave -mcx16
 * @libraries -latomic
 * @cases vectors masks x87 flags pkeys rdtsc cpuid xgetbv direction wide int80
 */
#include "../own.h"

#include <cpuid.h>
#include <x86intrin.h>

static volatile int faults;

static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)number;
	faults += info->si_code == SEGV_PKUERR;
	__asm__ volatile("wrpkru" : : "a"(0), "c"(0), "d"(0));
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void vectors(int masks)
{
	uint64_t sums[8] = { 0 }, mask = 0;

	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw"))
		skip("no AVX-512");
	if (masks)
		__asm__ volatile("mov $0x5555, %%eax; kmovw %%eax, %%k7; mov $100, %%ecx\n"
				 "1: knotw %%k7, %%k7; dec %%ecx; jnz 1b; kmovw %%k7, %%eax; mov %%rax, %0"
				 : "=r"(mask) : : "rax", "rcx", "cc");
	else
		__asm__ volatile("vpternlogd $255, %%zmm31, %%zmm31, %%zmm31; vpxorq %%zmm16, %%zmm16, %%zmm16\n\t"
				 "mov $1000, %%ecx\n1: vpsubq %%zmm31, %%zmm16, %%zmm16; dec %%ecx; jnz 1b\n\t"
				 "vmovdqu64 %%zmm16, (%0)" : : "r"(sums) : "rcx", "memory", "cc");
	printf("mask %llx, sums %llu %llu\n", (unsigned long long)mask, (unsigned long long)sums[0],
	       (unsigned long long)sums[7]);
}

static void x87(void)
{
	unsigned char image[512] __attribute__((aligned(16)));
	uint16_t control = 0x27f, status;

	__asm__ volatile("fninit; fldcw %1; fldpi; fld1; fldl2e; fnstsw %0" : "=a"(status) : "m"(control));
	work(1000);
	__asm__ volatile("fxsave %0; fninit" : "=m"(image));
	printf("control %02x%02x, top %d, pi %02x%02x\n", image[1], image[0], status >> 11 & 7, image[32 + 9], image[32 + 8]);
}

static void flags(void)
{
	uint64_t seen = 0, now;

	for (int i = 0; i < 256; i++) {
		__asm__ volatile("mov %1, %%eax; sahf; jmp 1f\n1: jc 2f; nop\n2: jz 3f; nop\n3: pushf; pop %0"
				 : "=r"(now) : "r"(i << 8) : "rax", "cc", "memory");
		seen = seen * 31 + (now & 0xd5);
	}
	__asm__ volatile("pushf; pop %%rax; xor $0x200000, %%rax; push %%rax; popf; pushf; pop %0" : "=r"(now) : : "rax", "cc");
	printf("seen %016llx, id %d, trap %d\n", (unsigned long long)seen, (int)(now >> 21 & 1), (int)(now >> 8 & 1));
}

static void pkeys(void)
{
	char *page = pages(PAGE, PROT_READ | PROT_WRITE);
	int key = pkey_alloc(0, 0);

	if (key < 0)
		skip("no protection keys");
	handle(SIGSEGV, on_fault, 0);
	MUST(pkey_mprotect(page, PAGE, PROT_READ | PROT_WRITE, key) == 0);
	CHECK(pkey_set(key, PKEY_DISABLE_ACCESS) == 0 && pkey_get(key) == PKEY_DISABLE_ACCESS);
	__asm__ volatile("movb %%al, (%0)" : : "r"(page), "a"(1) : "memory");
	printf("faults %d\n", faults);
}

static void rdtsc(void)
{
	uint64_t before = 0;
	unsigned processor;

	for (int i = 0; i < 10000; i++) {
		uint64_t now = i % 2 ? __rdtsc() : __rdtscp(&processor);

		CHECK(now > before);
		before = now;
	}
}

static void direction(void)
{
	char bytes[64];
	void *end = bytes + 63;
	long n = 64;

	__asm__ volatile("std; rep stosb; cld" : "+D"(end), "+c"(n) : "a"('x') : "memory");
	printf("%ld %c %c\n", (long)((char *)end - bytes), bytes[0], bytes[63]);
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	unsigned a = 0, b = 0, c = 0, d = 0;

	if (!strcmp(how, "vectors") || !strcmp(how, "masks"))
		vectors(!strcmp(how, "masks"));
	else if (!strcmp(how, "x87"))
		x87();
	else if (!strcmp(how, "flags"))
		flags();
	else if (!strcmp(how, "pkeys"))
		pkeys();
	else if (!strcmp(how, "rdtsc"))
		rdtsc();
	else if (!strcmp(how, "direction"))
		direction();
	else if (!strcmp(how, "wide")) {
		static __int128 wide __attribute__((aligned(16))) = 5;
		__int128 expected = 5;

		CHECK(__sync_bool_compare_and_swap(&wide, expected, (__int128)7 << 70) && wide >> 70 == 7);
	} else if (!strcmp(how, "int80")) {
		long pid;

		__asm__ volatile("int $0x80" : "=a"(pid) : "a"(20) : "r8", "r9", "r10", "r11", "memory");
		CHECK(pid == getpid());
	} else if (!strcmp(how, "xgetbv")) {
		printf("%llx\n", (unsigned long long)_xgetbv(0));
	} else {
		for (unsigned leaf = 0; leaf < 8; leaf++) {
			__get_cpuid_count(leaf, 0, &a, &b, &c, &d);
			printf("%x %x\n", leaf, leaf == 1 ? a : a ^ d);
		}
	}
	return done();
}
