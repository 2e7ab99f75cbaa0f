/* Five bodies under gravity, scalar arithmetic with a square root and a division a pair. */
#include <math.h>
#include <stdio.h>

enum { BODIES = 5, STEPS = 40000000 };

struct body {
	double x[3], v[3], mass;
};

__attribute__((noinline)) static void step(struct body *bodies, double dt)
{
	for (int i = 0; i < BODIES; i++)
		for (int j = i + 1; j < BODIES; j++) {
			double d[3], square = 0.01;

			for (int k = 0; k < 3; k++) {
				d[k] = bodies[i].x[k] - bodies[j].x[k];
				square += d[k] * d[k];
			}
			double pull = dt / (square * sqrt(square));

			for (int k = 0; k < 3; k++) {
				bodies[i].v[k] -= d[k] * bodies[j].mass * pull;
				bodies[j].v[k] += d[k] * bodies[i].mass * pull;
			}
		}
	for (int i = 0; i < BODIES; i++)
		for (int k = 0; k < 3; k++)
			bodies[i].x[k] += dt * bodies[i].v[k];
}

int main(void)
{
	struct body bodies[BODIES];

	for (int i = 0; i < BODIES; i++)
		for (int k = 0; k < 3; k++)
			bodies[i] = (struct body){{i, 2 * i, i % 3}, {0, 0.1 * i, 0}, 1 + i};
	for (int i = 0; i < STEPS; i++)
		step(bodies, 1e-3);
	printf("%.9f\n", bodies[0].x[0]);
	return 0;
}
