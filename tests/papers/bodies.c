/* [G] algorithm 8: n bodies that attract each other, one step a pass. */
#include "paper.h"

#include <math.h>

#define SOFTENING 1e-3 /* added to squares of distances: a body is at none from itself */

static void bodies(void)
{
	for (int k = 0; k < 7; k++)
		make(k, (size_t)size_n, 0.1 * k + 0.1, 0.1 * k + 1.3);
	for (long i = 0; i < size_n * copies; i++) /* no two in one place */
		arrays[0][i] += (double)i * 0.01;
}

static inline __attribute__((always_inline)) void move(real *p, const real *v, long n, double dt)
{
	for (long j = 0; j < n; j++)
		p[j] = p[j] + v[j] * dt;
}

KERNEL(n_body)
{
	const long n = size_n;
	const double dt = 1e-6;
	real *px = array(0), *py = array(1), *pz = array(2), *vx = array(3), *vy = array(4),
	     *vz = array(5);
	const real *mass = array(6);
	PASSES
	{
		for (long j = 0; j < n; j++) {
			double ax = 0, ay = 0, az = 0;
			const double x = px[j], y = py[j], z = pz[j];
			for (long k = 0; k < n; k++) {
				const double dx = px[k] - x, dy = py[k] - y, dz = pz[k] - z;
				const double d = sqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
				const double w = mass[k] / (d * d * d);
				ax += w * dx;
				ay += w * dy;
				az += w * dz;
			}
			vx[j] = vx[j] + ax * dt;
			vy[j] = vy[j] + ay * dt;
			vz[j] = vz[j] + az * dt;
		}
		move(px, vx, n, dt);
		move(py, vy, n, dt);
		move(pz, vz, n, dt);
	}
}

/* A pair: 3 differences, 6 for the square of the distance, a root, 2 for its cube, a division, 6
 * for the sums; a body: 6 for its velocity, 6 for its place. */
static struct counts bodies_truth(uint64_t n)
{
	return (struct counts){19 * n * n + 12 * n, 32 * n * n + 96 * n, 48 * n};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {{"n_body", bodies, n_body, bodies_truth},
						{NULL, NULL, NULL, NULL}};
	return paper_main(argc, argv, kernels);
}
