#include "tests/unit/tracer/perf/fixture_root.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char fixture_root[64];

void fixture_root_make(void)
{
	strcpy(fixture_root, "/tmp/rfprof_rootXXXXXX");
	cr_assert_not_null(mkdtemp(fixture_root));
}

void fixture_root_remove(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -r '%s'", fixture_root);
	cr_assert_eq(system(command), 0);
}

void fixture_put(const char *path, const char *text)
{
	char whole[512];
	snprintf(whole, sizeof(whole), "%s%s", fixture_root, path);
	for (char *slash = whole + strlen(fixture_root) + 1; (slash = strchr(slash, '/'));
	     *slash++ = '/') {
		*slash = '\0';
		cr_assert(mkdir(whole, 0755) == 0 || errno == EEXIST);
	}
	FILE *file = fopen(whole, "w");
	cr_assert_not_null(file, "%s", whole);
	fputs(text, file);
	fclose(file);
}

void fixture_put_server(void)
{
	for (int i = 0; i < 2; i++) {
		char path[128], number[16];
		snprintf(path, sizeof(path), DEVICES "uncore_imc_%d/type", i);
		snprintf(number, sizeof(number), "%d\n", 20 + i);
		fixture_put(path, number);
		static const char *const files[][2] = {
			{"cpumask", "0,18\n"},
			{"format/event", "config:0-7\n"},
			{"format/umask", "config:8-15\n"},
			{"events/cas_count_read", "event=0x04,umask=0x03\n"},
			{"events/cas_count_read.unit", "MiB\n"},
			{"events/cas_count_read.scale", "6.103515625e-5\n"},
			{"events/cas_count_write", "event=0x04,umask=0x0c\n"},
		};
		for (size_t k = 0; k < sizeof(files) / sizeof(*files); k++) {
			snprintf(path, sizeof(path), DEVICES "uncore_imc_%d/%s", i, files[k][0]);
			fixture_put(path, files[k][1]);
		}
	}
	fixture_put(DEVICES "uncore_imc_free_running_0/type", "30\n");
	fixture_put(DEVICES "uncore_imc_free_running_0/cpumask", "0\n");
	fixture_put(DEVICES "uncore_imc_free_running_0/format/event", "config:0-7\n");
	fixture_put(DEVICES "uncore_imc_free_running_0/events/data_read", "event=0xff\n");
	fixture_put(DEVICES "uncore_cha_0/type", "31\n");
	fixture_put(DEVICES "cpu/type", "4\n");
}
