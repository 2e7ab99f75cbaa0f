/* Text that is safe to show: names come from files that nobody vouches for. */
#pragma once

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Copy of `text` as valid UTF-8 in which control characters, escape sequences' first bytes,
 * direction overrides, invisible and ill-formed characters are replaced by U+FFFD.  NULL: no
 * memory. */
char *text_clean(const char *text);
bool text_is_clean(const char *text);
/* The same with a '?' for each byte that is replaced. */
void text_clean_in_place(char *text);
/* Terminal columns of the character at `text`, as text_columns; *length gets its bytes. */
size_t text_character(const char *text, size_t *length);
/* Terminal columns of valid UTF-8 (needs a UTF-8 LC_CTYPE). */
size_t text_columns(const char *text);
/* Clean copy of at most `columns` (≥ 3) columns, the middle left out as "…".  NULL: no memory. */
char *text_shorten(const char *text, size_t columns);
/* Copy of clean text of more than `most` bytes, its middle left out as " … ".  NULL: no memory. */
char *text_without_middle(const char *text, size_t most);
/* 3 significant digits without an exponent between 0.001 and 1e7: "0.00123", "8.41", "1310".
 * Not a number: "–". */
#define TEXT_NUMBER 32
const char *text_number(char buffer[static TEXT_NUMBER], double value);
/* Writes a word as a shell would need it; what is written is clean whatever the word is. */
void text_write_word(FILE *stream, const char *word);
/* The same for the path of a file, which is not taken for an option. */
void text_write_path(FILE *stream, const char *path);
/* Writes text, cleaned, with XML's special characters escaped. */
void text_write_xml(FILE *stream, const char *text);

/* Widths of text, points of numbers and expressions are the same whatever the user's locale is: a
 * stretch of code in C.UTF-8. */
struct utf8_locale {
	locale_t utf8, before; /* (locale_t)0: there is no such locale, nothing changes */
};

struct utf8_locale utf8_locale_begin(void);
void utf8_locale_end(struct utf8_locale locale);
