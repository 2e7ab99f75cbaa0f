/* The words of the command line for the enums of a report's options; the command line's parser, its
 * help and completion and the views read the same tables. */
#pragma once

#include "base/words.h"

extern const struct rf_word report_sort_words[];      /* enum report_sort */
extern const struct rf_word report_by_words[];        /* enum report_by */
extern const struct rf_word report_color_words[];     /* enum report_color */
extern const struct rf_word report_processes_words[]; /* enum report_processes */
extern const struct rf_word report_direction_words[]; /* enum traffic_direction */
/* "L1" to "DRAM" as 1 to 4; 0, which has no word, is the level that binds. */
extern const struct rf_word report_level_words[];
