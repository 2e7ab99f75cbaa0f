/* Particles in a periodic box that repel each other when they are near: cells, and lists of what
 * lies in each, so that a particle looks at the 27 cells around it only.
 *
 * particles [CELLS_OF_AN_EDGE [STEPS]] */
#include "miniapp.h"

enum { PER_CELL = 4, ROOM = 24 };

struct cloud {
	int edge, n;
	double *x, *v, *f; /* three of each particle */
	int *of_cell, *filled;
};

static uint64_t n_looked_at, n_near;

static int cell_of(const struct cloud *cloud, const double *x)
{
	int cell = 0;
	for (int d = 0; d < 3; d++) {
		const int at = (int)x[d];
		const int last = cloud->edge - 1;
		cell = cell * cloud->edge + (at < 0 ? 0 : at > last ? last : at);
	}
	return cell;
}

static struct cloud make_cloud(int edge)
{
	const int n_cells = edge * edge * edge;
	struct cloud cloud = {.edge = edge, .n = PER_CELL * n_cells};
	uint64_t state = 3;
	cloud.x = array_of(3 * (size_t)cloud.n, sizeof(double));
	cloud.v = array_of(3 * (size_t)cloud.n, sizeof(double));
	cloud.f = array_of(3 * (size_t)cloud.n, sizeof(double));
	cloud.of_cell = array_of((size_t)n_cells * ROOM, sizeof(int));
	cloud.filled = array_of((size_t)n_cells, sizeof(int));
	for (int i = 0; i < 3 * cloud.n; i++)
		cloud.x[i] = next_random(&state) % 4096 * edge / 4096.0;
	return cloud;
}

/* No flop */
KERNEL_FUNCTION void sort_cells(struct cloud *cloud)
{
	const int n_cells = cloud->edge * cloud->edge * cloud->edge;
	for (int c = 0; c < n_cells; c++)
		cloud->filled[c] = 0;
	for (int i = 0; i < cloud->n; i++) {
		const int cell = cell_of(cloud, cloud->x + 3 * i);
		if (cloud->filled[cell] < ROOM)
			cloud->of_cell[cell * ROOM + cloud->filled[cell]++] = i;
	}
}

/* 8 flop for each that is looked at, and 10 where it is near */
static void add_forces(const struct cloud *cloud, int i, int cell, const double *shift)
{
	const double *x = cloud->x + 3 * i;
	double *f = cloud->f + 3 * i;
	for (int k = 0; k < cloud->filled[cell]; k++) {
		const int j = cloud->of_cell[cell * ROOM + k];
		if (i == j)
			continue;
		const double *y = cloud->x + 3 * j;
		const double dx = x[0] - y[0] + shift[0], dy = x[1] - y[1] + shift[1],
			     dz = x[2] - y[2] + shift[2];
		const double r2 = dx * dx + dy * dy + dz * dz; /* 6 + 5 flop up to here */
		n_looked_at++;
		if (r2 >= 1 || r2 == 0)
			continue;
		const double push = (1 - r2) / r2; /* 2 */
		f[0] += push * dx;                 /* 2 each */
		f[1] += push * dy;
		f[2] += push * dz;
		n_near++;
	}
}

KERNEL_FUNCTION void forces(const struct cloud *cloud)
{
	const int edge = cloud->edge;
	for (int i = 0; i < cloud->n; i++) {
		const int cell = cell_of(cloud, cloud->x + 3 * i);
		const int at[3] = {cell / edge / edge, cell / edge % edge, cell % edge};
		for (int k = 0; k < 27; k++) {
			const int step[3] = {k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1};
			double shift[3];
			int other = 0;
			for (int d = 0; d < 3; d++) {
				const int to = at[d] + step[d];
				const int turns = to < 0 ? 1 : to >= edge ? -1 : 0;
				shift[d] = turns * edge;
				other = other * edge + to + turns * edge;
			}
			add_forces(cloud, i, other, shift);
		}
	}
}

/* 4 flop a coordinate */
KERNEL_FUNCTION void move(struct cloud *cloud, double dt)
{
	for (int i = 0; i < 3 * cloud->n; i++) {
		cloud->v[i] += dt * cloud->f[i];
		cloud->x[i] += dt * cloud->v[i];
		cloud->f[i] = 0;
	}
}

int main(int n, char **words)
{
	const int edge = argument(n, words, 1, 20), steps = argument(n, words, 2, 16);
	struct cloud cloud = make_cloud(edge);
	double sum = 0;
	for (int step = 0; step < steps; step++) {
		sort_cells(&cloud);
		forces(&cloud);
		move(&cloud, 1e-4);
	}
	for (int i = 0; i < 3 * cloud.n; i++)
		sum += cloud.x[i];
	printf("sum %.10g\n", sum);
	truth("forces", 11 * n_looked_at + 8 * n_near);
	truth("move", 12ull * (unsigned)cloud.n * (unsigned)steps);
	return 0;
}
