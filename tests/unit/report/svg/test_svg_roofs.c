/* The empty plot of machines that this one is not. */
#include "profile/profile.h"
#include "report/report.h"

#include "tests/unit/machine/roof_row.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct roof rows[64];
static struct machine machine;

static void add(enum roof_kind kind, const char *what, const char *op, int threads, double best)
{
	rows[machine.n_roofs++] = roof_row(kind, what, op, threads, best);
}

static void add_all(int threads)
{
	add(ROOF_COMPUTE, "double", "fma", threads, 50.0 * threads);
	add(ROOF_COMPUTE, "single", "fma", threads, 100.0 * threads);
	add(ROOF_BANDWIDTH, "L1", "read", threads, 300.0 * threads);
	add(ROOF_BANDWIDTH, "L3", "read", threads, 11.0 * threads);
	rows[machine.n_roofs - 1].distinguishable = false;
	add(ROOF_BANDWIDTH, "DRAM", "read", threads, 10.0 + threads);
}

static char *picture(void)
{
	char path[] = "/tmp/rfprof-test-svg-XXXXXX", *text = NULL;
	size_t size = 0;
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	struct rf_error *error = report_machine_svg(&machine, path);
	cr_assert_null(error, "%s", error ? error->message : "");
	close(fd); /* of the file that was there before */
	FILE *stream = fopen(path, "re");
	cr_assert(stream);
	cr_assert_gt(getdelim(&text, &size, '\0', stream), 0);
	fclose(stream);
	unlink(path);
	cr_expect_not_null(strstr(text, "</svg>"));
	cr_expect_null(strstr(text, "\"nan"));
	cr_expect_null(strstr(text, "\"-nan"));
	cr_expect_null(strstr(text, "\"inf"));
	return text;
}

static void init(void)
{
	machine = (struct machine){.cpu_model = (char *)"Example <CPU>",
				   .usable_threads = 8,
				   .clock_ghz = 2.5,
				   .microarchitecture = (char *)"Lake",
				   .roofs = rows};
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

TestSuite(svg_roofs, .init = init);

/* What accesses of 8 bytes reach at a level says nothing of its roof; and a level that some count
 * of threads tells from the next is drawn for all of them. */
Test(svg_roofs, levels_are_those_that_reading_tells_apart)
{
	add_all(1);
	add_all(2);
	add(ROOF_NARROW, "L3", "read", 1, 9);
	char *without = picture();
	cr_expect_eq(count(without, "data-level=\"L3\""), 0);
	for (size_t i = 0; i < machine.n_roofs; i++)
		if (rows[i].kind == ROOF_BANDWIDTH && rows[i].threads == 2)
			rows[i].distinguishable = true;
	char *with = picture();
	cr_expect_eq(count(with, "data-level=\"L3\" data-threads=\"1\""), 1);
	cr_expect_eq(count(with, "data-level=\"L3\" data-threads=\"2\""), 1);
	free(without);
	free(with);
}

Test(svg_roofs, head_names_the_machine)
{
	add_all(1);
	char *svg = picture();
	cr_expect(strstr(svg, ">Example &lt;CPU&gt;</text>"));
	cr_expect(strstr(svg, ">8 hardware threads, 2.50 GHz, Lake</text>"));
	cr_expect_null(strstr(svg, "<circle"));
	free(svg);
}

Test(svg_roofs, levels_that_cannot_be_told_apart_are_left_out)
{
	add_all(1);
	add_all(8);
	char *svg = picture();
	cr_expect_eq(count(svg, "data-level=\"L1\""), 2);
	cr_expect_eq(count(svg, "data-level=\"DRAM\""), 2);
	cr_expect_eq(count(svg, "data-level=\"L3\""), 0);
	cr_expect_eq(count(svg, "class=\"peak\""), 4);
	free(svg);
}

/* Without rows at one thread no line claims to be of one. */
Test(svg_roofs, the_fewest_threads_take_the_place_of_one)
{
	add_all(4);
	add_all(8);
	char *svg = picture();
	cr_expect_null(strstr(svg, "1 thread"));
	cr_expect_null(strstr(svg, "data-threads=\"1\""));
	cr_expect(strstr(svg, "200 GFLOP/s DP, AVX2 FMA, 4 threads"));
	cr_expect(strstr(svg, "800 GFLOP/s SP, AVX2 FMA, 8 threads"));
	cr_expect(strstr(svg, "ceiling, 4 threads"));
	free(svg);
}

/* Also where all threads together are hundreds of times as fast, one thread's roofs are in view. */
Test(svg_roofs, one_thread_of_very_many_is_in_view)
{
	add_all(1);
	add_all(512);
	char *svg = picture();
	cr_expect(strstr(svg, "50.0 GFLOP/s DP, AVX2 FMA, 1 thread"));
	cr_expect(strstr(svg, "L1, reading 300 GB/s<"));
	cr_expect(strstr(svg, "L1, reading 153600 GB/s, 512 threads<"));
	free(svg);
}

/* Thin lines where it is known; said where it is not. */
Test(svg_roofs, theory_is_drawn_or_said_to_be_unknown)
{
	add_all(1);
	char *svg = picture();
	cr_expect_eq(count(svg, "class=\"theory\""), 0);
	cr_expect(strstr(svg, "theory: not known here"));
	free(svg);
	rows[0].theory = 64;
	svg = picture();
	cr_expect_eq(count(svg, "class=\"theory\""), 1);
	cr_expect(strstr(svg, "theory 64.0 GFLOP/s<"));
	cr_expect(strstr(svg, "theory not known: L1, DRAM<"));
	free(svg);
	rows[machine.n_roofs - 1].theory = 25.6; /* DRAM */
	svg = picture();
	cr_expect_eq(count(svg, "class=\"theory\""), 2);
	cr_expect(strstr(svg, "DRAM, theory 25.6 GB/s<"));
	cr_expect_null(strstr(svg, "= theory"));
	cr_expect(strstr(svg, "theory not known: L1<"));
	free(svg);
	rows[0].theory = 51;
	rows[machine.n_roofs - 1].theory = 11.1;
	svg = picture();
	cr_expect_eq(count(svg, "class=\"theory\""), 0);
	cr_expect_eq(count(svg, " (= theory)<"), 2);
	free(svg);
}

Test(svg_roofs, custom_roofs_need_no_measured_ones)
{
	struct custom_roof custom[] = {{"peak", 64, "GFLOP/s", "x"},
				       {"memory", 20, "GB/s", "<x>"},
				       {"endless", 1e308, "GB/s", "x"}};
	machine.custom_roofs = custom;
	machine.n_custom_roofs = 3;
	char *svg = picture();
	cr_expect_eq(count(svg, "class=\"custom\""), 2);
	cr_expect(strstr(svg, "peak 64.0 GFLOP/s</text>"));
	cr_expect(strstr(svg, "memory 20.0 GB/s</text>"));
	cr_expect(strstr(svg, "stated, not measured&#10;&lt;x&gt;</title>"));
	cr_expect(strstr(svg, ">endless</text>") && strstr(svg, "1e+308 GB/s, not drawn</text>"));
	cr_expect_null(strstr(svg, "roofs (measured)"));
	free(svg);
}

Test(svg_roofs, a_machine_becomes_facts_and_rows)
{
	struct custom_roof custom = {"peak", 64, "GFLOP/s", "x"};
	struct profile *profile = profile_create();
	add_all(1);
	machine.custom_roofs = &custom;
	machine.n_custom_roofs = 1;
	machine.clock_fp_ghz = 2.25;
	cr_assert_null(profile_take_machine(profile, &machine));
	cr_expect_eq(profile->n_roofs, machine.n_roofs);
	cr_expect_eq(memcmp(profile->roofs, rows, machine.n_roofs * sizeof(*rows)), 0);
	cr_assert_eq(profile->n_custom_roofs, 1);
	cr_expect_str_eq(profile->custom_roofs[0].name, "peak");
	cr_expect_str_eq(profile_get_fact(profile, "cpu_model"), "Example <CPU>");
	cr_expect_str_eq(profile_get_fact(profile, "microarchitecture"), "Lake");
	cr_expect_str_eq(profile_get_fact(profile, "clock_fp_ghz"), "2.2500");
	cr_expect_str_eq(profile_get_fact(profile, "usable_threads"), "8");
	profile_destroy(profile);
	profile = profile_create();
	machine.microarchitecture = NULL;
	machine.clock_fp_ghz = 0;
	cr_assert_null(profile_take_machine(profile, &machine));
	cr_expect_null(profile_get_fact(profile, "microarchitecture"));
	cr_expect_null(profile_get_fact(profile, "clock_fp_ghz"));
	profile_destroy(profile);
}
