/* Widths of text, points of numbers and expressions are the same whatever the user's locale is: a
 * stretch of code in C.UTF-8. */
#pragma once

#include <locale.h>

struct utf8_locale {
	locale_t utf8, before; /* (locale_t)0: there is no such locale, nothing changes */
};

struct utf8_locale utf8_locale_begin(void);
void utf8_locale_end(struct utf8_locale locale);
