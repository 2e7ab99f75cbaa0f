/* The plot as PNG: the SVG, drawn by librsvg's rsvg-convert at 300 dots per inch.  A program that
 * is there or not, not a library: nothing has to be linked for a picture that few builds want. */
#include "report/export/export.h"

#include "report/svg/svg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <zlib.h>

#define CONVERTER "rsvg-convert"
#define OPTIONS "--format=png --zoom=3 --background-color=white" /* 3120 dots wide */
#define DOTS_PER_METRE 11811                                     /* 300 per inch */
#define NOT_FOUND 127 /* the shell's exit status for a program that is not in PATH */
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
	return system("command -v " CONVERTER " >/dev/null") == 0 ? NULL : no_converter();
}

static struct rf_error *trouble(const char *what)
{
	return rf_error_errno(RF_EACCESS, errno, "make room there", "cannot draw the PNG: %s",
			      what);
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

struct rf_error *export_png_convert(FILE *svg, FILE *to)
{
	char command[128];
	snprintf(command, sizeof(command), CONVERTER " " OPTIONS " </dev/fd/%d", fileno(svg));
	rewind(svg);
	FILE *png = popen(command, "re");
	if (!png)
		return trouble(CONVERTER);
	struct rf_error *error = copy(png, to);
	const int status = pclose(png);
	if (status == 0)
		return error;
	rf_error_destroy(error);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
		return no_converter();
	return rf_error_create(RF_EUNAVAILABLE, "take --svg",
			       "cannot draw the PNG: " CONVERTER " failed");
}

struct rf_error *export_png(const struct report_view *view, FILE *stream)
{
	FILE *svg = tmpfile();
	if (!svg)
		return trouble("no temporary file");
	struct rf_error *error = report_svg(view, svg);
	if (!error && (fflush(svg) != 0 || ferror(svg)))
		error = trouble("no room for a temporary file");
	if (!error)
		error = export_png_convert(svg, stream);
	fclose(svg);
	return error;
}
