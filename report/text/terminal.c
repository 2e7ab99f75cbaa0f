/* What the text of a report may use of the terminal that it goes to: width, colours, characters. */
#include "report/text/terminal.h"

#include "base/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define MAX_MARKS 2 /* combining characters behind one another */

static bool is_terminal(FILE *stream)
{
	const int fd = stream ? fileno(stream) : -1;
	return fd >= 0 && isatty(fd);
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

/* no-color.org, bixense.com/clicolors */
static bool wants_colour(FILE *stream, enum report_color color)
{
	const char *forced = getenv("CLICOLOR_FORCE"), *wanted = getenv("CLICOLOR"),
		   *kind = getenv("TERM");
	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	if (is_set("NO_COLOR"))
		return false;
	if (forced && *forced && strcmp(forced, "0") != 0)
		return true;
	return is_terminal(stream) && !(wanted && strcmp(wanted, "0") == 0) &&
	       !(kind && strcmp(kind, "dumb") == 0);
}

static size_t columns_of(FILE *stream)
{
	struct winsize size;
	const char *said = getenv("COLUMNS");
	const long columns = said ? strtol(said, NULL, 10) : 0;
	if (columns > 0 && columns <= TERMINAL_MOST_COLUMNS)
		return (size_t)columns;
	return is_terminal(stream) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col
										    : 0;
}

static bool locale_is_utf8(void)
{
	locale_t users = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	const bool utf8 = users && strcmp(nl_langinfo_l(CODESET, users), "UTF-8") == 0;
	if (users)
		freelocale(users);
	return utf8;
}

struct terminal terminal_of(FILE *stream, const struct report_options *options)
{
	const size_t own = options->width ? options->width : columns_of(stream);
	const bool utf8 = options->utf8 || locale_is_utf8();
	struct terminal terminal = {
		.columns = own ? own : TERMINAL_DEFAULT_COLUMNS,
		.colour = wants_colour(stream, options->color),
		.ascii = options->ascii || (is_terminal(stream) && !utf8),
		.plot_ascii = options->ascii || !utf8,
	};
	if (terminal.columns < TERMINAL_LEAST_COLUMNS)
		terminal.columns = TERMINAL_LEAST_COLUMNS;
	return terminal;
}

const char *terminal_begin(const struct terminal *terminal, enum style style)
{
	static const char *const sequences[N_STYLES] = {
		[STYLE_PLAIN] = "",           [STYLE_HEAD] = "\033[1m",
		[STYLE_DIM] = "\033[2m",      [STYLE_MEMORY] = "\033[36m",
		[STYLE_COMPUTE] = "\033[33m", [STYLE_BALANCED] = "\033[32m",
		[STYLE_ISSUE] = "\033[35m",   [STYLE_LATENCY] = "\033[31m",
		[STYLE_FAULT] = "\033[1;31m",
	};
	return terminal->colour ? sequences[style] : "";
}

const char *terminal_end(const struct terminal *terminal, enum style style)
{
	return terminal->colour && style != STYLE_PLAIN ? "\033[0m" : "";
}

/* ---- characters ---- */

/* Writes what stands for a character in ASCII: no more bytes than the character has in UTF-8. */
static size_t put_ascii(char *to, wchar_t wide)
{
	static const struct {
		wchar_t from;
		const char *to;
	} pairs[] = {
		{L'×', "x"}, {L'–', "-"}, {L'≈', "~"},  {L'∞', "inf"}, {L'·', "-"},
		{L'…', "~"}, {L'µ', "u"}, {L'±', "+-"}, {L'→', "->"},  {L'‖', "||"},
	};
	const int columns = wcwidth(wide);
	const size_t n = columns < 0 ? 1 : (size_t)columns;
	if (wide < 0x80) {
		*to = (char)wide;
		return 1;
	}
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i].from == wide)
			return (size_t)(stpcpy(to, pairs[i].to) - to);
	memset(to, '?', n);
	return n;
}

char *terminal_text(const struct terminal *terminal, const char *clean)
{
	char *copy = malloc(strlen(clean) + 1), *to = copy;
	size_t marks = 0;
	mbstate_t state = {0};
	while (copy && *clean) {
		wchar_t wide;
		size_t n = mbrtowc(&wide, clean, MB_CUR_MAX, &state);
		if (n == 0 || n > MB_CUR_MAX) { /* not in this locale: one column */
			*to++ = terminal->ascii ? '?' : *clean;
			clean++;
			state = (mbstate_t){0};
			continue;
		}
		marks = wcwidth(wide) == 0 ? marks + 1 : 0;
		if (terminal->ascii)
			to += put_ascii(to, wide);
		else if (marks <= MAX_MARKS)
			to = (char *)memcpy(to, clean, n) + n;
		clean += n;
	}
	if (copy)
		*to = '\0';
	return copy;
}

/* ---- sentences ---- */

/* Bytes of the longest beginning of `text` in `room` columns. */
static size_t bytes_in(const char *text, size_t room)
{
	size_t at = 0, length;
	for (size_t used = 0; text[at]; at += length) {
		used += text_character(text + at, &length);
		if (used > room)
			break;
	}
	return at;
}

/* Bytes of the next line: up to the last blank that fits; within a word that is longer than a line.
 */
static size_t line_of(const char *text, size_t room)
{
	size_t fits = bytes_in(text, room);
	if (!text[fits])
		return fits;
	for (size_t at = fits; at > 0; at--)
		if (text[at] == ' ')
			return at;
	return fits ? fits : 1;
}

struct rf_error *terminal_sentence(const struct terminal *terminal, FILE *stream, enum style style,
				   const char *lead, const char *text)
{
	char *shown = terminal_text(terminal, text), *start = terminal_text(terminal, lead);
	const int indent = start ? (int)text_columns(start) : 0;
	const char *from = shown;
	const size_t room =
		terminal->columns > (size_t)indent + 8 ? terminal->columns - (size_t)indent : 8;
	for (bool first = true; shown && start && (first || *from); first = false) {
		const size_t n = line_of(from, room);
		fprintf(stream, "%s%*s%s%.*s%s\n", first ? start : "", first ? 0 : indent, "",
			terminal_begin(terminal, style), (int)n, from,
			terminal_end(terminal, style));
		from += n;
		from += strspn(from, " ");
	}
	const bool done = shown && start;
	free(shown);
	free(start);
	return done ? NULL : rf_error_no_memory();
}
