/* What the images of a run have translated, for later ones that run the same program. */
#pragma once

#include "tracer/translate/kept_code.h"

#define STOCK_MEMORY (512u << 20) /* bytes, of all */

struct stock;

/* NULL when memory is short. */
struct stock *stock_create(void);
void stock_destroy(struct stock *stock);

/* There is one more image.  Nothing is kept for a single one. */
void stock_add_image(struct stock *stock);
/* An image that ran the program `key` (not 0) is gone: keeps what it has translated, where that is
 * more than what is kept of the program, or that does not suit it any more.  Its code's memory must
 * still be there. */
void stock_keep(struct stock *stock, uint64_t key, struct translator *translator);
/* What is kept of a program, to be released (kept_code_release) by the caller; or NULL. */
struct kept_code *stock_find(struct stock *stock, uint64_t key);
