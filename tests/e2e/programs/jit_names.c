/* Makes two functions at run time, names them in /tmp/perf-PID.map, and runs them: "hot" three times as long
 * as "warm".  First "hot"'s place is named "stale", which no longer holds at the end.  With an argument the
 * file is deleted before the program ends; with another one that begins with "--" it is not. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

int main(int argc, char **argv)
{
	char path[64];
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 3;
	memcpy(page, code, sizeof(code));
	memcpy(page + 256, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	if (!map)
		return 3;
	fprintf(map, "%lx 200 stale\n", (unsigned long)page);
	fprintf(map, "%lx %zx hot function\n", (unsigned long)page, sizeof(code));
	fprintf(map, "%lx %zx warm\n", (unsigned long)page + 256, sizeof(code));
#ifdef OWNER /* as if another user had put the file there */
	if (fchown(fileno(map), OWNER, OWNER) != 0)
		return 3;
#endif
	fclose(map);
	for (int i = 0; i < 10; i++) {
		((void (*)(uint64_t))(void *)page)(100000000);
		((void (*)(uint64_t))(void *)(page + 256))(100000000 / 3);
	}
	if (argc > 1 && argv[1][0] != '-')
		unlink(path);
	return 0;
}
