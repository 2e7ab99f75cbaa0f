#include "tracer/kernel/kernel_files.h"

#include <criterion/criterion.h>

Test(kernel_files, names)
{
	static const struct {
		const char *symbol, *wanted;
		bool is;
	} cases[] = {
		{"dgemm_", "dgemm_", true},
		{"dgemm_", "dgemm", false},
		{"memcpy@@GLIBC_2.14", "memcpy", true},
		{"smooth.constprop.0", "smooth", true},
		{"smooth.isra.0.constprop.1", "smooth", true},
		{"smooth.cold", "smooth", false},
		{"smooth.part.0", "smooth", false},
		{"_ZN4Mesh6smoothEi", "Mesh::smooth(int)", true},
		{"_ZN4Mesh6smoothEi", "Mesh::smooth", true},
		{"_ZN4Mesh6smoothEi", "_ZN4Mesh6smoothEi", true},
		{"_ZN4Mesh6smoothEi", "Mesh::smooth(long)", false},
		{"_ZN4Mesh6smoothEi", "smooth", false},
		{"_ZNK4Mesh6smoothEi", "Mesh::smooth(int) const", true},
		{"_ZNK4Mesh6smoothEi", "Mesh::smooth", true},
		{"_ZN4Mesh6smoothEi.constprop.0", "Mesh::smooth", true},
		{"_ZN4MeshclEi", "Mesh::operator()(int)", true},
		{"_ZN4MeshclEi", "Mesh::operator()", true},
		{"_ZN4MeshclEi", "Mesh::operator", false},
		{"_Z3fooPFiiE", "foo(int (*)(int))", true},
		{"_Z3fooPFiiE", "foo", true},
		{"__mesh_MOD_smooth", "mesh::smooth", true},
		{"", "x", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(kernel_is_named(cases[i].symbol, cases[i].wanted), cases[i].is,
			     "%s as %s", cases[i].symbol, cases[i].wanted);
}

static size_t n_of(const char *list, struct profile *profile)
{
	struct kernel_files *files = NULL;
	struct rf_error *error = kernel_files_create(list, profile, &files);
	const size_t n = error ? 0 : profile->n_kernels;
	kernel_files_destroy(files);
	rf_error_destroy(error);
	return n;
}

Test(kernel_files, list)
{
	static const struct {
		const char *list;
		size_t n; /* 0: refused */
	} cases[] = {{"a", 1},  {"a,b", 2},  {"f(int, long),g<a, b>::h", 2},
		     {"", 0},   {"a,,b", 0}, {"a,", 0},
		     {",a", 0}, {"a,a", 0}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *profile = profile_create();
		cr_expect_eq(n_of(cases[i].list, profile), cases[i].n, "\"%s\"", cases[i].list);
		profile_destroy(profile);
	}
}
