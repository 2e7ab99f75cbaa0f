/* Files that rfprof reads of its own accord, because they lie where it looks: caches, settings,
 * names that a runtime wrote.  Only this user's and root's are read, and only those that nobody
 * else can write to.  A file that the user has named is read whoever owns it. */
#pragma once

/* Opens a regular file for reading.  -1: *refusal says why it is not to be trusted, in words behind
 * its name ("belongs to another user"); NULL: errno tells why it cannot be opened. */
int trusted_file_open(const char *path, const char **refusal);

/* The same words for a file that is open, or NULL: it can be trusted. */
const char *trusted_file_refusal(int fd);
