/* The sentences about whose data move, and what would fit. */
#include "report/reasons/notes_data.h"

#include "report/reasons/object_words.h"

#define MAX_DATA 3    /* functions */
#define MAX_OBJECTS 3 /* of a function */

/* The objects with most of its traffic, until nine tenths of it have a name. */
static void objects_words(const struct report_view *view, const struct model_traffic *traffic,
			  char *text, size_t size)
{
	double all = 0, said = 0;
	size_t used = 0;
	for (size_t i = 0; i < traffic->n_objects; i++)
		all += traffic->objects[i].read + traffic->objects[i].write;
	for (size_t i = 0; i < traffic->n_objects && i < MAX_OBJECTS && said < 0.9 * all; i++) {
		const struct model_object *part = &traffic->objects[i];
		const double bytes = part->read + part->write;
		char words[320];
		if (bytes < 0.05 * all)
			break;
		report_object_words(view->profile, &view->profile->objects[part->object], words,
				    sizeof(words));
		int n = snprintf(text + used, size - used,
				 used ? ", %.0f %% %s" : "%.0f %% of its memory traffic is %s",
				 100 * bytes / all, words);
		used += n > 0 && (size_t)n < size - used ? (size_t)n : size - used - 1;
		said += bytes;
	}
}

/* "moves 8.10 GB now, 0.200 GB with a last cache of 3.10 MB" */
static void working_set_words(const struct model_traffic *traffic, char *text, size_t size)
{
	char now[64], fits[64], then[64];
	*text = '\0';
	if (!(traffic->fits_in > 0) || !(traffic->moves_now > 0))
		return;
	report_put_bytes(now, traffic->moves_now);
	report_put_bytes(fits, traffic->fits_in);
	report_put_bytes(then, traffic->moves_then);
	if (traffic->moves_then < 0.8 * traffic->moves_now)
		snprintf(text, size, "moves %s now, %s with a last cache of %s", now, then, fits);
	else
		snprintf(text, size, "what it uses again fits in %s of cache", fits);
}

struct rf_error *report_note_data(struct report_view *view)
{
	const double all = view->model->bytes.mem[DIRECTION_BOTH].bytes;
	struct rf_error *error = NULL;
	size_t said = 0;
	for (size_t i = 0; !error && i < view->n_shown && said < MAX_DATA; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		char objects[1200] = "", working_set[256];
		if (!f->traffic || f->traffic->bytes.mem[DIRECTION_BOTH].bytes < 0.05 * all ||
		    all <= 0)
			continue;
		objects_words(view, f->traffic, objects, sizeof(objects));
		working_set_words(f->traffic, working_set, sizeof(working_set));
		if (!objects[0] && !working_set[0])
			continue;
		said++;
		error = report_note(view, "%.60s: %s%s%s", f->name, objects,
				    objects[0] && working_set[0] ? "; " : "", working_set);
	}
	return error;
}
