#include "tracer/launch/stdio_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 16 };

/* A write of at most PIPE_BUF bytes into a pipe that polls writable does not block (pipe(7)): the
 * unit in which standard input is read. */
enum { INPUT_UNIT = 4096 };

/* Input beyond this goes from memory to a file. */
static const uint64_t KEPT_IN_MEMORY = (uint64_t)256 << 20;

void stream_hash_add(struct stream_hash *hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t value = hash->hash;
	for (size_t i = 0; i < size; i++)
		value = (value ^ bytes[i]) * 0x100000001b3u;
	hash->hash = value;
	hash->bytes += size;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_ends(struct relay *relay)
{
	close_fd(&relay->in);
	close_fd(&relay->out);
	close_fd(&relay->stop);
}

/* Waits until `fd` is ready for `events`, or has failed.  False: stopped. */
static bool wait_ready(const struct relay *relay, int fd, short events)
{
	struct pollfd polls[2] = {{fd, events, 0}, {relay->stop, POLLIN, 0}};
	while (poll(polls, 2, -1) < 0)
		if (errno != EINTR)
			return false;
	return !polls[1].revents;
}

/* Writes it all, also to a descriptor that does not block.  False: the reader has gone. */
static bool write_all(const struct relay *relay, int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			if (!wait_ready(relay, fd, POLLOUT))
				return false;
		} else if (n < 0 && errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* --- output --- */

/* Waits for output of the program.  False: stopped, or the reader of our standard output has
 * gone; then the program gets SIGPIPE or EPIPE from its own pipe as soon as we close our end. */
static bool wait_output(struct relay *relay)
{
	struct pollfd polls[3] = {
		{relay->in, POLLIN, 0},
		{relay->stop, POLLIN, 0},
		{relay->watch, 0, 0},
	};
	while (poll(polls, 3, -1) < 0)
		if (errno != EINTR)
			return false;
	if (polls[0].revents)
		return true; /* what was written before is counted first */
	if (polls[2].revents & (POLLERR | POLLHUP | POLLNVAL))
		relay->reader_gone = true;
	return false;
}

static bool carry_output(struct relay *relay, uint8_t *buffer)
{
	uint64_t left = relay->limit - relay->hash.bytes;
	ssize_t n = read(relay->in, buffer, left < BUFFER_SIZE ? left : BUFFER_SIZE);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	if (n == 0)
		return false;
	stream_hash_add(&relay->hash, buffer, (size_t)n);
	if (relay->watch >= 0 && !write_all(relay, relay->watch, buffer, (size_t)n)) {
		relay->reader_gone = true;
		return false;
	}
	return relay->hash.bytes < relay->limit;
}

void *relay_output(void *opaque)
{
	struct relay *relay = opaque;
	uint8_t *buffer = malloc(BUFFER_SIZE);
	while (buffer && wait_output(relay) && carry_output(relay, buffer))
		;
	free(buffer);
	close_fd(&relay->in);
	return NULL;
}

/* --- input --- */

static int open_unlinked(void)
{
	const char *folder = getenv("TMPDIR");
	int fd =
		open(folder && *folder ? folder : "/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static bool copy_file(int from, int to, uint64_t size, uint8_t *buffer)
{
	for (uint64_t done = 0; done < size;) {
		ssize_t n = pread(from, buffer, INPUT_UNIT, (off_t)done);
		if (n <= 0 || pwrite(to, buffer, (size_t)n, (off_t)done) != n)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

/* Moves kept input from memory to a file that has no name.  Where that fails it stays. */
static void keep_on_disk(struct kept_input *keep)
{
	uint8_t buffer[INPUT_UNIT];
	int fd = open_unlinked();
	keep->on_disk = true; /* tried once */
	if (fd < 0)
		return;
	if (copy_file(keep->fd, fd, keep->bytes, buffer)) {
		close(keep->fd);
		keep->fd = fd;
	} else {
		close(fd);
	}
}

static void keep_input(struct kept_input *keep, const uint8_t *data, size_t size)
{
	if (keep->errnum)
		return;
	if (keep->fd < 0)
		keep->fd = memfd_create("rfprof-input", MFD_CLOEXEC);
	if (keep->fd >= 0 && !keep->on_disk && keep->bytes + size > KEPT_IN_MEMORY)
		keep_on_disk(keep);
	errno = ENOSPC;
	if (keep->fd < 0 || pwrite(keep->fd, data, size, (off_t)keep->bytes) != (ssize_t)size)
		keep->errnum = errno;
	else
		keep->bytes += size;
}

/* Waits for input while the program is still there to read it. */
static bool wait_input(const struct relay *relay)
{
	struct pollfd polls[3] = {
		{STDIN_FILENO, POLLIN, 0},
		{relay->stop, POLLIN, 0},
		{relay->out, 0, 0},
	};
	while (poll(polls, 3, -1) < 0)
		if (errno != EINTR)
			return false;
	return !polls[1].revents && !polls[2].revents;
}

void *relay_input(void *opaque)
{
	struct relay *relay = opaque;
	uint8_t buffer[INPUT_UNIT];
	while (wait_ready(relay, relay->out, POLLOUT) && wait_input(relay)) {
		ssize_t n = read(STDIN_FILENO, buffer, sizeof(buffer));
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
			break;
		if (n < 0)
			continue;
		keep_input(relay->keep, buffer, (size_t)n);
		if (!write_all(relay, relay->out, buffer, (size_t)n))
			break;
	}
	close_fd(&relay->out);
	return NULL;
}

void *relay_replay(void *opaque)
{
	struct relay *relay = opaque;
	uint8_t buffer[INPUT_UNIT];
	for (uint64_t done = 0; wait_ready(relay, relay->out, POLLOUT);) {
		ssize_t n = pread(relay->keep->fd, buffer, sizeof(buffer), (off_t)done);
		if (n <= 0 || !write_all(relay, relay->out, buffer, (size_t)n))
			break;
		done += (uint64_t)n;
	}
	close_fd(&relay->out);
	return NULL;
}

/* --- threads --- */

struct rf_error *relay_start(struct relay *relay)
{
	sigset_t all, old;
	relay->stop = eventfd(0, EFD_CLOEXEC);
	if (relay->stop < 0)
		return rf_error_errno(RF_EINTERNAL, errno, NULL, "cannot make an event descriptor");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int errnum = pthread_create(&relay->thread, NULL, relay->run, relay);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (errnum)
		return rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread");
	relay->running = true;
	return NULL;
}

static bool join_until(struct relay *relay, int milliseconds)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	return pthread_clockjoin_np(relay->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
}

void relay_join(struct relay *relay, int milliseconds)
{
	if (relay->running && milliseconds >= 0 && join_until(relay, milliseconds))
		relay->running = false;
	if (relay->running && milliseconds >= 0)
		eventfd_write(relay->stop, 1);
	if (relay->running)
		pthread_join(relay->thread, NULL);
	relay->running = false;
	close_ends(relay);
}
