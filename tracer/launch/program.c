/* Finding the program that is to run, and refusing at once what cannot be run or counted. */
#include "tracer/launch/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MAX_INTERPRETERS 5 /* as deep as the kernel follows `#!` (BINPRM_MAX_RECURSION) */

static bool is_executable_file(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static char *search_path(const char *name)
{
	const char *list = getenv("PATH");
	char candidate[PATH_MAX];
	if (!list)
		list = "/usr/local/bin:/usr/bin:/bin";
	while (list) {
		size_t n = strcspn(list, ":");
		snprintf(candidate, sizeof(candidate), "%.*s/%s", n ? (int)n : 1, n ? list : ".",
			 name);
		if (is_executable_file(candidate))
			return strdup(candidate);
		list = list[n] ? list + n + 1 : NULL;
	}
	return NULL;
}

static struct rf_error *refuse(const char *path, const char *what, const char *hint)
{
	return rf_error_create(RF_EINPUT, hint, "%s %s", path, what);
}

static const struct {
	uint16_t machine;
	const char *name;
} processors[] = {
	{EM_AARCH64, "AArch64"},     {EM_ARM, "ARM"},       {EM_386, "32-bit x86"},
	{EM_RISCV, "RISC-V"},        {EM_PPC64, "PowerPC"}, {EM_PPC, "PowerPC"},
	{EM_S390, "S/390"},          {EM_MIPS, "MIPS"},     {EM_SPARCV9, "SPARC"},
	{EM_LOONGARCH, "LoongArch"},
};

static const char *processor_name(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(processors) / sizeof(processors[0]); i++)
		if (processors[i].machine == machine)
			return processors[i].name;
	return "another processor";
}

static struct rf_error *check_elf(const char *path, const unsigned char *head, ssize_t n)
{
	const Elf64_Ehdr *elf =
		(const Elf64_Ehdr *)head; /* the first 20 bytes are alike in ELF32 */
	if (n < (ssize_t)offsetof(Elf64_Ehdr, e_version))
		return refuse(path, "is a truncated ELF file", "build or copy it again");
	if (elf->e_ident[EI_DATA] != ELFDATA2LSB)
		return refuse(path, "is a program for another processor (big-endian)",
			      "build it for x86-64, or run rfprof on that machine");
	if (elf->e_machine != EM_X86_64 && elf->e_machine != EM_386)
		return rf_error_create(RF_EINPUT,
				       "build it for x86-64, or run rfprof on that machine",
				       "%s is a program for another processor: %s", path,
				       processor_name(elf->e_machine));
	if (elf->e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(path, "is a 32-bit program",
			      "rfprof counts 64-bit x86 programs; build it with -m64");
	if (n < (ssize_t)sizeof(*elf))
		return refuse(path, "is a truncated ELF file", "build or copy it again");
	if (elf->e_type != ET_EXEC && elf->e_type != ET_DYN)
		return refuse(path, "is an ELF file but no program", "link it into an executable");
	return NULL;
}

/* Looks at one file; *interpreter gets the program that a script names. */
static struct rf_error *check_file(const char *path, char **interpreter)
{
	_Alignas(8) unsigned char head[PATH_MAX + 2] = {0};
	struct stat status;
	struct statvfs filesystem;
	if (stat(path, &status) < 0)
		return rf_error_errno(RF_EINPUT, errno, "check the path", "cannot run %s", path);
	if (S_ISDIR(status.st_mode))
		return refuse(path, "is a directory", "name a program inside it");
	if (!S_ISREG(status.st_mode))
		return refuse(path, "is not a regular file", "name a program file");
	if (access(path, X_OK) < 0)
		return rf_error_errno(RF_EINPUT, errno, "make it executable with chmod +x",
				      "cannot run %s", path);
	if (status.st_mode & (S_ISUID | S_ISGID) &&
	    !(statvfs(path, &filesystem) == 0 && filesystem.f_flag & ST_NOSUID))
		return refuse(
			path, "is a setuid or setgid program",
			"a traced program loses those rights; profile a copy without the bit");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);
	int cause = errno;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return rf_error_errno(RF_EINPUT, cause, "rfprof must be able to read the program",
				      "cannot read %s", path);
	if (n >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return check_elf(path, head, n);
	if (n < 2 || head[0] != '#' || head[1] != '!')
		return refuse(path,
			      n ? "is neither an ELF program nor a script with #!" : "is empty",
			      "name a program, or run it through its interpreter");
	char *name = (char *)head + 2 + strspn((char *)head + 2, " \t");
	name[strcspn(name, " \t\n\r")] = 0;
	*interpreter = strdup(name);
	return NULL;
}

/* The same error, with the name of the script that led to it. */
static struct rf_error *in_script(const char *script, struct rf_error *cause)
{
	struct rf_error *error =
		rf_error_create(cause->code, "correct the first line of the script",
				"%s: its interpreter: %s", script, cause->message);
	rf_error_destroy(cause);
	return error;
}

struct rf_error *program_find(const char *name, char **path)
{
	char *found = strchr(name, '/') ? strdup(name) : search_path(name);
	if (!found)
		return rf_error_create(RF_EINPUT,
				       "check the name, or give a path such as ./program",
				       "no program %s in $PATH", name);
	struct rf_error *error = NULL;
	char *file = strdup(found);
	for (int depth = 0; file && !error && depth <= MAX_INTERPRETERS; depth++) {
		char *interpreter = NULL;
		error = check_file(file, &interpreter);
		if (error && depth)
			error = in_script(found, error);
		free(file);
		file = interpreter;
	}
	if (file && !error)
		error = refuse(found, "names too many interpreters in turn",
			       "shorten the #! chain");
	free(file);
	if (error)
		free(found);
	else
		*path = found;
	return error;
}
