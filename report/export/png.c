/* The plot as PNG: the SVG, drawn by librsvg's rsvg-convert at 300 dots per inch.  A program that
 * is there or not, not a library: nothing has to be linked for a picture that few builds want. */
#include "report/export/png.h"

#include "report/svg/svg.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

extern char **environ;

#define CONVERTER "rsvg-convert"
#define ZOOM "3"             /* 3120 dots wide */
#define DOTS_PER_METRE 11811 /* 300 per inch */
/* Signature, and the header chunk: length, type, 13 bytes, checksum (PNG specification, 5.2
 * and 11.2.2). */
#define HEAD_SIZE (8 + 4 + 4 + 13 + 4)

static struct rf_error *no_converter(void)
{
	return rf_error_create(RF_EUNAVAILABLE, "install it (Debian: librsvg2-bin), or take --svg",
			       "--png needs " CONVERTER ", which is not in PATH");
}

struct rf_error *export_png_check(void)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path ? path : ""), *rest = copy, *name = NULL;
	bool found = false;
	for (char *folder; copy && !found && (folder = strsep(&rest, ":"));) {
		if (asprintf(&name, "%s/" CONVERTER, *folder ? folder : ".") < 0)
			break;
		found = access(name, X_OK) == 0;
		free(name);
	}
	free(copy);
	return found ? NULL : no_converter();
}

static struct rf_error *trouble(const char *what)
{
	return rf_error_errno(RF_EACCESS, errno, "make room there", "cannot draw the PNG: %s",
			      what);
}

/* SVG in `from` to PNG in `to`, files without a name. */
static struct rf_error *convert(FILE *from, FILE *to)
{
	char *const arguments[] = {CONVERTER, "--format=png", "--zoom=" ZOOM,
				   "--background-color=white", NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status = 0;
	if (posix_spawn_file_actions_init(&actions))
		return rf_error_no_memory();
	posix_spawn_file_actions_adddup2(&actions, fileno(from), STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
	const int cause = posix_spawnp(&pid, CONVERTER, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (cause == ENOENT)
		return no_converter();
	errno = cause;
	if (cause)
		return trouble(CONVERTER);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return trouble(CONVERTER);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	return rf_error_create(RF_EUNAVAILABLE, "take --svg",
			       "cannot draw the PNG: " CONVERTER " failed");
}

static void put_32(unsigned char *to, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* How large it is on paper: a pHYs chunk (PNG specification, 11.3.5.3) behind the header. */
static void put_resolution(FILE *stream)
{
	unsigned char chunk[4 + 4 + 9 + 4] = {0, 0, 0, 9, 'p', 'H', 'Y', 's'};
	put_32(chunk + 8, DOTS_PER_METRE);
	put_32(chunk + 12, DOTS_PER_METRE);
	chunk[16] = 1; /* the unit is the metre */
	put_32(chunk + 17, (uint32_t)crc32(0, chunk + 4, 13));
	fwrite(chunk, 1, sizeof(chunk), stream);
}

static struct rf_error *copy(FILE *from, FILE *to)
{
	static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
	unsigned char head[HEAD_SIZE], buffer[1 << 14];
	size_t n;
	rewind(from);
	if (fread(head, 1, sizeof(head), from) != sizeof(head) ||
	    memcmp(head, signature, sizeof(signature)) != 0)
		return rf_error_create(RF_EUNAVAILABLE, "take --svg",
				       "cannot draw the PNG: what " CONVERTER " wrote is none");
	fwrite(head, 1, sizeof(head), to);
	put_resolution(to);
	while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		fwrite(buffer, 1, n, to);
	return NULL;
}

struct rf_error *export_png(const struct report_view *view, FILE *stream)
{
	FILE *svg = tmpfile(), *png = tmpfile();
	struct rf_error *error = svg && png ? report_svg(view, svg) : trouble("no temporary file");
	if (!error && (fflush(svg) != 0 || ferror(svg)))
		error = trouble("no room for a temporary file");
	if (!error) {
		rewind(svg);
		error = convert(svg, png);
	}
	if (!error)
		error = copy(png, stream);
	if (svg)
		fclose(svg);
	if (png)
		fclose(png);
	return error;
}
