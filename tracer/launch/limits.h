/* The limits that rfprof was started with.  It raises those that it meets itself as far as it may;
 * the program has them as they were. */
#pragma once

/* Once, before anything is opened: descriptors and sizes of files.  From then on a file that is too
 * large is an error number (EFBIG) and no signal. */
void limits_raise(void);
/* In what becomes the program; async-signal-safe.  Nothing where they were not raised. */
void limits_give_back(void);
