/* What moved in the memory hierarchy where it was traced, summed up by row. */
#pragma once

#include "report/model/model_rows.h"

/* Sets model->traced and model->traced_classes by what the profile says. */
void model_set_traced(const struct profile *profile, struct model *model);
/* Gives each row with counted work its traffic, without anything in it. */
struct rf_error *model_create_traffic(struct model_rows *rows);
/* Sums up the profile's tables of traffic: the lines of each row and, of its traffic, objects,
 * strides and capacities.  model_create_traffic comes before.  Fails only when memory is short. */
struct rf_error *model_sum_moved(struct model_rows *rows, const struct model *model);

/* Adds one row of the profile. */
void model_add_lines(struct traffic_lines *lines, const struct profile_traffic *row);
/* The lines of the first `n_classes` classes; 0 for those that are not there. */
void model_unpack_lines(const struct packed_lines *packed, unsigned n_classes,
			struct traffic_lines *lines);
