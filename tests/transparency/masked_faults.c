/* Instructions with masked lanes that fault each time, until the handler gives them their page: they begin anew, and
 * their lanes count once.  Argument: how many of each.  A return loads 8 bytes. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KERNEL __attribute__((noinline, noclone))
#define PAGE 4096

static char *page;
/* So far from the code that translated code needs an address for it, not a distance. */
__asm__(".section .bss.far, \"aw\", @nobits\n\t.balign 4096\n\t.zero 2040 << 20\nfar_page:\t.zero 4096\n\t.text");
extern char far_page[] __attribute__((visibility("hidden")));

static void give(int number)
{
	(void)number;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	mprotect(far_page, PAGE, PROT_READ | PROT_WRITE);
}

/* 3 of 4 lanes of 8 bytes */
KERNEL __attribute__((target("avx2"))) static void masked_load(const double *from)
{
	static const long long mask[4] = {-1, 0, -1, -1};
	__asm__ volatile("vmovdqu %1, %%ymm0\n\tvmaskmovpd (%0), %%ymm0, %%ymm1"
			 :
			 : "r"(from), "m"(mask)
			 : "xmm0", "xmm1", "memory");
}

/* 2 of 4 */
KERNEL __attribute__((target("avx2"))) static void masked_store(double *to)
{
	static const long long mask[4] = {0, -1, -1, 0};
	__asm__ volatile("vmovdqu %1, %%ymm0\n\tvmaskmovpd %%ymm0, %%ymm0, (%0)"
			 :
			 : "r"(to), "m"(mask)
			 : "xmm0", "memory");
}

/* 3 of 4 */
KERNEL __attribute__((target("avx2"))) static void masked_far_load(void)
{
	static const long long mask[4] = {-1, 0, -1, -1};
	__asm__ volatile("vmovdqu %0, %%ymm0\n\tvmaskmovpd far_page(%%rip), %%ymm0, %%ymm1"
			 :
			 : "m"(mask)
			 : "xmm0", "xmm1", "memory");
}

/* 5 of 8, each an addition */
KERNEL static void masked_sum(const double *from)
{
	__asm__ volatile("movl $0x1f, %%eax\n\tkmovw %%eax, %%k1\n\tvaddpd (%0), %%zmm0, %%zmm1%{%%k1%}"
			 :
			 : "r"(from)
			 : "rax", "xmm1", "memory");
}

static void take_away(void)
{
	mprotect(page, PAGE, PROT_NONE);
	mprotect(far_page, PAGE, PROT_NONE);
}

int main(int n_words, char **words)
{
	const long n = n_words > 1 ? atol(words[1]) : 1;
	const int wide = __builtin_cpu_supports("avx512f");
	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || !__builtin_cpu_supports("avx2") || signal(SIGSEGV, give) == SIG_ERR)
		return 77;
	take_away();
	for (long i = 0; i < n; i++, take_away())
		masked_load((double *)page);
	for (long i = 0; i < n; i++, take_away())
		masked_store((double *)page);
	for (long i = 0; i < n; i++, take_away())
		masked_far_load();
	for (long i = 0; i < n && wide; i++, take_away())
		masked_sum((double *)page);
	printf("truth kernel=masked_load flop=0 load_bytes=%ld store_bytes=0\n", n * (32 + 3 * 8 + 8));
	printf("truth kernel=masked_far_load flop=0 load_bytes=%ld store_bytes=0\n", n * (32 + 3 * 8 + 8));
	printf("truth kernel=masked_store flop=0 load_bytes=%ld store_bytes=%ld\n", n * (32 + 8), n * 2 * 8);
	if (wide)
		printf("truth kernel=masked_sum flop=%ld load_bytes=%ld store_bytes=0\n", n * 5, n * (5 * 8 + 8));
	return 0;
}
