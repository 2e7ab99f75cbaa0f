/* Loads N small libraries, argv[1] with a number behind it, and calls each: their functions are all "add". */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long sum = 0;
	for (int i = 0; argc == 3 && i < atoi(argv[2]); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s%d.so", argv[1], i);
		void *library = dlopen(path, RTLD_NOW);
		long (*add)(long) = library ? (long (*)(long))dlsym(library, "add") : NULL;
		if (!add) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		for (int j = 0; j < 1000; j++)
			sum = add(sum);
	}
	printf("%ld\n", sum);
	return 0;
}
