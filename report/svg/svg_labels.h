/* Places labels beside points so that none overlaps another, a point, or the frame. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct box {
	double left, top, right, bottom;
};

struct label {
	double x, y, radius;  /* the point, pixels */
	double width, height; /* of the text */
	struct box frame;     /* the text stays inside */
	bool placed;          /* out */
	struct box box;       /* out: where the text goes */
};

/* Places the labels in order; a label for which there is no room within reach is left unplaced.
 * Points of all labels and `obstacles` are kept free. */
void labels_place(struct label *labels, size_t n, const struct box *obstacles, size_t n_obstacles);

bool box_overlaps(const struct box *a, const struct box *b);
/* True where the box touches the label's point. */
bool label_covers(const struct box *box, const struct label *point);
