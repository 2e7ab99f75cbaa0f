/* Kernels as mini-applications have them ([G] chapter 6), each in versions that compute the same:
 * XSBench's lookups in three orders, CloverLeaf's PdV without and with blocks, PENNANT's sides in
 * chunks of 64 and of 4, VPIC's particles as structures and as structures of arrays by cell. */
#include "paper.h"

#include <math.h>

#ifdef EXACT
typedef volatile float single;
typedef volatile long __attribute__((may_alias)) whole;
typedef volatile int __attribute__((may_alias)) narrow;
#else
typedef float __attribute__((may_alias)) single;
typedef long __attribute__((may_alias)) whole;
typedef int __attribute__((may_alias)) narrow;
#endif

#define wholes(k) ((whole *)array(k))
#define singles(k) ((single *)array(k))
#define PART static inline __attribute__((always_inline))
#define EACH_COPY for (copy = 0; copy < copies || (copy = 0); copy++)

/* A number that stays in a register: the compiler does not know it. */
#define HELD(type, name, value) \
	type name = value;      \
	__asm__("" : "+x"(name))

/* Knuth's generator (MMIX) */
static uint32_t next_random(void)
{
	static uint64_t state = 7;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33);
}

static double random_below(double end)
{
	return next_random() / 2147483648.0 * end;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* ---- XSBench: cross sections of a material at an energy ---- */

#ifdef EXACT
enum { POINTS = 2048 }; /* of a nuclide: few suffice for counts */
#else
enum { POINTS = 16384 }; /* many, for tables larger than caches */
#endif
enum { NUCLIDES = 16, GRID = NUCLIDES * POINTS, FIELDS = 6, SECTIONS = 5 };
enum { MATERIALS = 4, PARTS = 12 }; /* PARTS of the nuclides are in each */
enum { ENERGY, MATERIAL, ENERGIES, ROWS, TABLES, PART_OF, DENSITY, RESULT };

/* Each nuclide has a row for each of POINTS energies; of each of all these energies it is known
 * which row of each nuclide is below it. */
static void fill_tables(void)
{
	double *tables = (double *)array(TABLES), *grid = (double *)array(ENERGIES);
	for (int k = 0; k < NUCLIDES; k++) {
		double *own = tables + k * POINTS * FIELDS;
		for (int i = 0; i < POINTS; i++)
			grid[k * POINTS + i] = random_below(1);
		qsort(grid + k * POINTS, POINTS, sizeof(*grid), by_value);
		for (int i = 0; i < POINTS; i++) {
			own[i * FIELDS] = grid[k * POINTS + i];
			for (int s = 1; s < FIELDS; s++)
				own[i * FIELDS + s] = random_below(1);
		}
	}
	qsort(grid, GRID, sizeof(*grid), by_value);
	for (int k = 0; k < NUCLIDES; k++)
		for (long i = 0, row = 0; i < GRID; i++) {
			const double *own = tables + k * POINTS * FIELDS;
			while (row < POINTS - 2 && own[(row + 1) * FIELDS] <= grid[i])
				row++;
			wholes(ROWS)[i * NUCLIDES + k] = row;
		}
	for (int m = 0; m < MATERIALS; m++)
		for (int k = 0, part = 0; k < NUCLIDES; k++)
			if (k % MATERIALS != m)
				wholes(PART_OF)[m * PARTS + part++] = k;
}

/* Materials in turn; `sorted`: by energy within each of the materials, or all of them. */
static void fill_lookups(int sorted, int by_material)
{
	double *energy = (double *)array(ENERGY);
	const long n = size_n, each = n / MATERIALS;
	for (long i = 0; i < n; i++) {
		energy[i] = random_below(1);
		wholes(MATERIAL)[i] =
			by_material ? i / each % MATERIALS : next_random() % MATERIALS;
	}
	if (sorted && !by_material)
		qsort(energy, (size_t)n, sizeof(*energy), by_value);
	for (int m = 0; sorted && by_material && m < MATERIALS; m++)
		qsort(energy + m * each, (size_t)each, sizeof(*energy), by_value);
}

static void make_lookups(int sorted, int by_material)
{
	make(ENERGY, (size_t)size_n, 0, 1);
	make(MATERIAL, (size_t)size_n, 0, 1);
	make(ENERGIES, GRID, 0, 1);
	make(ROWS, GRID * NUCLIDES, 0, 1);
	make(TABLES, GRID * FIELDS, 0, 1);
	make(PART_OF, MATERIALS * PARTS, 0, 1);
	make(DENSITY, MATERIALS * PARTS, 1, 2);
	make(RESULT, (size_t)size_n, 0, 1);
	EACH_COPY
	{
		fill_tables();
		fill_lookups(sorted, by_material);
	}
}

static void at_random(void)
{
	make_lookups(0, 0);
}

static void by_material(void)
{
	make_lookups(1, 1);
}

static void by_energy(void)
{
	make_lookups(1, 0);
}

/* The row of the grid below an energy: always as many steps. */
PART long search(const real *grid, double energy)
{
	long low = 0;
	for (long half = GRID / 2; half; half /= 2)
		low += grid[low + half] <= energy ? half : 0;
	return low;
}

PART void look_up(long passes)
{
	const real *energies = array(ENERGY), *tables = array(TABLES), *density = array(DENSITY);
	const whole *rows = wholes(ROWS), *parts = wholes(PART_OF);
	real *result = array(RESULT);
	const long n = size_n;
	PASSES
	for (long i = 0; i < n; i++) {
		const double energy = energies[i];
		const long first = wholes(MATERIAL)[i] * PARTS;
		const long at = search(array(ENERGIES), energy) * NUCLIDES;
		double sums[SECTIONS] = {0};
		for (long part = first; part < first + PARTS; part++) {
			const long nuclide = parts[part];
			const long row = nuclide * POINTS + rows[at + nuclide];
			const real *low = tables + row * FIELDS, *high = low + FIELDS;
			const double above = high[0], much = density[part];
			const double f = (above - energy) / (above - low[0]);
#pragma GCC unroll 5
			for (int s = 0; s < SECTIONS; s++) {
				const double x = high[s + 1];
				sums[s] += (x - f * (x - low[s + 1])) * much;
			}
		}
		result[i] = sums[0] + sums[1] + sums[2] + sums[3] + sums[4];
	}
}

KERNEL(lookup_random)
{
	look_up(passes);
}

KERNEL(lookup_material)
{
	look_up(passes);
}

KERNEL(lookup_energy)
{
	look_up(passes);
}

/* A part: 3 flop for its place between two rows, 5 for each section; loads: of the grid as many as
 * there are steps. */
static struct counts lookup_truth(uint64_t n)
{
	const uint64_t steps = (uint64_t)__builtin_ctz(GRID), parts = PARTS;
	return (struct counts){n * (parts * (3 + 5 * SECTIONS) + SECTIONS - 1),
			       8 * n * (2 + steps + parts * (3 + 2 * FIELDS)), 8 * n};
}

/* ---- CloverLeaf: the change of energy and density in each cell, of a uniform grid ---- */

enum { SPEED_X, SPEED_Y, VOLUME, PRESSURE, DENSITY_0, ENERGY_0, DENSITY_1, ENERGY_1 };
enum { PDV_BLOCK = 4 };

static void cells(void)
{
	for (int k = SPEED_X; k <= ENERGY_1; k++)
		make(k, (size_t)((size_n + 1) * (size_n + 1)), 1, 2);
}

PART void pdv_cell(long at, long row, double area)
{
	const real *u = array(SPEED_X), *v = array(SPEED_Y);
	const double out = (u[at + 1] + u[at + row + 1]) * area - (u[at] + u[at + row]) * area +
			   (v[at + row] + v[at + row + 1]) * area - (v[at] + v[at + 1]) * area;
	const double volume = array(VOLUME)[at], density = array(DENSITY_0)[at];
	const double change = array(PRESSURE)[at] / density * out / volume;
	array(ENERGY_1)[at] = array(ENERGY_0)[at] - change;
	array(DENSITY_1)[at] = density * (volume / (volume + out));
}

KERNEL(pdv)
{
	const long n = size_n, row = n + 1;
	HELD(double, area, 1e-3);
	PASSES
	for (long j = 0; j < n; j++)
#pragma GCC ivdep
		for (long i = 0; i < n; i++)
			pdv_cell(j * row + i, row, area);
}

KERNEL(pdv_blocks)
{
	const long n = size_n, row = n + 1;
	HELD(double, area, 1e-3);
	PASSES
	for (long to = 0; to < n; to += PDV_BLOCK)
		for (long from = 0; from < n; from += PDV_BLOCK)
			for (long j = to; j < to + PDV_BLOCK; j++)
#pragma GCC ivdep
				for (long i = from; i < from + PDV_BLOCK; i++)
					pdv_cell(j * row + i, row, area);
}

static struct counts pdv_truth(uint64_t n)
{
	return (struct counts){18 * n * n, 8 * 12 * n * n, 8 * 2 * n * n};
}

/* ---- PENNANT: areas of the sides of a mesh, and of its zones, a chunk of sides at a time ---- */

enum { POINT_1, POINT_2, ZONE, PLACE_X, PLACE_Y, SIDE_AREA, ZONE_AREA };
enum { SIDES = 4 }; /* of a zone */

/* Zones have places behind those of the points. */
static void sides(void)
{
	const long n = size_n, points = n / SIDES, zones = n / SIDES;
	for (int k = POINT_1; k <= SIDE_AREA; k++)
		make(k, (size_t)n, -1, 1);
	make(ZONE_AREA, (size_t)(points + zones), 0, 0);
	EACH_COPY
	for (long s = 0; s < n; s++) {
		wholes(POINT_1)[s] = next_random() % points;
		wholes(POINT_2)[s] = next_random() % points;
		wholes(ZONE)[s] = points + s / SIDES;
	}
}

PART void areas(long passes, long chunk)
{
	const whole *one = wholes(POINT_1), *two = wholes(POINT_2), *zone = wholes(ZONE);
	const real *x = array(PLACE_X), *y = array(PLACE_Y);
	real *restrict area = array(SIDE_AREA), *restrict of_zone = array(ZONE_AREA);
	const long n = size_n;
	HELD(double, half, 0.5);
	PASSES
	for (long first = 0; first < n; first += chunk) {
		for (long s = first; s < first + chunk; s++) {
			const long a = one[s], b = two[s], z = zone[s];
			const double x0 = x[z], y0 = y[z];
			area[s] = half * ((x[b] - x0) * (y[a] - y0) - (x[a] - x0) * (y[b] - y0));
		}
		for (long s = first; s < first + chunk; s++)
			of_zone[zone[s]] += area[s];
	}
}

KERNEL(sides_64)
{
	areas(passes, 64);
}

KERNEL(sides_4)
{
	areas(passes, 4);
}

static struct counts sides_truth(uint64_t n)
{
	return (struct counts){9 * n, 8 * 12 * n, 8 * 2 * n};
}

/* ---- VPIC: momenta of charged particles, half a step on, in single precision ---- */

enum { PARTICLES, CELLS };
enum { PER_CELL = 128, LANES = 16, MEMBERS = 8, INSIDE = 6, OF_CELL = 12 };

/* As structures: place (3), cell, momentum (3), weight; in any order of their cells. */
static void structures(void)
{
	const long n = size_n;
	make(PARTICLES, (size_t)n * MEMBERS / 2, 0, 1);
	make(CELLS, (size_t)(n / PER_CELL) * OF_CELL / 2, 0, 1);
	EACH_COPY
	{
		for (long i = 0; i < n * MEMBERS; i++)
			singles(PARTICLES)[i] = (float)random_below(1);
		for (long i = 0; i < n; i++)
			((narrow *)array(PARTICLES))[i * MEMBERS + 3] =
				(int)(next_random() % (n / PER_CELL));
		for (long i = 0; i < n / PER_CELL * OF_CELL; i++)
			singles(CELLS)[i] = (float)random_below(1e-3);
	}
}

/* The particles of each cell in blocks of LANES, each member of them together. */
static void arrays_by_cell(void)
{
	const long n = size_n;
	make(PARTICLES, (size_t)n * INSIDE / 2, 0, 1);
	make(CELLS, (size_t)(n / PER_CELL) * OF_CELL / 2, 0, 1);
	EACH_COPY
	{
		for (long i = 0; i < n * INSIDE; i++)
			singles(PARTICLES)[i] = (float)random_below(1);
		for (long i = 0; i < n / PER_CELL * OF_CELL; i++)
			singles(CELLS)[i] = (float)random_below(1e-3);
	}
}

/* Places and momenta are `apart` from one another; the field of a cell and its change across it. */
PART void push(const single *at, single *u, long apart, const single *field, float q, float one)
{
	const float x = at[0], y = at[apart], z = at[2 * apart];
	float ux = u[0] + q * (field[0] + y * field[1]);
	float uy = u[apart] + q * (field[2] + z * field[3]);
	float uz = u[2 * apart] + q * (field[4] + x * field[5]);
	const float bx = field[6] + x * field[7], by = field[8] + y * field[9],
		    bz = field[10] + z * field[11];
	const float t = q / sqrtf(one + (ux * ux + (uy * uy + uz * uz)));
	float s = t / (one + (bx * bx + (by * by + bz * bz)) * (t * t));
	s += s;
	const float wx = ux + t * (uy * bz - uz * by), wy = uy + t * (uz * bx - ux * bz),
		    wz = uz + t * (ux * by - uy * bx);
	u[0] = ux + s * (wy * bz - wz * by);
	u[apart] = uy + s * (wz * bx - wx * bz);
	u[2 * apart] = uz + s * (wx * by - wy * bx);
}

KERNEL(push_aos)
{
	single *restrict particles = singles(PARTICLES);
	const single *restrict fields = singles(CELLS);
	const long n = size_n;
	HELD(float, q, 0.5f);
	HELD(float, one, 1);
	PASSES
#pragma GCC ivdep
	for (long i = 0; i < n; i++) {
		single *p = particles + i * MEMBERS;
		push(p, p + 4, 1, fields + (long)((const narrow *)p)[3] * OF_CELL, q, one);
	}
}

KERNEL(push_aosoa)
{
	single *restrict particles = singles(PARTICLES);
	const single *restrict fields = singles(CELLS);
	const long n = size_n;
	HELD(float, q, 0.5f);
	HELD(float, one, 1);
	PASSES
	for (long cell = 0; cell < n / PER_CELL; cell++)
		for (long block = 0; block < PER_CELL / LANES; block++) {
			single *p = particles + (cell * PER_CELL + block * LANES) * INSIDE;
#pragma GCC ivdep
			for (long lane = 0; lane < LANES; lane++)
				push(p + lane, p + lane + 3 * LANES, LANES, fields + cell * OF_CELL,
				     q, one);
		}
}

/* 12 flop for the electric field, 6 for the magnetic one, 8 and 11 for the factors, 30 for the
 * turn. */
static struct counts aos_truth(uint64_t n)
{
	return (struct counts){66 * n, 4 * 19 * n, 4 * 3 * n};
}

static struct counts aosoa_truth(uint64_t n)
{
	return (struct counts){66 * n, 4 * 18 * n, 4 * 3 * n};
}

int main(int argc, char **argv)
{
	static const struct kernel kernels[] = {
		{"lookup_random", at_random, lookup_random, lookup_truth},
		{"lookup_material", by_material, lookup_material, lookup_truth},
		{"lookup_energy", by_energy, lookup_energy, lookup_truth},
		{"pdv", cells, pdv, pdv_truth},
		{"pdv_blocks", cells, pdv_blocks, pdv_truth},
		{"sides_64", sides, sides_64, sides_truth},
		{"sides_4", sides, sides_4, sides_truth},
		{"push_aos", structures, push_aos, aos_truth},
		{"push_aosoa", arrays_by_cell, push_aosoa, aosoa_truth},
		{NULL, NULL, NULL, NULL}};
	return paper_main(argc, argv, kernels);
}
