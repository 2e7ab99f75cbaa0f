/* Files that are mapped as code: opened by whatever path still leads to what the program mapped,
 * with their build id and their executable segments. */
#include "tracer/process/module_file.h"

#include "base/array.h"
#include "symbols/elf_file.h"
#include "tracer/process/kept_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct module_files {
	struct module_file **files;
	size_t n_files, cap_files;
};

struct module_files *module_files_create(void)
{
	return calloc(1, sizeof(struct module_files));
}

static void module_file_destroy(struct module_file *file)
{
	if (!file)
		return;
	kept_files_release(file->fd);
	free(file->path);
	free(file->open_path);
	free(file->build_id);
	free(file->segments);
	free(file->mapped_path);
	free(file);
}

void module_files_destroy(struct module_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n_files; i++)
		module_file_destroy(files->files[i]);
	free(files->files);
	free(files);
}

static void read_headers(struct module_file *file, int fd)
{
	struct file_headers headers;
	if (!file_headers_read(fd, &headers))
		return;
	file->segments = headers.segments;
	file->n_segments = headers.n_segments;
	file->low = headers.low;
	file->high = headers.high;
	if (headers.n_segments && headers.build_id_size && !file->build_id)
		file->build_id = elf_file_hex(headers.build_id, headers.build_id_size);
}

static bool has_build_id(int fd, const char *expected)
{
	struct file_headers headers;
	if (!file_headers_read(fd, &headers))
		return false;
	char *found = elf_file_hex(headers.build_id, headers.build_id_size);
	const bool same = found && strcmp(found, expected) == 0;
	free(found);
	free(headers.segments);
	return same;
}

/* Is `fd` the file that the program mapped?  By inode or build id, whichever the record has; device
 * numbers are left out because some file systems (btrfs, overlayfs) show others in stat(2) than in
 * their mappings. */
static bool is_mapped_file(const struct module_file *file, int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	if (file->has_inode && file->inode)
		return status.st_ino == file->inode;
	return !file->build_id || has_build_id(fd, file->build_id);
}

static int open_at(const struct module_file *file, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || is_mapped_file(file, fd))
		return fd;
	close(fd);
	return -1;
}

/* Opens the mapped file: by its path, by its path in the program's own root directory (chroot,
 * containers), or where it is deleted as the program's executable or through its mapping (which
 * needs privileges). */
static int open_mapped(const struct module_file *file, const struct perf_record *record,
		       char *open_path, size_t size)
{
	snprintf(open_path, size, "%s", file->path);
	int fd = open_at(file, open_path);
	if (fd >= 0)
		return fd;
	*open_path = '\0';
	char path[4200];
	snprintf(path, sizeof(path), "/proc/%u/root%s", record->pid, file->path);
	if ((fd = open_at(file, path)) >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/exe", record->pid);
	if ((fd = open_at(file, path)) >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", record->pid,
		 (unsigned long long)record->start,
		 (unsigned long long)(record->start + record->length));
	return open_at(file, path);
}

static void open_file(struct module_file *file, const struct perf_record *record)
{
	char path[4200];
	int fd = open_mapped(file, record, path, sizeof(path));
	if (fd < 0)
		return;
	read_headers(file, fd);
	if (file->n_segments)
		file->fd = kept_files_keep(fd);
	else
		close(fd);
	/* one that is not kept is trusted to stay where it is */
	if (!*path && file->fd >= 0)
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), file->fd);
	file->open_path = *path ? strdup(path) : NULL;
}

/* What a report calls a mapping.  Code in memory that only the program made is "[anon]": perf
 * says "//anon", and memfd, shared anonymous and System V memory have made-up names.  The name
 * table follows perf_event_mmap_event() in kernel/events/core.c. */
static const char *report_path(const char *mapped)
{
	static const char *const anonymous[] = {"//anon", "/memfd:",        "/dev/zero",
						"/SYSV",  "/anon_hugepage", "/dev/shm/",
						"[heap]", "[stack"};
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(*anonymous); i++)
		if (strncmp(mapped, anonymous[i], strlen(anonymous[i])) == 0)
			return "[anon]";
	if (*mapped == '\0')
		return "[anon]";
	return mapped;
}

/* The kernel appends " (deleted)" to the paths of deleted files (d_path in fs/d_path.c). */
static void strip_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = path ? strlen(path) : 0;
	if (length > strlen(mark) && strcmp(path + length - strlen(mark), mark) == 0)
		path[length - strlen(mark)] = '\0';
}

static struct module_file *module_file_create(const struct perf_record *record)
{
	struct module_file *file = malloc(sizeof(*file));
	if (!file)
		return NULL;
	const char *path = report_path(record->path);
	*file = (struct module_file){
		.path = strdup(path),
		.has_file = *path == '/',
		.is_vdso = strcmp(path, "[vdso]") == 0,
		.is_anonymous = strcmp(path, "[anon]") == 0,
		.mapped_path = strdup(record->path),
		.has_inode = record->has_inode,
		.major = record->major,
		.minor = record->minor,
		.inode = record->inode,
		.fd = -1,
	};
	strip_deleted(file->path);
	if (record->build_id_size)
		file->build_id = elf_file_hex(record->build_id, record->build_id_size);
	if (file->has_file && file->path)
		open_file(file, record);
	if (!file->build_id)
		file->build_id = strdup("");
	if (file->mapped_path && file->path && file->build_id)
		return file;
	module_file_destroy(file);
	return NULL;
}

static bool same_build_id(const struct module_file *file, const struct perf_record *record)
{
	char *id = record->build_id_size ? elf_file_hex(record->build_id, record->build_id_size)
					 : NULL;
	const bool same = !record->build_id_size || (id && strcmp(file->build_id, id) == 0);
	free(id);
	return same;
}

static bool is_same(const struct module_file *file, const struct perf_record *record)
{
	if (strcmp(file->mapped_path, record->path) != 0 || file->has_inode != record->has_inode)
		return false;
	if (!file->has_inode)
		return same_build_id(file, record);
	return file->inode == record->inode && file->major == record->major &&
	       file->minor == record->minor;
}

struct module_file *module_files_get(struct module_files *files, const struct perf_record *record)
{
	/* Latest first: a library's mappings come together. */
	for (size_t i = files->n_files; i > 0; i--)
		if (is_same(files->files[i - 1], record))
			return files->files[i - 1];
	struct module_file *file = module_file_create(record);
	if (!file)
		return NULL;
	if (rf_array_push(files->files, files->n_files, files->cap_files, file))
		return file;
	module_file_destroy(file);
	return NULL;
}

const struct module_file *module_files_item(const struct module_files *files, size_t i)
{
	return i < files->n_files ? files->files[i] : NULL;
}

uint64_t module_file_vaddr(const struct module_file *file, uint64_t file_offset)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct module_segment *segment = &file->segments[i];
		/* Mappings begin at a page, segments in it (ELF gABI, "Program loading"). */
		uint64_t start = segment->file_offset & ~(uint64_t)4095;
		if (file_offset >= start && file_offset < segment->file_offset + segment->file_size)
			return file_offset - segment->file_offset + segment->vaddr;
	}
	return file_offset;
}
