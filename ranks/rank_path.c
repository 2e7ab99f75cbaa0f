/* Puts the number of a rank into names. */
#include "ranks/rank_path.h"

#include <stdlib.h>
#include <string.h>

bool rank_path_is_own(const char *path)
{
	return path && strstr(path, "%r");
}

static void put_numbers(FILE *stream, const char *path, int number)
{
	for (const char *at; (at = strstr(path, "%r")); path = at + 2)
		fprintf(stream, "%.*s%d", (int)(at - path), path, number);
	fputs(path, stream);
}

static void put_before_ending(FILE *stream, const char *path, int number)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	const size_t head = dot && dot > name ? (size_t)(dot - path) : strlen(path);
	fprintf(stream, "%.*s.%d%s", (int)head, path, number, path + head);
}

struct rf_error *rank_path(const struct rank *rank, const char *path, bool own, char **out)
{
	size_t size;
	*out = NULL;
	if (!path)
		return NULL;
	FILE *stream = open_memstream(out, &size);
	if (!stream)
		return rf_error_no_memory();
	if (rank->known && own && !rank_path_is_own(path) && strcmp(path, "-") != 0)
		put_before_ending(stream, path, rank->number);
	else if (rank->known)
		put_numbers(stream, path, rank->number);
	else
		fputs(path, stream);
	if (fclose(stream) == 0)
		return NULL;
	free(*out);
	*out = NULL;
	return rf_error_no_memory();
}
