/* Hydrodynamics on a grid of cells: an ideal gas, velocities at the sides of cells, and donor sums
 * in both directions; many sweeps over arrays that are larger than caches (as CloverLeaf does).
 *
 * hydro [EDGE [STEPS]] */
#include "miniapp.h"

static int edge;
static double *density, *energy, *pressure, *sound, *u, *v, *flux_x, *flux_y;

#define AT(i, j) ((size_t)(j) * (size_t)(edge + 2) + (size_t)(i))

/* 5 flop a cell */
KERNEL_FUNCTION void equation_of_state(void)
{
#pragma omp parallel for
	for (int j = 1; j <= edge; j++)
		for (int i = 1; i <= edge; i++) {
			const double p = 0.4 * density[AT(i, j)] * energy[AT(i, j)];
			pressure[AT(i, j)] = p;
			sound[AT(i, j)] = __builtin_sqrt(1.4 * p / density[AT(i, j)]);
		}
}

/* 12 flop a cell */
KERNEL_FUNCTION void accelerate(double dt)
{
#pragma omp parallel for
	for (int j = 2; j <= edge; j++)
		for (int i = 2; i <= edge; i++) {
			const double here = density[AT(i, j)], p = pressure[AT(i, j)];
			u[AT(i, j)] += dt * (pressure[AT(i - 1, j)] - p) /
				       (0.5 * (density[AT(i - 1, j)] + here));
			v[AT(i, j)] += dt * (pressure[AT(i, j - 1)] - p) /
				       (0.5 * (density[AT(i, j - 1)] + here));
		}
}

/* 6 flop a cell */
KERNEL_FUNCTION void fluxes(void)
{
#pragma omp parallel for
	for (int j = 2; j <= edge; j++)
		for (int i = 2; i <= edge; i++) {
			const double here = density[AT(i, j)];
			flux_x[AT(i, j)] = 0.5 * (density[AT(i - 1, j)] + here) * u[AT(i, j)];
			flux_y[AT(i, j)] = 0.5 * (density[AT(i, j - 1)] + here) * v[AT(i, j)];
		}
}

/* 12 flop a cell */
KERNEL_FUNCTION void advance(double dt)
{
#pragma omp parallel for
	for (int j = 2; j < edge; j++)
		for (int i = 2; i < edge; i++) {
			const double spread =
				(u[AT(i + 1, j)] - u[AT(i, j)]) + (v[AT(i, j + 1)] - v[AT(i, j)]);
			energy[AT(i, j)] -= dt * pressure[AT(i, j)] * spread / density[AT(i, j)];
			density[AT(i, j)] += dt * (flux_x[AT(i, j)] - flux_x[AT(i + 1, j)] +
						   flux_y[AT(i, j)] - flux_y[AT(i, j + 1)]);
		}
}

int main(int n, char **words)
{
	edge = argument(n, words, 1, 1000);
	const int steps = argument(n, words, 2, 40);
	const size_t cells = (size_t)(edge + 2) * (size_t)(edge + 2);
	double **const arrays[] = {&density, &energy, &pressure, &sound, &u, &v, &flux_x, &flux_y};
	for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
		*arrays[k] = array_of(cells, sizeof(double));
	for (size_t k = 0; k < cells; k++) {
		density[k] = 1;
		energy[k] = k % (size_t)(edge + 2) < (size_t)edge / 4 ? 2.5 : 2;
	}
	for (int step = 0; step < steps; step++) {
		equation_of_state();
		accelerate(1e-3);
		fluxes();
		advance(1e-3);
	}
	printf("sum %.10g %.10g\n", energy[AT(edge / 2, edge / 2)], sound[AT(edge / 2, edge / 2)]);
	const uint64_t all = (uint64_t)edge * (uint64_t)edge * (uint64_t)steps;
	const uint64_t sides = (uint64_t)(edge - 1) * (uint64_t)(edge - 1) * (uint64_t)steps;
	const uint64_t inner = (uint64_t)(edge - 2) * (uint64_t)(edge - 2) * (uint64_t)steps;
	truth("equation_of_state", 5 * all);
	truth("accelerate", 12 * sides);
	truth("fluxes", 6 * sides);
	truth("advance", 12 * inner);
	return 0;
}
