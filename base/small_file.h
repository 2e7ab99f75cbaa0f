/* The small text files of /proc and /sys.  `root` is put in front of paths, "" for the real ones.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

bool small_file_exists(const char *root, const char *path);
/* The first line of DIRECTORY/NAME without its newline; false: no such file, or longer than
 * `size`, and *line is "". */
bool small_file_line(const char *directory, const char *name, char *line, size_t size);
/* The number in a file, or SMALL_FILE_UNKNOWN. */
#define SMALL_FILE_UNKNOWN INT_MIN
int small_file_number(const char *root, const char *path);
/* The value of the first line "NAME: VALUE", without the blanks before it; false: there is none. */
bool small_file_field(const char *root, const char *path, const char *name, char *value,
		      size_t size);
/* The same of /proc/PID/status (proc(5)). */
bool small_file_status(pid_t pid, const char *name, char *value, size_t size);
