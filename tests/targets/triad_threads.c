/* The triad by four threads at once, each with its own length: the sum over the threads is exact,
 * and so is each thread's share. */
#include "truth.h"

#include <pthread.h>

enum { THREADS = 4, N = 20000, CALLS = 20 };

/* rdi = n, rsi = a, rdx = b, rcx = c, xmm0 = s */
KERNEL(triad_part,
		unpcklpd xmm0, xmm0;
		xor eax, eax;
	1:	movapd xmm1, [rcx + rax*8];
		mulpd xmm1, xmm0;
		addpd xmm1, [rdx + rax*8];
		movapd [rsi + rax*8], xmm1;
		add rax, 2;
		cmp rax, rdi;
		jb 1b;
		ret);
void triad_part(uint64_t n, double *a, const double *b, const double *c, double s);

struct part { pthread_t thread; char name[16]; uint64_t n; double *a, *b, *c; };

static pthread_barrier_t all_here;

static void *work(void *argument)
{
	struct part *part = argument;

	pthread_setname_np(pthread_self(), part->name);
	pthread_barrier_wait(&all_here);
	for (int call = 0; call < CALLS; call++)
		triad_part(part->n, part->a, part->b, part->c, 0.5);
	return NULL;
}

static void part_truth(const char *thread, uint64_t calls, uint64_t n)
{
	TRUTH("triad_part", .thread = thread, .instructions = 3 * calls + 7 * (n / 2),
	      .load_bytes = 16 * n + 8 * calls, .store_bytes = 8 * n,
	      KINDS({ "mul_double_128", n }, { "add_double_128", n }));
}

int main(void)
{
	struct part parts[THREADS];
	uint64_t total = 0;

	pthread_barrier_init(&all_here, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		struct part *part = &parts[i];

		part->n = (uint64_t)N * (i + 1);
		part->a = doubles(part->n, 0);
		part->b = doubles(part->n, 1);
		part->c = doubles(part->n, 2);
		snprintf(part->name, sizeof(part->name), "triad-%d", i);
		if (pthread_create(&part->thread, NULL, work, part))
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(parts[i].thread, NULL);
		printf("sum %.17g\n", sum(parts[i].a, parts[i].n));
		part_truth(parts[i].name, CALLS, CALLS * parts[i].n);
		total += CALLS * parts[i].n;
		free(parts[i].a);
		free(parts[i].b);
		free(parts[i].c);
	}
	part_truth(NULL, THREADS * CALLS, total);
	return 0;
}
