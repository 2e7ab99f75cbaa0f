/* Shows a page in the user's browser (--open). */
#pragma once

#include <stdio.h>

/* Starts the browser and does not wait for it; says on `stream` where that cannot be, and where the
 * page is.  No failure of it is an error: the page is written. */
void open_page(const char *path, FILE *stream);
