/* The words of --sort, --by, --color, --processes, --level and --direction, in the order in which
 * they are shown. */
#include "report/rows/option_words.h"

#include "report/rows/report_options.h"

#include <stddef.h>

const struct rf_word report_sort_words[] = {
	{"headroom", SORT_HEADROOM},
	{"distance", SORT_DISTANCE},
	{"time", SORT_TIME},
	{"flops", SORT_FLOPS},
	{"bytes", SORT_BYTES},
	{"name", SORT_NAME},
	{NULL, 0},
};

const struct rf_word report_by_words[] = {
	{"function", BY_FUNCTION}, {"inlined", BY_INLINED},     {"loop", BY_LOOP},
	{"line", BY_LINE},         {"module", BY_MODULE},       {"thread", BY_THREAD},
	{"process", BY_PROCESS},   {"call-path", BY_CALL_PATH}, {NULL, 0},
};

const struct rf_word report_color_words[] = {
	{"auto", COLOR_AUTO},
	{"always", COLOR_ALWAYS},
	{"never", COLOR_NEVER},
	{NULL, 0},
};

const struct rf_word report_processes_words[] = {
	{"merge", PROCESSES_MERGED},
	{"tree", PROCESSES_TREE},
	{NULL, 0},
};

const struct rf_word report_direction_words[] = {
	{"read", DIRECTION_READ},
	{"write", DIRECTION_WRITE},
	{"both", DIRECTION_BOTH},
	{NULL, 0},
};

const struct rf_word report_level_words[] = {
	{"L1", 1}, {"L2", 2}, {"L3", 3}, {"DRAM", 4}, {NULL, 0},
};
