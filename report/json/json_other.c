/* What the program would move in the caches of another machine, as JSON. */
#include "report/json/json_other.h"

#include "report/rows/other_moves.h"

#include <math.h>

static void put_moves(struct json_writer *out, const struct other_move *move)
{
	static const struct {
		const char *name;
		enum traffic event;
	} columns[] = {
		{"l2_read_bytes", TRAFFIC_L2_READ},
		{"l2_write_allocate_bytes", TRAFFIC_L2_WRITE_ALLOCATE},
		{"l2_write_back_bytes", TRAFFIC_L2_WRITE_BACK},
		{"l3_read_bytes", TRAFFIC_L3_READ},
		{"l3_write_allocate_bytes", TRAFFIC_L3_WRITE_ALLOCATE},
		{"l3_write_back_bytes", TRAFFIC_L3_WRITE_BACK},
		{"l3_clean_victim_bytes", TRAFFIC_L3_CLEAN_VICTIM},
		{"mem_read_bytes", TRAFFIC_MEM_READ},
		{"mem_write_allocate_bytes", TRAFFIC_MEM_WRITE_ALLOCATE},
		{"mem_write_back_bytes", TRAFFIC_MEM_WRITE_BACK},
		{"mem_non_temporal_bytes", TRAFFIC_MEM_NON_TEMPORAL},
		{"mem_left_bytes", TRAFFIC_MEM_LEFT},
	};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		put_real(out, columns[i].name, move->bytes[columns[i].event]);
	put_real(out, "l2_write_through_bytes", move->write_through);
}

/* Of an L1 that writes through it is not watched. */
static void put_evadable(struct json_writer *out, const struct other_move *move, bool is_watched)
{
	put_real(out, "mem_evadable_bytes", is_watched ? move->bytes[TRAFFIC_MEM_EVADABLE] : NAN);
}

static void put_functions(struct json_writer *out, const struct profile *profile,
			  const struct other_moves *moves, bool is_watched)
{
	put_array(out, "functions");
	for (size_t i = 0; i < moves->n_items; i++) {
		const struct other_move *move = &moves->items[i];
		const bool known = move->function != PROFILE_NONE;
		put_object(out, NULL);
		put_text(out, "name", known ? profile->functions[move->function].name : NULL);
		put_text(out, "module", profile->modules[move->module].name);
		put_moves(out, move);
		put_evadable(out, move, is_watched);
		put_end(out);
	}
	put_end(out);
}

struct rf_error *report_json_other_caches(struct json_writer *out, const char *key,
					  const struct report_view *view)
{
	const struct profile *profile = view->profile;
	const bool through = profile_flag_fact(profile, "other_write_through");
	struct other_moves moves;
	struct rf_error *error = other_moves_init(profile, &moves);
	if (!moves.is_known) {
		put_null(out, key);
	} else if (!error) {
		put_object(out, key);
		put_text(out, "geometry", profile_get_fact(profile, "other_geometry"));
		put_text(out, "machine", profile_get_fact(profile, "other_machine"));
		put_real(out, "line_bytes", profile_number_fact(profile, "other_line_bytes", NAN));
		put_flag(out, "write_through", through);
		put_moves(out, &moves.all);
		put_evadable(out, &moves.all, !through);
		put_functions(out, profile, &moves, !through);
		put_end(out);
	}
	other_moves_deinit(&moves);
	return error;
}
