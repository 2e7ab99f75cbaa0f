/* What is read straight from the text is what machine_from_json() reads of it. */
#include "machine/data/machine_scan.h"

#include "machine/data/machine_json.h"
#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MACHINES = 40, DAMAGES = 500 };

/* A rate of any size, mostly with all digits. */
static double random_rate(uint64_t *state)
{
	const double number = 1.0 + (double)(random_number(state) >> 11) * 0x1p-53;
	const int exponent = (int)(random_number(state) % 200) - 100;
	return random_number(state) % 8 ? __builtin_ldexp(number, exponent % 20)
					: __builtin_ldexp(1, exponent);
}

static struct roof random_roof(uint64_t *state)
{
	struct roof roof = {
		.kind = random_number(state) % ROOF_KINDS,
		.isa = random_number(state) % ROOF_ISA_UNKNOWN,
		.precision = random_number(state) % ROOF_PRECISION_UNKNOWN,
		.op = random_number(state) % ROOF_OP_UNKNOWN,
		.level = random_number(state) % ROOF_LEVEL_UNKNOWN,
		.threads = 1 + (int)(random_number(state) % 64),
		.by_node = random_number(state) % 2,
		.best = random_rate(state),
		.median = random_rate(state),
		.q1 = random_rate(state),
		.q3 = random_rate(state),
		.theory = random_number(state) % 2 ? random_rate(state) : 0,
		.unit = "GB/s",
		.distinguishable = random_number(state) % 2,
		.noisy = random_number(state) % 2,
		.n_history = (int)(random_number(state) % (ROOF_HISTORY + 1)),
	};
	if (roof.by_node)
		roof.memory_node = (int)(random_number(state) % 8);
	if (random_number(state) % 2)
		strcpy(roof.bytes_convention, "24 B/element: 2 loads, store");
	roof.n_measured = roof.n_history + (int)(random_number(state) % 3);
	for (int i = 0; i < roof.n_history; i++)
		roof.history[i] = (struct roof_visit){(int64_t)(random_number(state) >> 30),
						      random_rate(state)};
	return roof;
}

enum { ROOFS = 12, SIZES = 5 };

/* Its arrays are the caller's. */
static struct machine random_machine(uint64_t *state, struct roof roofs[ROOFS],
				     struct size_point sizes[SIZES])
{
	static struct machine_count counts[] = {{1, true}, {2, false}, {64, true}};
	static char *notes[] = {"a note", "µ — ∞", ""};
	struct machine machine = {
		.cpu_model = random_number(state) % 2 ? "Example CPU @ 2.00GHz" : "",
		.microarchitecture = random_number(state) % 2 ? "Example Lake" : NULL,
		.usable_threads = 1 + (int)(random_number(state) % 256),
		.clock_ghz = random_rate(state),
		.clock_fp_ghz = random_rate(state),
		.caches = {{1, 49152, 64, 12, 1}, {3, UINT64_C(480) << 20, 64, -1, 2}},
		.n_caches = random_number(state) % 3,
		.counts = counts,
		.n_counts = random_number(state) % 4,
		.roofs = roofs,
		.n_roofs = 1 + random_number(state) % ROOFS,
		.sizes = sizes,
		.n_sizes = random_number(state) % (SIZES + 1),
		.sizes_in_small_pages = random_number(state) % 2,
		.notes = notes,
		.n_notes = random_number(state) % 4,
	};
	for (size_t i = 0; i < machine.n_roofs; i++)
		roofs[i] = random_roof(state);
	for (size_t i = 0; i < machine.n_sizes; i++)
		sizes[i] =
			(struct size_point){(i + 1) << 40, random_rate(state), random_rate(state),
					    random_rate(state), random_rate(state)};
	return machine;
}

static bool scan_text(const char *text, size_t size, struct machine *machine)
{
	struct json_scan scan;
	json_scan_init(&scan, text, size);
	if (!machine_scan(&scan, machine))
		return false;
	if (!json_scan_ends(&scan))
		machine_deinit(machine);
	return json_scan_ends(&scan);
}

/* What the text holds by machine_from_json(), as JSON once more; NULL: it is refused. */
static json_t *by_library(const char *text, size_t size)
{
	struct machine machine;
	json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL), *again = NULL;
	struct rf_error *refused = json ? machine_from_json(json, &machine) : NULL;
	if (json && !refused) {
		assert_ok(machine_to_json(&machine, &again));
		machine_deinit(&machine);
	}
	rf_error_destroy(refused);
	json_decref(json);
	return again;
}

/* Whether it was read; what was read is what the library reads. */
static bool assert_same(const char *text, size_t size)
{
	struct machine machine = {0};
	if (!scan_text(text, size, &machine))
		return false;
	json_t *expected = by_library(text, size), *found;
	cr_assert_not_null(expected, "the library refuses %.*s", (int)size, text);
	assert_ok(machine_to_json(&machine, &found));
	cr_assert(json_equal(found, expected), "%.*s", (int)size, text);
	machine_deinit(&machine);
	json_decref(expected);
	json_decref(found);
	return true;
}

static char *random_text(uint64_t *state)
{
	struct roof roofs[ROOFS];
	struct size_point sizes[SIZES];
	const struct machine machine = random_machine(state, roofs, sizes);
	json_t *json;
	assert_ok(machine_to_json(&machine, &json));
	char *text = json_dumps(json, random_number(state) % 2 ? JSON_COMPACT : JSON_INDENT(1));
	json_decref(json);
	cr_assert_not_null(text);
	return text;
}

Test(machine_scan, whatever_is_written_is_read)
{
	uint64_t state = 1;
	for (int i = 0; i < MACHINES; i++) {
		char *text = random_text(&state);
		cr_expect(assert_same(text, strlen(text)), "%s", text);
		free(text);
	}
}

/* Some bytes are others, taken away, or there twice; those that can mean something are likely. */
static size_t damage(uint64_t *state, const char *text, size_t size, char *damaged)
{
	static const char bytes[] = "0123456789-+.eE\"\\,:{}[] \ntfnu\x80\xc3\x01";
	const size_t at = random_number(state) % size, most = size - at < 40 ? size - at : 40;
	const size_t length = random_number(state) % 3 ? 1 : random_number(state) % (most + 1);
	memcpy(damaged, text, size + 1);
	switch (random_number(state) % 4) {
	case 0: /* taken away */
		memmove(damaged + at, damaged + at + length, size - at - length + 1);
		return size - length;
	case 1: /* twice */
		memcpy(damaged + at + length, text + at, size - at + 1);
		return size + length;
	case 2: /* more */
		memcpy(damaged + at + 1, text + at, size - at + 1);
		damaged[at] = bytes[random_number(state) % (sizeof(bytes) - 1)];
		return size + 1;
	default:
		damaged[at] = bytes[random_number(state) % sizeof(bytes)];
		return size;
	}
}

Test(machine_scan, what_is_damaged_is_read_as_by_the_library_or_not)
{
	uint64_t state = 2;
	int n_read = 0;
	for (int i = 0; i < MACHINES; i++) {
		char *text = random_text(&state);
		const size_t size = strlen(text);
		char *damaged = malloc(size + 64);
		cr_assert_not_null(damaged);
		for (int k = 0; k < DAMAGES; k++)
			n_read += assert_same(damaged, damage(&state, text, size, damaged));
		free(damaged);
		free(text);
	}
	cr_expect(n_read > MACHINES * DAMAGES / 50 && n_read < MACHINES * DAMAGES, "%d", n_read);
}

static void assert_value(const char *text, bool is_read, double value)
{
	struct json_scan scan;
	json_scan_init(&scan, text, strlen(text));
	const double read = json_scan_number(&scan);
	cr_expect_eq(json_scan_ends(&scan), is_read, "%s", text);
	cr_expect(!is_read || read == value, "%s", text);
}

Test(machine_scan, numbers_are_those_of_json)
{
	assert_value("1", true, 1);
	assert_value("-0.5e1", true, -5);
	assert_value("1E+2", true, 100);
	assert_value("0.1", true, 0.1);
	assert_value("9007199254740993", true, 9007199254740992.0);
	assert_value("01", false, 0);
	assert_value("+1", false, 0);
	assert_value(".5", false, 0);
	assert_value("1.", false, 0);
	assert_value("1e", false, 0);
	assert_value("1e999", false, 0);
	assert_value("9223372036854775808", false, 0);
	assert_value("0x10", false, 0);
	assert_value("inf", false, 0);
	assert_value("", false, 0);
	assert_value("-", false, 0);
}
