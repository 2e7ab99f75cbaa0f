/* Throughput of forms, and which units they use. */
#include "machine/core/form_measure.h"

#include "machine/core/form_latency.h"
#include "machine/core/form_operands.h"
#include "machine/topology/cpu_features.h"

#define BODY 240 /* instructions of a loop, about */
#define LEAST_PROBES 6
/* For each of them: so that none waits for the result of the one before in its register. */
#define LEAST_CYCLES 2
#define COPIES 3       /* of a form among probes, where there is room */
#define LONGEST 20     /* cycles: what takes longer has units of its own */
#define LEAST_USE 0.04 /* below that it is noise */

/* Registers that results go to: of a form alone, of one among probes, of the probes, and of these
 * around a form that needs rax and rdx.  The probes' are more than latency times units. */
enum pool { POOL_ALL, POOL_FEW, POOL_PROBES, POOL_FEWER_PROBES };
static const struct {
	int n_general, general[8];
	int first_vector, n_vectors;
} pools[] = {
	[POOL_ALL] = {8, {3, 5, 6, 7, 8, 9, 10, 11}, 0, 12},
	[POOL_FEW] = {2, {3, 5}, 10, 3},
	[POOL_PROBES] = {8, {6, 7, 8, 9, 10, 11, 0, 2}, 0, 10},
	[POOL_FEWER_PROBES] = {6, {6, 7, 8, 9, 10, 11}, 0, 10},
};

/* ---- instructions ---- */

static int displacement(enum form_kind kind, int k)
{
	static const int bytes[FORM_N_KINDS] = {
		[KIND_M8] = 8,    [KIND_M16] = 8,   [KIND_M32] = 8,  [KIND_M64] = 8,
		[KIND_M128] = 16, [KIND_M256] = 32, [KIND_M512] = 64};
	return bytes[kind] * (k % 64);
}

/* Operands that are only read are constants. */
static struct form_registers spread(struct insn_form form, const struct form_shape *shape,
				    enum pool pool, int k)
{
	struct form_registers registers = {{0}};
	int constant = CODE_VECTOR, number_constant = CODE_CONSTANT;
	for (int i = 0; i < shape->n; i++) {
		const enum form_kind kind = form.operands[i];
		const enum form_class class = form_class_of(kind);
		const bool written = shape->writes[i];
		int *number = &registers.number[i];
		if (kind >= KIND_M8 && kind <= KIND_M512)
			*number = displacement(kind, k);
		else if (class == CLASS_VECTOR)
			*number = written ? pools[pool].first_vector + k % pools[pool].n_vectors
					  : constant++;
		else if (class == CLASS_MASK)
			*number = written ? 2 + k % 6 : CODE_MASK;
		else
			*number = written ? pools[pool].general[k % pools[pool].n_general]
					  : number_constant--; /* two that differ */
	}
	form_fix_registers(form, &registers);
	return registers;
}

static bool has_prelude(const struct form_shape *shape)
{
	return shape->reads_rax || shape->divides || (shape->reads_flags && shape->writes_flags);
}

/* ---- throughput ---- */

static double reciprocal_of(struct form_measure *measure, struct insn_form form,
			    const struct form_shape *shape)
{
	struct code *code = timed_code_body(measure->timed);
	for (int k = 0; k < BODY; k++) {
		const struct form_registers registers = spread(form, shape, POOL_ALL, k);
		form_add_prelude(code, shape);
		code_add(code, form, &registers);
	}
	return timed_code_cycles(measure->timed, form_timed_kind(form)) / BODY;
}

/* ---- units ---- */

static struct timed_kind wider(struct timed_kind a, struct timed_kind b)
{
	return (struct timed_kind){a.vectors > b.vectors ? a.vectors : b.vectors,
				   a.single || b.single};
}

/* Cycles of `n` probes with some of the form in their middle, or only with what stands before each
 * of them. */
static double among(struct form_measure *measure, enum core_probe probe, int n,
		    struct insn_form form, const struct form_shape *shape, int copies, bool with)
{
	const struct insn_form around = measure->probes[probe];
	const enum pool pool =
		shape->reads_rax || shape->writes_rax ? POOL_FEWER_PROBES : POOL_PROBES;
	struct form_shape around_shape;
	struct code *code = timed_code_body(measure->timed);
	const int groups = BODY / (n + 1) + 2;
	form_shape_of(around, &around_shape);
	for (int group = 0, k = 0; group < groups; group++) {
		for (int i = 0; i < n; i++, k++) {
			const struct form_registers registers =
				spread(around, &around_shape, pool, k);
			code_add(code, around, &registers);
		}
		for (int i = 0; i < copies; i++) {
			const struct form_registers registers =
				spread(form, shape, POOL_FEW, copies * group + i);
			if (has_prelude(shape))
				form_add_prelude(code, shape);
			if (with)
				code_add(code, form, &registers);
		}
		if (probe == PROBE_BRANCH) /* not equal: none is taken */
			code_add_named(code, "test r64, r64", CODE_CONSTANT, CODE_CONSTANT, 0);
	}
	const struct timed_kind kind = wider(form_timed_kind(around), form_timed_kind(form));
	return timed_code_cycles(measure->timed, kind) / groups;
}

static double middle(double a, double b, double c)
{
	return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Of `n` probes alone. */
static double row_of(struct form_measure *measure, enum core_probe probe, int n)
{
	struct form_shape shape;
	double *row = &measure->probe_rows[probe][n];
	double rows[3];
	if (!(*row > 0) && form_shape_of(measure->probes[probe], &shape)) {
		for (int i = 0; i < 3; i++)
			rows[i] =
				among(measure, probe, n, measure->probes[probe], &shape, 0, false);
		*row = middle(rows[0], rows[1], rows[2]);
	}
	return *row;
}

/* Cycles of one of the probes, among others of its kind; NAN: not known. */
static double form_probe_cycles(const struct form_measure *measure, enum core_probe probe)
{
	return measure->probe_rows[probe][FORM_MOST_PROBES] / FORM_MOST_PROBES;
}

/* SSE and wide vectors in one loop slow each other down in ways of their own, and units of 512 bits
 * may be made of others, which then stand still. */
static bool goes_with(struct insn_form form, struct insn_form probe)
{
	const enum form_kind widest = form_timed_kind(probe).vectors,
			     own = form_timed_kind(form).vectors;
	if (widest == KIND_NONE || own == KIND_NONE)
		return widest != KIND_ZMM;
	if (widest == KIND_ZMM || own == KIND_ZMM)
		return widest == own;
	return widest == KIND_XMM || *ZydisMnemonicGetString(form.mnemonic) == 'v';
}

/* By how much one of the form lengthens a loop of probes, `more` of them than it needs at least. */
static double use_among(struct form_measure *measure, enum core_probe probe, struct insn_form form,
			const struct form_shape *shape, double reciprocal, int more)
{
	const double cycles = form_probe_cycles(measure, probe);
	const double least =
		fmax(fmax(1.5 * reciprocal, LEAST_CYCLES) / cycles, LEAST_PROBES) + more;
	const int copies = COPIES * least <= FORM_MOST_PROBES ? COPIES : 1;
	const int n = (int)fmin(ceil(copies * least), FORM_MOST_PROBES);
	const double alone = has_prelude(shape)
				     ? among(measure, probe, n, form, shape, copies, false)
				     : row_of(measure, probe, n);
	return (among(measure, probe, n, form, shape, copies, true) - alone) / copies;
}

/* By how much one of the form lengthens a loop of probes. */
static double use_of(struct form_measure *measure, enum core_probe probe, struct insn_form form,
		     const struct form_shape *shape, double reciprocal)
{
	if (!measure->probes[probe].mnemonic || reciprocal > LONGEST ||
	    !goes_with(form, measure->probes[probe]))
		return NAN;
	if (!(form_probe_cycles(measure, probe) > 0))
		return NAN;
	double use = use_among(measure, probe, form, shape, reciprocal, 0);
	/* How long a row of nops takes hangs on how it lies in what the processor fetches: this may
	 * say too little of what takes several slots. */
	if (probe == PROBE_SLOT)
		use = fmin(use, fmin(use_among(measure, probe, form, shape, reciprocal, 1),
				     use_among(measure, probe, form, shape, reciprocal, 3)));
	return use < LEAST_USE ? 0 : use > reciprocal ? reciprocal : use; /* NAN stays */
}

bool form_measure(struct form_measure *measure, struct insn_form form, struct form_fact *out)
{
	struct form_shape shape;
	struct form_fact fact = {.form = form};
	if (!form_shape_of(form, &shape))
		return false;
	fact.reciprocal = reciprocal_of(measure, form, &shape);
	if (!(fact.reciprocal > 0))
		return false;
	for (int probe = 0; probe < CORE_PROBES; probe++)
		fact.use[probe] =
			use_of(measure, (enum core_probe)probe, form, &shape, fact.reciprocal);
	form_latencies(measure, form, &shape, &fact);
	*out = fact;
	return true;
}

/* ---- the machine ---- */

void form_measure_probes(struct form_measure *measure)
{
	for (int i = 0; i < CORE_PROBES; i++)
		if (measure->probes[i].mnemonic)
			row_of(measure, (enum core_probe)i, FORM_MOST_PROBES);
}

bool form_measure_init(struct form_measure *measure)
{
	*measure = (struct form_measure){.timed = timed_code_create()};
	if (!measure->timed)
		return false;
	for (int i = 0; i < CORE_PROBES; i++) {
		const char *name = core_probe_form((enum core_probe)i, cpu_has(CPU_AVX));
		struct insn_form form;
		struct form_shape shape;
		if (form_find(name, &form) && form_shape_of(form, &shape))
			measure->probes[i] = form;
	}
	form_measure_probes(measure);
	form_measure_ways(measure);
	if (form_probe_cycles(measure, PROBE_SLOT) > 0)
		return true;
	form_measure_deinit(measure);
	return false;
}

void form_measure_deinit(struct form_measure *measure)
{
	timed_code_destroy(measure->timed);
	*measure = (struct form_measure){0};
}
