#include "tests/reference/stepped.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { XSTATE_SIZE = 16384 };

static pid_t target;
static int memory = -1;

_Noreturn void stepped_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	if (target > 0)
		kill(target, SIGKILL);
	exit(1);
}

/* Both on one processor: a step is then a switch, not a wake-up elsewhere. */
static void stay_here(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

void stepped_start(char *const argv[])
{
	char path[64];
	int status;
	stay_here();
	target = fork();
	if (target == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, 1);
		close(null);
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	if (target < 0 || waitpid(target, &status, 0) != target || !WIFSTOPPED(status))
		stepped_fail(argv[0]);
	ptrace(PTRACE_SETOPTIONS, target, NULL, PTRACE_O_EXITKILL);
	snprintf(path, sizeof(path), "/proc/%d/mem", target);
	memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		stepped_fail(path);
}

/* ---- symbols ---- */

/* The run-time address of the program's first byte: AT_ENTRY minus the file's entry address. */
static uint64_t load_bias(uint64_t entry)
{
	char path[64];
	Elf64_auxv_t item;
	snprintf(path, sizeof(path), "/proc/%d/auxv", target);
	FILE *file = fopen(path, "r");
	if (!file)
		stepped_fail(path);
	while (fread(&item, sizeof(item), 1, file) == 1)
		if (item.a_type == AT_ENTRY) {
			fclose(file);
			return item.a_un.a_val - entry;
		}
	stepped_fail("no AT_ENTRY");
}

static void take_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, uint64_t bias,
			 void (*take)(const char *name, uint64_t start, uint64_t end))
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (name && GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_size)
			take(name, bias + symbol.st_value, bias + symbol.st_value + symbol.st_size);
	}
}

void stepped_symbols(const char *program,
		     void (*take)(const char *name, uint64_t start, uint64_t end))
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_version(EV_CURRENT) && fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Ehdr file_header;
	if (!gelf_getehdr(elf, &file_header))
		stepped_fail(program);
	uint64_t bias = load_bias(file_header.e_entry);
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			take_section(elf, section, &header, bias, take);
	elf_end(elf);
	close(fd);
}

/* ---- steps ---- */

struct user_regs_struct stepped_registers(void)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, target, NULL, &regs))
		stepped_fail("registers");
	return regs;
}

void stepped_set_registers(const struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_SETREGS, target, NULL, regs))
		stepped_fail("registers");
}

bool stepped_step(struct user_regs_struct *regs)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, target, NULL, NULL) || waitpid(target, &status, 0) != target)
		stepped_fail("single step");
	if (!WIFSTOPPED(status))
		return false;
	*regs = stepped_registers();
	return true;
}

bool stepped_continue(void)
{
	int status;
	if (ptrace(PTRACE_CONT, target, NULL, NULL) || waitpid(target, &status, 0) != target)
		stepped_fail("continue");
	return WIFSTOPPED(status);
}

/* ---- its state ---- */

struct stepped_bytes stepped_code(uint64_t address)
{
	struct stepped_bytes code = {{0}};
	if (pread(memory, code.bytes, sizeof(code.bytes), (off_t)address) <= 0)
		stepped_fail("reading the program's code");
	return code;
}

void stepped_set_byte(uint64_t address, uint8_t byte)
{
	if (pwrite(memory, &byte, 1, (off_t)address) != 1)
		stepped_fail("breakpoint");
}

/* Where XSAVE component `component` starts in the standard format (Intel SDM vol. 1, 13.4.3);
 * 0: this processor does not have it. */
static unsigned component_offset(int component)
{
	unsigned size, offset, c, d;
	__cpuid_count(0xd, component, size, offset, c, d);
	return size ? offset : 0;
}

enum { YMM_HIGH = 2, OPMASK = 5, ZMM_HIGH = 6, ZMM_16_TO_31 = 7 };

static const uint8_t *xstate(void)
{
	static uint8_t state[XSTATE_SIZE] __attribute__((aligned(64)));
	struct iovec vector = {state, sizeof(state)};
	if (ptrace(PTRACE_GETREGSET, target, NT_X86_XSTATE, &vector))
		stepped_fail("extended registers");
	return state;
}

uint64_t stepped_mask(unsigned reg)
{
	uint64_t mask;
	memcpy(&mask, xstate() + component_offset(OPMASK) + 8 * reg, sizeof(mask));
	return mask;
}

struct stepped_vector stepped_vector(unsigned reg)
{
	const uint8_t *state = xstate();
	struct stepped_vector vector = {{0}};
	if (reg >= 16) {
		memcpy(vector.bytes, state + component_offset(ZMM_16_TO_31) + 64 * (reg - 16), 64);
		return vector;
	}
	memcpy(vector.bytes, state + 160 + 16 * reg, 16); /* XMM in the legacy region */
	memcpy(vector.bytes + 16, state + component_offset(YMM_HIGH) + 16 * reg, 16);
	if (component_offset(ZMM_HIGH))
		memcpy(vector.bytes + 32, state + component_offset(ZMM_HIGH) + 32 * reg, 32);
	return vector;
}
