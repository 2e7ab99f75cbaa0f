/* Pieces at the ends of what may have moved. */
#include "report/ecm/piece.h"
#include "tests/unit/report/report_checks.h"

static struct ecm_piece piece_of(double l2, double l3, double memory, double off_l3,
				 double off_memory)
{
	struct ecm_piece piece = {.off = {0, 0, off_l3, off_memory}};
	const double lines[MODEL_LEVELS] = {0, l2, l3, memory};
	for (int level = 0; level < MODEL_LEVELS; level++)
		piece.irregular[level] = (struct model_irregular){.lines = lines[level],
								  .longest = lines[level] / 2,
								  .guessed = lines[level] / 4};
	piece.events[TRAFFIC_L3_READ] = 64 * (l3 + memory);
	piece.events[TRAFFIC_MEM_READ] = 64 * memory;
	return piece;
}

static void expect_lines(const struct ecm_piece *piece, double l2, double l3, double memory)
{
	const double lines[MODEL_LEVELS] = {0, l2, l3, memory};
	for (int level = 0; level < MODEL_LEVELS; level++) {
		expect_near(piece->irregular[level].lines, lines[level], "lines");
		expect_near(piece->irregular[level].longest, lines[level] / 2, "longest");
		expect_near(piece->irregular[level].guessed, lines[level] / 4, "guessed");
	}
}

/* Lines that did not come from memory came from the L3. */
Test(piece, lines_come_from_another_level)
{
	const struct ecm_piece piece = piece_of(100, 60, 40, 0, 0.5),
			       far = ecm_piece_at_end(&piece, 1),
			       near = ecm_piece_at_end(&piece, -1);
	expect_lines(&far, 100, 40, 60);
	expect_lines(&near, 100, 80, 20);
	expect_near(far.events[TRAFFIC_MEM_READ], 64 * 60, "bytes");
	expect_near(near.events[TRAFFIC_MEM_READ], 64 * 20, "bytes");
	expect_near(near.events[TRAFFIC_L3_READ], 64 * 100, "bytes behind L2");
}

/* No more come from memory than leave the L2 upward, and no fewer than none. */
Test(piece, an_interval_may_be_wider_than_what_there_is)
{
	const struct ecm_piece piece = piece_of(100, 60, 40, 0.2, 5),
			       far = ecm_piece_at_end(&piece, 1),
			       near = ecm_piece_at_end(&piece, -1);
	expect_lines(&far, 80, 0, 120);
	expect_lines(&near, 120, 80, 0);
}

Test(piece, all_of_it_was_simulated)
{
	const struct ecm_piece piece = piece_of(100, 60, 40, 0, 0),
			       far = ecm_piece_at_end(&piece, 1);
	expect_lines(&far, 100, 60, 40);
}
