/* Of the page about a function: whose data it moves, which threads run it, who calls it. */
#pragma once

#include "report/text/page.h"

void page_objects(struct page *page);
void page_people(struct page *page);
