/* Places labels beside points so that none overlaps another, a point, or the frame. */
#include "report/svg/svg_labels.h"

#include <math.h>

#define DIRECTIONS 24
#define STEP 7.0 /* pixels between rings */
#define RINGS 45
#define GAP 3.0

bool box_overlaps(const struct box *a, const struct box *b)
{
	return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

static bool inside(const struct box *box, const struct box *frame)
{
	return box->left >= frame->left && box->right <= frame->right && box->top >= frame->top &&
	       box->bottom <= frame->bottom;
}

bool label_covers(const struct box *box, const struct label *point)
{
	double x = fmin(fmax(point->x, box->left), box->right);
	double y = fmin(fmax(point->y, box->top), box->bottom);
	return hypot(point->x - x, point->y - y) < point->radius + 1;
}

static bool is_free(const struct label *labels, size_t n, size_t self, const struct box *box,
		    const struct box *obstacles, size_t n_obstacles)
{
	if (!inside(box, &labels[self].frame))
		return false;
	for (size_t i = 0; i < n_obstacles; i++)
		if (box_overlaps(box, &obstacles[i]))
			return false;
	for (size_t i = 0; i < n; i++)
		if (label_covers(box, &labels[i]) ||
		    (labels[i].placed && box_overlaps(box, &labels[i].box)))
			return false;
	return true;
}

/* The box in direction `angle` whose nearest side is `distance` away from the point's middle. */
static struct box box_at(const struct label *label, double angle, double distance)
{
	double x = label->x + cos(angle) * distance, y = label->y + sin(angle) * distance;
	double lean = cos(angle); /* beside the point: text starts or ends there; above: centred */
	double left = x - label->width * (1 - lean) / 2;
	double top = y - label->height * (1 - sin(angle)) / 2;
	return (struct box){left, top, left + label->width, top + label->height};
}

static void place(struct label *labels, size_t n, size_t self, const struct box *obstacles,
		  size_t n_obstacles)
{
	struct label *label = &labels[self];
	for (int ring = 0; ring < RINGS; ring++)
		for (int turn = 0; turn < DIRECTIONS;
		     turn++) { /* to the right first, then up and down from there */
			double angle =
				2 * M_PI / DIRECTIONS * ((turn + 1) / 2) * (turn % 2 ? -1 : 1);
			struct box box = box_at(label, angle, label->radius + GAP + STEP * ring);
			if (!is_free(labels, n, self, &box, obstacles, n_obstacles))
				continue;
			label->box = box;
			label->placed = true;
			return;
		}
}

void labels_place(struct label *labels, size_t n, const struct box *obstacles, size_t n_obstacles)
{
	for (size_t i = 0; i < n; i++)
		labels[i].placed = false;
	for (size_t i = 0; i < n; i++)
		place(labels, n, i, obstacles, n_obstacles);
}
