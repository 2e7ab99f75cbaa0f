/* Carries a standard stream of the program, byte for byte, and hashes or keeps it on the way. */
#include "tracer/launch/stdio_relay.h"

#include "base/crash.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* A write of at most PIPE_BUF bytes into a pipe that polls writable does not block (pipe(7)): the
 * unit in which standard input is read. */
enum { INPUT_UNIT = 4096 };

/* Input beyond this goes from memory to a file; each time that so much more has come, the file
 * system is looked at: one part in SPARED of it stays free. */
static const uint64_t KEPT_IN_MEMORY = (uint64_t)64 << 20;
enum { SPARED = 10 };

#define FNV_PRIME 0x100000001b3u

/* Blanks and signs are left out, for they stand where a number is short, or is not. */
static void add_word_byte(struct stream_hash *hash, uint8_t byte)
{
	const bool digit = byte >= '0' && byte <= '9';
	if (byte == ' ' || byte == '\t' || byte == '+' || byte == '-') {
		hash->in_number = hash->in_number && byte != ' ' && byte != '\t';
		return;
	}
	if (hash->in_number && (digit || (byte && strchr(".,:eE", byte))))
		return;
	hash->in_number = digit;
	hash->words = (hash->words ^ (digit ? '0' : byte)) * FNV_PRIME;
}

void stream_hash_add(struct stream_hash *hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t value = hash->hash;
	for (size_t i = 0; i < size; i++) {
		value = (value ^ bytes[i]) * FNV_PRIME;
		add_word_byte(hash, bytes[i]);
	}
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

/* Waits until something happens to one of `n` descriptors.  False: it cannot be waited for. */
static bool wait_any(struct pollfd *polls, nfds_t n)
{
	while (poll(polls, n, -1) < 0)
		if (errno != EINTR)
			return false;
	return true;
}

/* Waits until `fd` is ready for `events`, or has failed.  False: stopped. */
static bool wait_ready(const struct relay *relay, int fd, short events)
{
	struct pollfd polls[2] = {{fd, events, 0}, {relay->stop, POLLIN, 0}};
	return wait_any(polls, 2) && !polls[1].revents;
}

/* What was read is known before anything is done with it that can fail. */
static void took(struct relay *relay, ssize_t n)
{
	relay->from = 0;
	relay->to = (size_t)n;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* Writes what was read, also to a descriptor that does not block.  False: the reader has gone. */
static bool write_read(struct relay *relay, int fd)
{
	while (relay->from < relay->to) {
		ssize_t n = write(fd, relay->buffer + relay->from, relay->to - relay->from);
		if (n > 0) {
			relay->from += (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			if (!wait_ready(relay, fd, POLLOUT))
				return false;
		} else if (n < 0 && errno != EINTR) {
			return false;
		}
	}
	return true;
}

/* The thread of a relay has failed, in rfprof's own work on what was read. */
static void carry_on(void *opaque)
{
	struct relay *relay = opaque;
	relay->plain = true;
	relay->run(relay);
}

static void *end(struct relay *relay)
{
	__atomic_store_n(&relay->ended, true, __ATOMIC_RELEASE);
	return NULL;
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
	if (!wait_any(polls, 3))
		return false;
	if (polls[0].revents)
		return true; /* what was written before is counted first */
	if (polls[2].revents & (POLLERR | POLLHUP | POLLNVAL))
		relay->reader_gone = true;
	return false;
}

static bool write_output(struct relay *relay)
{
	if (relay->watch >= 0 && !write_read(relay, relay->watch)) {
		relay->reader_gone = true;
		return false;
	}
	return relay->hash.bytes < relay->limit;
}

static bool read_output(struct relay *relay)
{
	uint64_t left = relay->limit - relay->hash.bytes;
	ssize_t n = read(relay->in, relay->buffer, left < RELAY_BUFFER ? left : RELAY_BUFFER);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	took(relay, n);
	if (!relay->plain)
		stream_hash_add(&relay->hash, relay->buffer, (size_t)n);
	return n > 0;
}

void *relay_output(void *opaque)
{
	struct relay *relay = opaque;
	crash_set_thread_step(carry_on, relay);
	while (write_output(relay) && wait_output(relay) && read_output(relay))
		;
	close_fd(&relay->in);
	return end(relay);
}

/* --- input --- */

/* A file that nothing can leave behind: without a name, or with one that is taken away at once. */
static int open_unlinked(const char *folder)
{
	char name[PATH_MAX];
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 ||
	    snprintf(name, sizeof(name), "%s/rfprof-XXXXXX", folder) >= (int)sizeof(name))
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static bool has_room(int fd)
{
	struct statvfs status;
	return fstatvfs(fd, &status) != 0 || status.f_bavail > status.f_blocks / SPARED;
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

/* Moves kept input from memory to a file.  False: there is no room for one. */
static bool keep_on_disk(struct kept_input *keep)
{
	const char *given = getenv("TMPDIR"), *const folders[] = {given && *given ? given
										  : "/var/tmp",
								  "/var/tmp", "/tmp"};
	uint8_t buffer[INPUT_UNIT];
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		int fd = open_unlinked(folders[i]);
		if (fd < 0)
			continue;
		if (has_room(fd) && copy_file(keep->fd, fd, keep->bytes, buffer)) {
			close(keep->fd);
			keep->fd = fd;
			snprintf(keep->folder, sizeof(keep->folder), "%s", folders[i]);
			return true;
		}
		close(fd);
	}
	return false;
}

/* Whether `size` more bytes can be kept: memory up to a limit, then a file while there is room. */
static bool make_room(struct kept_input *keep, size_t size)
{
	const uint64_t before = keep->bytes / KEPT_IN_MEMORY,
		       after = (keep->bytes + size) / KEPT_IN_MEMORY;
	if (before == after)
		return true;
	return keep->folder[0] ? has_room(keep->fd) : keep_on_disk(keep);
}

static void keep_input(struct kept_input *keep, const uint8_t *data, size_t size)
{
	if (keep->errnum)
		return;
	if (keep->fd < 0)
		keep->fd = memfd_create("rfprof-input", MFD_CLOEXEC);
	const bool room = keep->fd >= 0 && make_room(keep, size);
	errno = ENOSPC;
	if (!room || pwrite(keep->fd, data, size, (off_t)keep->bytes) != (ssize_t)size)
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
	return wait_any(polls, 3) && !polls[1].revents && !polls[2].revents;
}

static bool read_input(struct relay *relay)
{
	ssize_t n = read(STDIN_FILENO, relay->buffer, INPUT_UNIT);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	took(relay, n);
	if (!relay->plain)
		keep_input(relay->keep, relay->buffer, (size_t)n);
	return n > 0;
}

void *relay_input(void *opaque)
{
	struct relay *relay = opaque;
	crash_set_thread_step(carry_on, relay);
	while (write_read(relay, relay->out) && wait_ready(relay, relay->out, POLLOUT) &&
	       wait_input(relay) && read_input(relay))
		;
	close_fd(&relay->out);
	return end(relay);
}

void *relay_replay(void *opaque)
{
	struct relay *relay = opaque;
	crash_set_thread_step(carry_on, relay);
	for (uint64_t done = 0;
	     write_read(relay, relay->out) && wait_ready(relay, relay->out, POLLOUT);) {
		ssize_t n = pread(relay->keep->fd, relay->buffer, INPUT_UNIT, (off_t)done);
		if (n <= 0)
			break;
		took(relay, n);
		done += (uint64_t)n;
	}
	close_fd(&relay->out);
	return end(relay);
}

/* --- threads --- */

struct rf_error *relay_start(struct relay *relay)
{
	relay->stop = eventfd(0, EFD_CLOEXEC);
	if (relay->stop < 0)
		return rf_error_errno(RF_EINTERNAL, errno, NULL, "cannot make an event descriptor");
	const int errnum = thread_start(&relay->thread, relay->run, relay);
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
