/* Loads two plugins in turn, often at the same address, and calls the code that is there now. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *before = NULL;
	int same_address = 0, failed = 0;
	unsigned x = 1;

	if (argc != 3)
		return 1;
	for (int i = 0; i < 60; i++) {
		void *plugin = dlopen(argv[1 + i % 2], RTLD_NOW);
		int (*step)(int) = plugin ? (int (*)(int))(intptr_t)dlsym(plugin, "step") : NULL;

		if (!step) {
			printf("%s\n", dlerror());
			return 1;
		}
		for (int call = 0; call < 20; call++) {
			unsigned expected = i % 2 ? 5 * x + 2 : 3 * x + 1;

			failed += (unsigned)step((int)(x & 0xffff)) != (i % 2 ? 5 * (x & 0xffff) + 2 : 3 * (x & 0xffff) + 1);
			x = expected;
		}
		same_address += (void *)(intptr_t)step == before;
		before = (void *)(intptr_t)step;
		dlclose(plugin);
	}
	printf("%08x, %d wrong, %s\n", x, failed, same_address > 0 ? "addresses reused" : "addresses differ");
	return failed != 0;
}
