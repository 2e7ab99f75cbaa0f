/* Streams over arrays a, b and c of N doubles; what they compute goes to sink.  The includer has these. */
#pragma once

#define KERNEL static __attribute__((noinline, noclone)) void

KERNEL sum(void)
{
	double s = 0;
	for (long i = 0; i < N; i++)
		s += a[i];
	sink = s;
}

KERNEL copy(void)
{
	for (long i = 0; i < N; i++)
		a[i] = b[i];
}

KERNEL triad(void)
{
	for (long i = 0; i < N; i++)
		a[i] = b[i] + 3 * c[i];
}

KERNEL daxpy(void)
{
	for (long i = 0; i < N; i++)
		a[i] += 3 * b[i];
}
