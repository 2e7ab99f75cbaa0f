/* What a page has beside its data; report/html/embed.py makes them of the files in
 * report/html/html. */
#pragma once

extern const char html_style[];   /* CSS */
extern const char html_library[]; /* d3 */
extern const char html_script[];  /* the page's own */
extern const char html_policy[];  /* Content-Security-Policy */
