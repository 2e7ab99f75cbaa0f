/* What it costs that lines lie far apart: walks through the page tables, and lines that crowd one
 * set of L1. */
#pragma once

#include "machine/data/machine.h"
#include "machine/roofs/roofs_run.h"

/* A walk over so many pages of 4 KiB, one line of each in random order: by how many ns a line takes
 * longer than one of as many lines side by side. */
struct page_walk {
	uint32_t pages;
	double ns[2]; /* loads that wait for each other; independent ones */
};
#define PAGE_WALKS 12 /* from 16 pages, twice as many each time */

/* What the walks tell (docs/roofs.md, "Lines that lie far apart"); `n` of them, ascending.  Sets
 * all but one_set_ns and huge_walk_ns of *costs. */
void page_costs_of_walks(const struct page_walk *walks, size_t n, struct page_costs *costs);

/* Measures it for some 0.3 s, on the first thread of a site and in its memory, whose numbers are
 * overwritten, and in some 140 MB of small pages, where there is four times that.  What cannot be
 * had stays 0. */
void page_costs_measure(const struct roofs_run *run, const struct roof_site *site,
			struct page_costs *costs);
