/* A file holds a checksum, what its facts depend on, and the facts as bytes of this machine. */
#include "names/kept_names.h"

#include "base/hash.h"
#include "base/keep_place.h"
#include "base/trusted_file.h"
#include "base/whole_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Raised whenever the layout or the meaning of what is kept changes. */
#define KEPT_VERSION UINT64_C(0x7266706e616d0001)

/* Clocks of file systems are coarse; within that time two changes can have one stamp. */
#define SETTLED_NS INT64_C(2000000000)
/* A file that is used is marked as such once in so many seconds. */
#define USED_SECONDS 86400

static const struct keep_place place = {"XDG_CACHE_HOME", ".cache", "names of functions"};

struct kept_names {
	char *directory; /* NULL: nothing is kept */
	struct file_stamp self;
	struct rf_error *warning;
	bool prepared;
};

struct kept_names *kept_names_create(void)
{
	struct kept_names *kept = calloc(1, sizeof(*kept));
	struct stat status;
	char *parent = NULL;
	if (!kept)
		return NULL;
	struct rf_error *homeless = keep_place_directory(&place, &parent);
	if (!homeless && stat("/proc/self/exe", &status) == 0) {
		kept->self = file_stamp_of(&status);
		if (asprintf(&kept->directory, "%s/names", parent) < 0)
			kept->directory = NULL;
	}
	rf_error_destroy(homeless);
	free(parent);
	return kept;
}

void kept_names_destroy(struct kept_names *kept)
{
	if (!kept)
		return;
	rf_error_destroy(kept->warning);
	free(kept->directory);
	free(kept);
}

struct rf_error *kept_names_warning(struct kept_names *kept)
{
	struct rf_error *warning = kept->warning;
	kept->warning = NULL;
	return warning;
}

static void warn(struct kept_names *kept, const char *path, const char *what)
{
	if (!kept->warning)
		kept->warning = rf_error_create(RF_EACCESS, "remove it", "%s is not used: it %s",
						path, what);
}

/* ---- which file ---- */

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *status)
{
	return (struct file_stamp){status->st_dev, status->st_ino, (uint64_t)status->st_size,
				   nanoseconds(&status->st_ctim), nanoseconds(&status->st_mtim)};
}

struct file_stamp file_stamp_of_image(const void *image, size_t size)
{
	return (struct file_stamp){.inode = rf_hash(image, size), .size = size};
}

static struct file_stamp stamp_of_path(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? file_stamp_of(&status) : (struct file_stamp){0};
}

static bool is_same(const struct file_stamp *a, const struct file_stamp *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool is_settled(const struct file_stamp *stamp)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	const int64_t latest = nanoseconds(&now) - SETTLED_NS;
	return stamp->changed_ns < latest && stamp->modified_ns < latest;
}

/* By the path alone: what is kept of a file that is built anew takes the place of the older. */
static char *path_of(const struct kept_names *kept, const struct kept_key *key)
{
	char *path;
	return asprintf(&path, "%s/%016llx", kept->directory,
			(unsigned long long)rf_hash(key->path, strlen(key->path))) < 0
		       ? NULL
		       : path;
}

/* ---- the head of a file ---- */

struct head {
	uint64_t version, checksum; /* of all that follows */
};

/* What follows it; then path and build id, the stamps of all places, and the facts. */
struct origin {
	struct file_stamp self, module;
	uint64_t path_size, build_id_size, n_places;
};

struct cursor {
	const char *at, *end;
};

static bool take(void *context, void *to, size_t size)
{
	struct cursor *cursor = context;
	if ((size_t)(cursor->end - cursor->at) < size)
		return false;
	memcpy(to, cursor->at, size);
	cursor->at += size;
	return true;
}

static bool take_same(struct cursor *cursor, const char *text, uint64_t size)
{
	if (size != strlen(text) || (uint64_t)(cursor->end - cursor->at) < size)
		return false;
	const bool same = memcmp(cursor->at, text, size) == 0;
	cursor->at += size;
	return same;
}

static bool places_are_same(const struct name_facts *facts, const char *stamps)
{
	for (size_t i = 0; i < facts->n_places; i++) {
		const char *path = name_facts_text(facts, facts->places[i].path);
		const struct file_stamp now = stamp_of_path(path);
		if (memcmp(&now, stamps + i * sizeof(now), sizeof(now)) != 0)
			return false;
	}
	return true;
}

/* ---- reading ---- */

enum { HOLDS, IS_OLD, IS_BROKEN };

static int parse(const struct kept_names *kept, const struct kept_key *key, struct cursor *cursor,
		 struct name_facts *facts)
{
	const struct fact_source source = {take, cursor};
	struct head head;
	struct origin origin;
	if (!take(cursor, &head, sizeof(head)))
		return IS_BROKEN;
	if (head.version != KEPT_VERSION)
		return IS_OLD;
	if (head.checksum != rf_hash(cursor->at, (size_t)(cursor->end - cursor->at)) ||
	    !take(cursor, &origin, sizeof(origin)))
		return IS_BROKEN;
	if (!is_same(&origin.self, &kept->self) || !is_same(&origin.module, &key->stamp) ||
	    !take_same(cursor, key->path, origin.path_size) ||
	    !take_same(cursor, key->build_id, origin.build_id_size))
		return IS_OLD;
	const char *stamps = cursor->at;
	if ((uint64_t)(cursor->end - stamps) / sizeof(struct file_stamp) < origin.n_places)
		return IS_BROKEN;
	cursor->at += origin.n_places * sizeof(struct file_stamp);
	if (!name_facts_read(&source, facts) || facts->n_places != origin.n_places)
		return IS_BROKEN;
	return places_are_same(facts, stamps) ? HOLDS : IS_OLD;
}

/* What is used is not removed. */
static void mark_used(int fd)
{
	struct stat status;
	const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	if (fstat(fd, &status) == 0 && time(NULL) - status.st_mtime > USED_SECONDS)
		(void)futimens(fd, times);
}

bool kept_names_load(struct kept_names *kept, const struct kept_key *key, struct name_facts *facts)
{
	char *path = kept->directory ? path_of(kept, key) : NULL, *bytes = NULL;
	const char *refusal = NULL;
	size_t size = 0;
	int state = IS_OLD;
	const int fd = path ? trusted_file_open(path, &refusal) : -1;
	if (refusal)
		warn(kept, path, refusal);
	if (fd >= 0) {
		bytes = trusted_file_bytes(fd, KEPT_MOST_FILE, &size);
		struct cursor cursor = {bytes, bytes + size};
		state = bytes ? parse(kept, key, &cursor, facts) : IS_BROKEN;
		if (bytes)
			mark_used(fd);
		close(fd);
	}
	if (state == IS_BROKEN)
		warn(kept, path, "is broken");
	if (state != HOLDS)
		name_facts_deinit(facts);
	free(bytes);
	free(path);
	return state == HOLDS;
}

/* ---- writing ---- */

/* The stamps of the places; NULL: memory is short, or they changed meanwhile or a moment ago. */
static struct file_stamp *stamp_places(const struct name_facts *facts)
{
	struct file_stamp *stamps = calloc(facts->n_places + 1, sizeof(*stamps));
	for (size_t i = 0; stamps && i < facts->n_places; i++) {
		const struct fact_place *candidate = &facts->places[i];
		stamps[i] = stamp_of_path(name_facts_text(facts, candidate->path));
		if (!is_settled(&stamps[i]) || (candidate->used && !stamps[i].inode)) {
			free(stamps);
			return NULL;
		}
	}
	return stamps;
}

/* All of a file but its head; NULL: memory is short. */
static char *compose(const struct kept_names *kept, const struct kept_key *key,
		     const struct name_facts *facts, const struct file_stamp *stamps, size_t *size)
{
	const struct origin origin = {.self = kept->self,
				      .module = key->stamp,
				      .path_size = strlen(key->path),
				      .build_id_size = strlen(key->build_id),
				      .n_places = facts->n_places};
	char *bytes = NULL;
	FILE *stream = open_memstream(&bytes, size);
	if (!stream)
		return NULL;
	fwrite(&origin, sizeof(origin), 1, stream);
	fputs(key->path, stream);
	fputs(key->build_id, stream);
	fwrite(stamps, sizeof(*stamps), facts->n_places, stream);
	name_facts_write(facts, stream);
	const bool failed = ferror(stream);
	if (fclose(stream) == 0 && !failed)
		return bytes;
	free(bytes);
	return NULL;
}

static void write_file(const char *path, const char *bytes, size_t size)
{
	const struct whole_file_wish wish = {path, "cannot keep names in", NULL,
					     WHOLE_FILE_REGULAR | WHOLE_FILE_PRIVATE |
						     WHOLE_FILE_UNSYNCED};
	const struct head head = {KEPT_VERSION, rf_hash(bytes, size)};
	struct whole_file file;
	struct rf_error *error = whole_file_stream(&wish, &file);
	if (!error) {
		fwrite(&head, sizeof(head), 1, file.stream);
		fwrite(bytes, 1, size, file.stream);
		error = whole_file_close(&file, NULL);
	}
	rf_error_destroy(error); /* the next run reads again */
}

static bool is_kept_name(const char *name)
{
	return strlen(name) == 16 && strspn(name, "0123456789abcdef") == 16;
}

/* Sums up the files, and finds the one that was not used for the longest time. */
static uint64_t look_through(DIR *directory, char *oldest, size_t room)
{
	uint64_t sum = 0;
	int64_t least = INT64_MAX;
	struct stat status;
	rewinddir(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!is_kept_name(entry->d_name) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		sum += (uint64_t)status.st_size;
		if (nanoseconds(&status.st_mtim) < least) {
			least = nanoseconds(&status.st_mtim);
			snprintf(oldest, room, "%s", entry->d_name);
		}
	}
	return sum;
}

static void remove_oldest(const char *path)
{
	DIR *directory = opendir(path);
	char oldest[32];
	while (directory && look_through(directory, oldest, sizeof(oldest)) > KEPT_MOST_ALL)
		if (unlinkat(dirfd(directory), oldest, 0) != 0)
			break;
	if (directory)
		closedir(directory);
}

void kept_names_save(struct kept_names *kept, const struct kept_key *key,
		     const struct name_facts *facts)
{
	if (!kept->directory || !facts->is_lasting || !is_settled(&key->stamp))
		return;
	if (!kept->prepared) {
		struct rf_error *error = keep_place_prepare(&place, kept->directory);
		kept->prepared = !error;
		rf_error_destroy(error);
	}
	struct file_stamp *stamps = kept->prepared ? stamp_places(facts) : NULL;
	char *path = stamps ? path_of(kept, key) : NULL;
	size_t size = 0;
	char *bytes = path ? compose(kept, key, facts, stamps, &size) : NULL;
	if (bytes && size + sizeof(struct head) <= KEPT_MOST_FILE) {
		write_file(path, bytes, size);
		remove_oldest(kept->directory);
	}
	free(bytes);
	free(path);
	free(stamps);
}
