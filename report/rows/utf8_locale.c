/* A stretch of code in C.UTF-8. */
#include "report/rows/utf8_locale.h"

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
