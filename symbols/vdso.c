/* Finds the vdso by the auxiliary vector that the kernel gives each process. */
#include "symbols/vdso.h"

#include <elf.h>
#include <stdint.h>
#include <sys/auxv.h>

bool vdso_image(const void **image, size_t *size)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return false;
	/* The section headers are its last part (vdso(7); the kernel's vdso2c keeps them there),
	 * else what the segments take from the file. */
	uint64_t end = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	const Elf64_Phdr *phdr = (const void *)((const char *)header + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_offset + phdr[i].p_filesz > end)
			end = phdr[i].p_offset + phdr[i].p_filesz;
	*image = header;
	*size = end;
	return true;
}
