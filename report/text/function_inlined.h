/* Of the page about a function: its own code, and the functions that were inlined in it. */
#pragma once

#include "report/text/page.h"

void page_inlined(struct page *page);
