/* Unstructured mesh: values at nodes that are numbered at random, gathered by elements of four
 * nodes, and by each node from the elements around it.
 *
 * mesh [ELEMENTS [STEPS]] */
#include "miniapp.h"

enum { CORNERS = 4, AROUND = 8 };

struct mesh {
	int n_nodes, n_elements;
	int *corner[CORNERS]; /* of each element: nodes */
	int *around;          /* of each node: AROUND elements */
	double *value, *volume, *flux, *mass;
};

static struct mesh make_mesh(int n_elements)
{
	struct mesh mesh = {.n_nodes = n_elements / 2, .n_elements = n_elements};
	uint64_t state = 1;
	for (int c = 0; c < CORNERS; c++)
		mesh.corner[c] = array_of((size_t)n_elements, sizeof(int));
	mesh.around = array_of((size_t)mesh.n_nodes * AROUND, sizeof(int));
	mesh.value = array_of((size_t)mesh.n_nodes, sizeof(double));
	mesh.mass = array_of((size_t)mesh.n_nodes, sizeof(double));
	mesh.volume = array_of((size_t)n_elements, sizeof(double));
	mesh.flux = array_of((size_t)n_elements, sizeof(double));
	for (int e = 0; e < n_elements; e++) {
		for (int c = 0; c < CORNERS; c++)
			mesh.corner[c][e] = (int)(next_random(&state) % (unsigned)mesh.n_nodes);
		mesh.volume[e] = 1 + e % 7;
	}
	for (int i = 0; i < mesh.n_nodes; i++) {
		for (int k = 0; k < AROUND; k++)
			mesh.around[i * AROUND + k] =
				(int)(next_random(&state) % (unsigned)n_elements);
		mesh.value[i] = i % 100;
		mesh.mass[i] = 20 + i % 5;
	}
	return mesh;
}

/* 5 flop an element */
KERNEL_FUNCTION void gather_fluxes(int n, const int *restrict a, const int *restrict b,
				   const int *restrict c, const int *restrict d,
				   const double *restrict value, const double *restrict volume,
				   double *restrict flux)
{
	for (int e = 0; e < n; e++)
		flux[e] =
			(value[a[e]] + value[b[e]] - value[c[e]] - value[d[e]]) * 0.25 * volume[e];
}

/* 10 flop a node: 8 sums, a quotient, a sum */
KERNEL_FUNCTION void update_nodes(int n, const int *restrict around, const double *restrict flux,
				  const double *restrict mass, double *restrict value)
{
	for (int i = 0; i < n; i++) {
		double sum = 1e-9;
		for (int k = 0; k < AROUND; k++)
			sum += flux[around[i * AROUND + k]];
		value[i] += sum / mass[i];
	}
}

int main(int n, char **words)
{
	const int elements = argument(n, words, 1, 400000), steps = argument(n, words, 2, 250);
	struct mesh mesh = make_mesh(elements);
	double sum = 0;
	for (int step = 0; step < steps; step++) {
		gather_fluxes(mesh.n_elements, mesh.corner[0], mesh.corner[1], mesh.corner[2],
			      mesh.corner[3], mesh.value, mesh.volume, mesh.flux);
		update_nodes(mesh.n_nodes, mesh.around, mesh.flux, mesh.mass, mesh.value);
	}
	for (int i = 0; i < mesh.n_nodes; i++)
		sum += mesh.value[i];
	printf("sum %.10g\n", sum);
	truth("gather_fluxes", 5ull * (unsigned)mesh.n_elements * (unsigned)steps);
	truth("update_nodes", 10ull * (unsigned)mesh.n_nodes * (unsigned)steps);
	return 0;
}
