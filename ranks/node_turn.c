/* A lock file of the node's own, not in the user's home, which other nodes may see as well. */
#include "ranks/node_turn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S 600 /* a large machine takes a minute */
#define PAUSE_NS 20000000

/* ---- processors ---- */

/* "Name:  (sh) S 17 …" */
static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	int parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	const size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[n] = '\0';
	const char *behind = strrchr(text, ')');
	return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Those of the nearest ancestor that has more than this process, and all of this process's: the
 * launcher's. */
static bool launcher_processors(const cpu_set_t *own, cpu_set_t *wide)
{
	pid_t pid = getppid();
	for (int depth = 0; pid > 1 && depth < 16; depth++, pid = parent_of(pid)) {
		cpu_set_t both;
		if (sched_getaffinity(pid, sizeof(*wide), wide) != 0)
			return false;
		CPU_AND(&both, wide, own);
		if (CPU_EQUAL(&both, own) && CPU_COUNT(wide) > CPU_COUNT(own))
			return true;
	}
	return false;
}

static void widen(struct node_turn *turn)
{
	cpu_set_t wide;
	if (sched_getaffinity(0, sizeof(turn->before), &turn->before) == 0 &&
	    launcher_processors(&turn->before, &wide))
		turn->widened = sched_setaffinity(0, sizeof(wide), &wide) == 0;
}

/* ---- the lock ---- */

static int open_lock(void)
{
	const char *directory = getenv("TMPDIR");
	struct stat status;
	char path[512];
	if (!directory || *directory != '/' || strlen(directory) > 400)
		directory = "/tmp";
	snprintf(path, sizeof(path), "%s/rfprof-ranks-%u.lock", directory, (unsigned)geteuid());
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 &&
	    (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool wait_for(int fd)
{
	struct timespec now, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += WAIT_S;
	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (errno != EWOULDBLOCK || now.tv_sec > end.tv_sec)
			return false;
		nanosleep(&(const struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
	return true;
}

/* What tells the job: its launcher's word, or its process on this node. */
static void put_tag(const struct rank *rank, char *tag, size_t size)
{
	snprintf(tag, size, "%s %d %s\n", rank->launcher, rank->job[0] ? 0 : (int)getppid(),
		 rank->job);
}

void node_turn_begin(const struct rank *rank, struct node_turn *turn)
{
	char tag[2 * RANK_TEXT], found[2 * RANK_TEXT] = "";
	*turn = (struct node_turn){.fd = open_lock()};
	turn->late = turn->fd >= 0 && !wait_for(turn->fd);
	put_tag(rank, tag, sizeof(tag));
	if (turn->fd >= 0 && !turn->late && pread(turn->fd, found, sizeof(found) - 1, 0) > 0)
		turn->done_before = strcmp(found, tag) == 0;
	widen(turn);
}

void node_turn_end(const struct rank *rank, bool done, struct node_turn *turn)
{
	char tag[2 * RANK_TEXT];
	put_tag(rank, tag, sizeof(tag));
	if (turn->widened)
		sched_setaffinity(0, sizeof(turn->before), &turn->before);
	/* what cannot be noted is measured again by the next one */
	if (done && turn->fd >= 0 && !turn->late && ftruncate(turn->fd, 0) == 0 &&
	    pwrite(turn->fd, tag, strlen(tag), 0) < 0)
		done = false;
	if (turn->fd >= 0)
		close(turn->fd);
	turn->fd = -1;
}
