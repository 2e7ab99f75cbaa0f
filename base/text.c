/* Cleaning, measuring and writing of text; numbers as people read them. */
#include "base/text.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the well-formed sequence at `s` (Unicode 15, table 3-7), or 0; *code gets its value. */
static size_t sequence(const unsigned char *s, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (n > 1 && (s[0] < 0xc2 || s[0] > 0xf4))
		return 0;
	*code = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (s[i] & 0x3f);
	}
	bool valid = *code >= least[n] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
	return valid ? n : 0;
}

/* Ranges that move the cursor, reorder text or cannot be seen, and what XML forbids. */
static bool is_harmful(uint32_t code)
{
	static const uint32_t ranges[][2] = {
		{0x00, 0x1f},     {0x7f, 0x9f}, /* C0, DEL, C1 */
		{0xad, 0xad},     {0x61c, 0x61c},   {0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff}, /* tags */
	};
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return (code & 0xfffe) == 0xfffe; /* noncharacters of each plane */
}

/* Length of the character at `s` when it can be shown, or 0. */
static size_t shown(const char *s)
{
	uint32_t code = 0;
	const size_t n = sequence((const unsigned char *)s, &code);
	return is_harmful(code) ? 0 : n;
}

bool text_is_clean(const char *text)
{
	for (size_t n; *text; text += n) {
		n = *text >= ' ' && *text < 0x7f; /* as most are */
		if (!n && !(n = shown(text)))
			return false;
	}
	return true;
}

char *text_clean(const char *text)
{
	size_t length = strlen(text);
	if (text_is_clean(text))
		return strdup(text);
	if (length > (SIZE_MAX - 1) / 3)
		return NULL;
	char *clean = malloc(length * 3 + 1), *to = clean;
	if (!clean)
		return NULL;
	for (const char *from = text; *from;) {
		uint32_t code = 0;
		size_t n = sequence((const unsigned char *)from, &code);
		bool good = n && !is_harmful(code);
		memcpy(to, good ? from : REPLACEMENT, good ? n : 3);
		to += good ? n : 3;
		from += n ? n : 1;
	}
	*to = '\0';
	char *fitted = realloc(clean, (size_t)(to - clean) + 1);
	return fitted ? fitted : clean;
}

size_t text_character(const char *text, size_t *length)
{
	wchar_t wide;
	mbstate_t state = {0};
	size_t n = mbrtowc(&wide, text, MB_LEN_MAX, &state);
	*length = n == 0 || n > MB_LEN_MAX ? 1 : n;
	int columns = n == 0 || n > MB_LEN_MAX ? 1 : wcwidth(wide);
	return columns < 0 ? 1 : (size_t)columns;
}

size_t text_columns(const char *text)
{
	size_t columns = 0, length;
	for (; *text; text += length)
		columns += text_character(text, &length);
	return columns;
}

char *text_shorten(const char *unclean, size_t columns)
{
	char *text = text_clean(unclean);
	size_t total = text ? text_columns(text) : 0;
	if (total <= columns)
		return text;
	size_t head = (columns - 1) / 2, tail = columns - 1 - head, at = 0, length;
	const char *end = text;
	for (size_t n; *end && at + (n = text_character(end, &length)) <= head; end += length)
		at += n;
	const char *rest = end;
	for (; *rest && total - at > tail; rest += length)
		at += text_character(rest, &length);
	char *result = NULL;
	if (asprintf(&result, "%.*s…%s", (int)(end - text), text, rest) < 0)
		result = NULL;
	free(text);
	return result;
}

char *text_without_middle(const char *text, size_t most)
{
	const size_t length = strlen(text);
	char *result = NULL;
	assert(length > most);
	size_t head = most / 2, tail = length - most / 4;
	while (head && (text[head] & 0xc0) == 0x80)
		head--;
	while (tail < length && (text[tail] & 0xc0) == 0x80)
		tail++;
	return asprintf(&result, "%.*s … %s", (int)head, text, text + tail) < 0 ? NULL : result;
}

const char *text_number(char buffer[static TEXT_NUMBER], double value)
{
	double size = fabs(value);
	if (!isfinite(value))
		snprintf(buffer, TEXT_NUMBER, "%s", isnan(value) ? "–" : "∞");
	else if (size != 0 && (size < 0.0009995 || size >= 9.995e6))
		snprintf(buffer, TEXT_NUMBER, "%.3g", value);
	else {
		int digits = size == 0 ? 0 : 2 - (int)floor(log10(size) + 0.0002);
		snprintf(buffer, TEXT_NUMBER, "%.*f", digits < 0 ? 0 : digits, value);
	}
	return buffer;
}

void text_write_xml(FILE *stream, const char *text)
{
	static const char *const entities[UINT8_MAX + 1] = {['&'] = "&amp;",
							    ['<'] = "&lt;",
							    ['>'] = "&gt;",
							    ['"'] = "&quot;",
							    ['\''] = "&#39;"};
	char *clean = text_clean(text);
	for (const char *at = clean; at && *at; at++)
		if (entities[(unsigned char)*at])
			fputs(entities[(unsigned char)*at], stream);
		else
			putc(*at, stream);
	free(clean);
}

void text_clean_in_place(char *text)
{
	for (size_t n; *text; text += n ? n : 1)
		if (!(n = shown(text)))
			*text = '?';
}

/* As bash, zsh, ksh and POSIX (2024) read it: what cannot be shown stands there by its number. */
static void write_escaped(FILE *stream, const char *word)
{
	fputs("$'", stream);
	for (size_t n; *word; word += n ? n : 1)
		if (!(n = shown(word)))
			fprintf(stream, "\\x%02x", (unsigned char)*word);
		else
			fprintf(stream, "%s%.*s", strchr("'\\", *word) ? "\\" : "", (int)n, word);
	fputc('\'', stream);
}

void text_write_word(FILE *stream, const char *word)
{
	if (!text_is_clean(word)) {
		write_escaped(stream, word);
		return;
	}
	if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "_-+=./:,@%") == strlen(word)) {
		fputs(word, stream);
		return;
	}
	fputc('\'', stream);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", stream);
		else
			fputc(*word, stream);
	fputc('\'', stream);
}

void text_write_path(FILE *stream, const char *path)
{
	if (*path == '-')
		fputs("./", stream);
	text_write_word(stream, path);
}

struct utf8_locale utf8_locale_begin(void)
{
	struct utf8_locale locale = {.utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0)};
	if (locale.utf8)
		locale.before = uselocale(locale.utf8);
	return locale;
}

void utf8_locale_end(struct utf8_locale locale)
{
	if (!locale.utf8)
		return;
	uselocale(locale.before);
	freelocale(locale.utf8);
}
