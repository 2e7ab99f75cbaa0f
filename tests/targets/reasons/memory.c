/* As kernels.c: functions whose data come from memory.  Its argument is the size of the data in MiB,
 * which has to be a power of two and several times the last cache. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline, noclone))

static volatile double sink;

KERNEL void stream_fill(double *a, size_t n, double v)
{
	for (size_t i = 0; i < n; i += 8)
#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			a[i + k] = v;
}

KERNEL void stream_copy(double *restrict a, const double *restrict b, size_t n)
{
	for (size_t i = 0; i < n; i += 8)
#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			a[i + k] = b[i + k];
}

KERNEL double stream_read(const double *a, size_t n)
{
	double s[8] = {0};
	for (size_t i = 0; i < n; i += 8)
#pragma GCC unroll 8
		for (int k = 0; k < 8; k++)
			s[k] += a[i + k];
	return s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

/* Much arithmetic for what it writes. */
KERNEL void written_rarely(double *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double v = 1 + 1e-9 * (double)i;
		for (int k = 0; k < 60; k++)
			v = v * 0.9 + 0.1;
		a[i] = v;
	}
}

/* One field of eight. */
KERNEL double one_field(const double *a, size_t n)
{
	double s = 0, t = 0;
	for (size_t i = 0; i < n; i += 16) {
		s += a[i];
		t += a[i + 8];
	}
	return s + t;
}

/* Down the columns of a matrix with rows of 4,160 bytes. */
KERNEL double columns(const double *a, size_t n)
{
	const size_t row = 520;
	double s = 0, t = 0;
	for (size_t column = 0; column < 64; column++)
		for (size_t i = column; i + row < n; i += 2 * row) {
			s += a[i];
			t += a[i + row];
		}
	return s + t;
}

KERNEL double random_reads(const double *a, size_t n, uint32_t count)
{
	double s = 0;
	for (uint32_t i = 0; i < count; i++)
		s += a[(size_t)(i * 2654435761u ^ i * 40503u << 7) & (n - 1)];
	return s;
}

KERNEL void random_writes(double *a, size_t n, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		a[(size_t)(i * 2654435761u ^ i * 40503u << 7) & (n - 1)] += 1;
}

struct node {
	struct node *next;
	uint64_t pad[7];
};

/* All nodes on one cycle without order (Sattolo). */
KERNEL void link_nodes(struct node *nodes, uint32_t *order, size_t n)
{
	uint64_t state = 88172645463325252u;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		const size_t k = state % i;
		const uint32_t other = order[k];
		order[k] = order[i];
		order[i] = other;
	}
	for (size_t i = 0; i < n; i++)
		nodes[order[i]].next = &nodes[order[(i + 1) % n]];
}

KERNEL struct node *chase(struct node *node, size_t n)
{
	for (size_t i = 0; i < n; i++)
		node = node->next;
	return node;
}

int main(int argc, char **argv)
{
	const size_t bytes = (argc > 1 ? strtoul(argv[1], NULL, 10) : 256) << 20,
		     n = bytes / sizeof(double), n_nodes = bytes / sizeof(struct node);
	double *a = aligned_alloc(1 << 21, bytes);
	uint32_t *order = malloc(n_nodes * sizeof(*order));
	if (!a || !order)
		return 1;
	memset(a, 0, bytes);
	for (int i = 0; i < 8; i++) {
		stream_fill(a, n, 1.5 + i);
		stream_copy(a, a + n / 2, n / 2);
		sink = stream_read(a, n);
	}
	written_rarely(a, 600000);
	sink = one_field(a, n);
	sink = one_field(a, n);
	sink = one_field(a, n);
	sink = columns(a, n);
	sink = random_reads(a, n, 6000000);
	random_writes(a, n, 6000000);
	link_nodes((struct node *)a, order, n_nodes);
	sink = (double)(chase((struct node *)a, 1500000) - (struct node *)a);
	free(a);
	free(order);
	return 0;
}
