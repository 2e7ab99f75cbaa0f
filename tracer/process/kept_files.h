/* Files that are kept open for later, because the program may delete or replace them: each once, by
 * device and inode, and so few that enough descriptors are left for everything else. */
#pragma once

/* Keeps the file of `fd`, which is taken, until kept_files_release.  Gives the descriptor that it
 * is kept by; -1: no more files are kept. */
int kept_files_keep(int fd);
/* One who kept it needs it no more; -1 is allowed. */
void kept_files_release(int fd);
