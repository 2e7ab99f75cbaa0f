/* The source text of a page: what the profile has kept, by file. */
#include "report/html/html_sources.h"

#include "report/json/json_writer.h"

#include <string.h>

static const char *const states[] = {
	[SOURCE_KEPT] = NULL,
	[SOURCE_MISSING] = "not found when the program was recorded",
	[SOURCE_NEWER] = "newer than the program: its lines may be others",
	[SOURCE_OTHER] =
		"not the file that the program was made from: it has fewer lines, or is no text",
	[SOURCE_UNSURE] = "not kept: the program's own file was gone, so that it could be newer",
	[SOURCE_CUT] = "only in part: a profile keeps 1 MB of source text",
};

uint32_t html_source_of(const struct profile *profile, const char *file, uint32_t *hint)
{
	if (*hint < profile->n_sources && strcmp(profile->sources[*hint].file, file) == 0)
		return *hint;
	for (uint32_t i = 0; i < profile->n_sources; i++)
		if (strcmp(profile->sources[i].file, file) == 0)
			return *hint = i;
	return PROFILE_NONE;
}

/* Its lines: [number, text].  They stand by file. */
static void put_lines(struct json_writer *out, const struct profile *profile, uint32_t source,
		      size_t *next)
{
	const struct profile_source_line *lines = profile->source_lines;
	put_array(out, "lines");
	while (*next < profile->n_source_lines && lines[*next].source < source)
		++*next;
	for (; *next < profile->n_source_lines && lines[*next].source == source; ++*next) {
		put_array(out, NULL);
		put_count(out, NULL, lines[*next].line);
		put_text(out, NULL, lines[*next].text);
		put_end(out);
	}
	put_end(out);
}

struct rf_error *html_write_sources(const struct report_view *view, FILE *stream)
{
	const struct profile *profile = view->profile;
	struct json_writer *out = profile->n_sources ? json_writer_create(stream, JSON_PAGE) : NULL;
	size_t next = 0;
	if (!out)
		return profile->n_sources ? rf_error_no_memory() : NULL;
	fputs("<script type=\"application/json\" id=\"sources\">", stream);
	put_array(out, NULL);
	for (uint32_t i = 0; i < profile->n_sources; i++) {
		put_object(out, NULL);
		put_text(out, "file", profile->sources[i].file);
		put_text(out, "state", states[profile->sources[i].state]);
		put_lines(out, profile, i, &next);
		put_end(out);
	}
	put_end(out);
	const bool done = json_writer_destroy(out);
	fputs("</script>\n", stream);
	return done ? NULL : rf_error_no_memory();
}
