/* One list for all runs and processes that rfprof watches. */
#include "tracer/process/kept_files.h"

#include "base/array.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* At most so many, and this part of the descriptors that there may be.  A program with more
 * libraries than that hardly deletes them all. */
enum { MAX_KEPT = 256, PART_OF_LIMIT = 8 };

struct kept {
	dev_t device;
	ino_t inode;
	int fd;
	unsigned n_users;
};

static struct kept *list;
static size_t n_list, cap_list;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t most(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / PART_OF_LIMIT > MAX_KEPT)
		return MAX_KEPT;
	return limit.rlim_cur / PART_OF_LIMIT;
}

static struct kept *find(const struct stat *status)
{
	for (size_t i = 0; i < n_list; i++)
		if (list[i].device == status->st_dev && list[i].inode == status->st_ino)
			return &list[i];
	return NULL;
}

int kept_files_keep(int fd)
{
	struct stat status;
	int keeps = -1;
	pthread_mutex_lock(&lock);
	const bool is_there = fstat(fd, &status) == 0;
	struct kept *known = is_there ? find(&status) : NULL;
	const struct kept new = {status.st_dev, status.st_ino, fd, 1};
	if (known) {
		known->n_users++;
		keeps = known->fd;
	} else if (is_there && n_list < most() && rf_array_push(list, n_list, cap_list, new)) {
		keeps = fd;
	}
	pthread_mutex_unlock(&lock);
	if (keeps != fd)
		close(fd);
	return keeps;
}

void kept_files_release(int fd)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_list; i++)
		if (list[i].fd == fd && --list[i].n_users == 0) {
			close(fd);
			list[i] = list[--n_list];
			break;
		}
	if (!n_list) {
		free(list);
		list = NULL;
		cap_list = 0;
	}
	pthread_mutex_unlock(&lock);
}
