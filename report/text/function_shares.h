/* Of the page about a function: what it falls into. */
#pragma once

#include "report/text/page.h"

/* Its own code, and the functions that were inlined in it. */
void page_inlined(struct page *page);
/* Whose data it moves. */
void page_objects(struct page *page);
/* Lines that threads share which it touches. */
void page_sharing(struct page *page);
/* Which threads run it, who calls it. */
void page_people(struct page *page);
