/* Rules for all code in this folder.  It runs inside of the program that is watched:
 * - Nothing allocates from the program's heap, and nothing is printed.
 * - No descriptor stays open.
 * - When something is missing the program runs on without samples.
 * - Handler code runs in a signal handler at any point of the program: it makes its system calls by
 *   itself (shim_syscall.h), calls nothing of libc, takes no lock that it could wait for, and
 * leaves errno alone.
 *
 * What these rules forbid does not compile behind this header, which is why each file includes it
 * last; files of handler code define SHIM_HANDLER_CODE before. */
#pragma once

#pragma GCC poison malloc calloc realloc reallocarray aligned_alloc free strdup strndup asprintf
#pragma GCC poison printf fprintf snprintf sprintf vprintf puts fputs fopen fdopen fwrite perror
#pragma GCC poison exit _exit abort

#ifdef SHIM_HANDLER_CODE
#pragma GCC poison memcpy memmove memset memcmp strlen strcpy strcmp strncmp strchr
#pragma GCC poison open openat read write close mmap munmap dlsym getpid syscall clock_gettime
#pragma GCC poison timer_create timer_settime timer_delete pthread_mutex_lock pthread_getspecific
#endif
