#include "base/array.h"
#include "symbols/demangle.h"
#include "symbols/dwarf_inlines.h"
#include "symbols/elf_file.h"
#include "symbols/function_map.h"
#include "symbols/symbols.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- Helpers: a scratch folder, programs made in it, what binutils say about them --- */

static char folder[] = "/tmp/test_symbols.XXXXXX";

static void make_folder(void)
{
	cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
	char command[PATH_MAX];
	snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}

TestSuite(symbols, .init = make_folder, .fini = remove_folder, .timeout = 60);

/* Runs a shell command in the folder; false when it fails. */
__attribute__((format(printf, 1, 2))) static bool shell(const char *format, ...)
{
	char text[4096], command[8192];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "cd %s && (%s)", folder, text);
	return system(command) == 0;
}

static void write_source(const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	cr_assert(file);
	fputs(text, file);
	fclose(file);
}

/* As the reader of a module does. */
static struct rf_error *open_module(const char *path, struct symbol_module **out)
{
	int fd;
	return elf_file_descriptor(path, &fd) ?: symbol_module_read(path, fd, NULL, out);
}

static struct symbol_module *open_path(const char *path)
{
	struct symbol_module *module = NULL;
	struct rf_error *error = open_module(path, &module);
	cr_assert_null(error, "%s", error ? error->message : "");
	return module;
}

static struct symbol_module *open_made(const char *name)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open_path(path);
}

/* A symbol as a tool prints it. */
struct truth {
	uint64_t start, size;
	char name[4096];
};
struct truths {
	struct truth *items;
	size_t n_items, cap_items;
};

static int compare_truths(const void *left, const void *right)
{
	const struct truth *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Reads lines "hex-start hex-size name" from a command's output, sorted by start. */
static struct truths read_truths(const char *command)
{
	struct truths truths = {0};
	struct truth truth;
	char line[8192], in_folder[8192];
	snprintf(in_folder, sizeof(in_folder), "cd %s && %s", folder, command);
	FILE *pipe = popen(in_folder, "r");
	cr_assert(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		if (sscanf(line, "%lx %lx %4095s", &truth.start, &truth.size, truth.name) != 3)
			continue;
		cr_assert(rf_array_push(truths.items, truths.n_items, truths.cap_items, truth));
	}
	pclose(pipe);
	if (truths.n_items)
		qsort(truths.items, truths.n_items, sizeof(truth), compare_truths);
	return truths;
}

/* The functions that readelf lists with a size, from both symbol tables. */
static struct truths read_functions(const char *path)
{
	char command[PATH_MAX + 512];
	snprintf(command, sizeof(command),
		 "readelf -sW %s | awk '($4==\"FUNC\" || $4==\"IFUNC\") && $7!=\"UND\" && "
		 "$7!=\"ABS\" {print $2, $3, $8}' | while read a s n; do printf '%%s %%x %%s\\n' "
		 "$a $s ${n%%%%@*}; done | sort -u",
		 path);
	return read_truths(command);
}

static struct truth *find_truth(struct truths *truths, const char *name)
{
	for (size_t i = 0; i < truths->n_items; i++)
		if (strcmp(truths->items[i].name, name) == 0)
			return &truths->items[i];
	cr_assert_fail("no %s", name);
	return NULL;
}

/* --- Names --- */

Test(symbols, demangles)
{
	static const struct {
		const char *raw, *readable;
	} cases[] = {
		{"main", "main"},
		{"", ""},
		{"_start", "_start"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"memcpy@GLIBC_2.2.5", "memcpy"},
		{"_ZN3foo3barEiPKc", "foo::bar(int, char const*)"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZNSt8ios_base4InitC1Ev@@GLIBCXX_3.4", "std::ios_base::Init::Init()"},
		{"_ZN3foo3barEi.cold", "foo::bar(int) [clone .cold]"},
		{"solve.part.0", "solve.part.0"},
		/* Rust, legacy: the hash goes. */
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_ZN46_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$X$GT$4drop17h0123456789abcdefE",
		 "<alloc::vec::Vec<T> as X>::drop"},
		/* Rust, v0 (RFC 2603). */
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3new", "<std::path::PathBuf>::new"},
		{"_Znot_mangled", "_Znot_mangled"},
		{"_D4mesh6smoothFidZv", "mesh.smooth(int, double)"},
		{"_Dmain", "D main"},
		{"__mesh_MOD_smooth", "mesh::smooth"},
		{"__mesh_MOD_smooth.constprop.0", "mesh::smooth.constprop.0"},
		{"__MOD_x", "__MOD_x"},
		{"__mesh_MOD_", "__mesh_MOD_"},
		{"mesh__smooth", "mesh__smooth"}, /* without a sign that it is Ada */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *readable = symbol_demangle(cases[i].raw);
		cr_expect_str_eq(readable, cases[i].readable);
		free(readable);
	}
}

Test(symbols, demangles_ada)
{
	static const struct {
		const char *raw, *readable;
	} cases[] = {
		{"_ada_main", "main"},
		{"stacks__push", "stacks.push"},
		{"stacks__Oadd", "stacks.\"+\""},
		{"main", "main"},
		{"memcpy@@GLIBC_2.14", "memcpy"},
		{"_ZN3foo3barEiPKc", "foo::bar(int, char const*)"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *readable = symbol_demangle_ada(cases[i].raw);
		cr_expect_str_eq(readable, cases[i].readable, "%s", readable);
		free(readable);
	}
}

Test(symbols, demangles_long_names)
{
	char raw[4000] = "_ZN";
	for (int i = 0; i < 300; i++)
		strcpy(raw + 3 + 6 * i, "5abcde");
	strcat(raw, "1fEv");
	char *readable = symbol_demangle(raw);
	cr_expect(strncmp(readable, "abcde::abcde::", 14) == 0);
	cr_expect_str_eq(readable + strlen(readable) - 3, "f()");
	free(readable);
}

static void expect_map(const struct function_map *map, const char *expected)
{
	char text[1024] = "", *at = text;
	for (size_t i = 0; i < map->n_ranges; i++)
		at += sprintf(at, "%s%s %d-%d", i ? ", " : "",
			      map->ranges[i].raw ? map->ranges[i].raw : "?",
			      (int)map->ranges[i].start, (int)map->ranges[i].end);
	cr_expect_str_eq(text, expected);
}

Test(symbols, settles_overlaps_and_aliases)
{
	struct function_map map = {0};
	function_map_append(&map, 50, 150, "late", "", RANK_GLOBAL);
	function_map_append(&map, 0, 100, "liar", "", RANK_GLOBAL);
	function_map_append(&map, 200, 300, "outer", "", RANK_GLOBAL);
	function_map_append(&map, 220, 240, "inner", "", RANK_GLOBAL);
	function_map_append(&map, 400, 410, "local", "", RANK_LOCAL);
	function_map_append(&map, 400, 410, "weak", "", RANK_WEAK);
	function_map_append(&map, 400, 410, "__global", "", RANK_GLOBAL);
	function_map_append(&map, 400, 410, "_global_longer", "", RANK_GLOBAL);
	function_map_append(&map, 500, 500, "empty", "", RANK_GLOBAL);
	cr_assert_null(function_map_settle(&map));
	expect_map(&map, "liar 0-50, late 50-150, outer 200-220, inner 220-240, outer 240-300, "
			 "_global_longer 400-410");

	struct function_map lower = {0};
	function_map_append(&lower, 0, 10, "covered", "", RANK_GLOBAL);
	function_map_append(&lower, 149, 160, "covered too", "", RANK_GLOBAL);
	function_map_append(&lower, 150, 250, "cut", "", RANK_GLOBAL);
	function_map_append(&lower, 600, 650, "last", "", RANK_GLOBAL);
	cr_assert_null(function_map_settle(&lower));
	/* "covered too" was cut to 149-150 by its neighbour; its start is taken. */
	cr_assert_null(function_map_add_layer(&map, &lower));
	expect_map(&map, "liar 0-50, late 50-150, cut 150-200, outer 200-220, inner 220-240, "
			 "outer 240-300, _global_longer 400-410, last 600-650");
	function_map_deinit(&map);
}

/* --- Whole files against binutils --- */

/* Every sized function of the file whose address nobody shares: same start, end and name. */
static size_t compare_with_readelf(const char *path)
{
	struct truths truths = read_functions(path);
	struct symbol_module *module = open_path(path);
	size_t compared = 0;
	for (size_t i = 0; i < truths.n_items; i++) {
		const struct truth *truth = &truths.items[i];
		if (!truth->size || (i && truth[-1].start == truth->start) ||
		    (i + 1 < truths.n_items && truth[1].start == truth->start))
			continue;
		struct symbol first, last;
		char *name = symbol_demangle(truth->name);
		cr_assert(symbol_find(module, truth->start, &first));
		cr_assert(symbol_find(module, truth->start + truth->size - 1, &last));
		cr_expect_eq(first.start, truth->start, "%s", truth->name);
		cr_expect_eq(first.end, truth->start + truth->size, "%s", truth->name);
		cr_expect_eq(last.start, first.start, "%s", truth->name);
		cr_expect_str_eq(first.name, name);
		free(name);
		compared++;
	}
	free(truths.items);
	symbol_module_close(module);
	return compared;
}

Test(symbols, libc_equals_readelf)
{
	cr_expect_gt(compare_with_readelf("/lib/x86_64-linux-gnu/libc.so.6"), 500);
}

Test(symbols, libm_equals_readelf)
{
	cr_expect_gt(compare_with_readelf("/lib/x86_64-linux-gnu/libm.so.6"), 100);
}

Test(symbols, python_equals_readelf)
{
	cr_expect_gt(compare_with_readelf("/usr/bin/python3"), 1000);
}

/* Every FDE that starts where no symbol or stub is: same start, and same end but for a cut. */
static size_t compare_with_frames(const char *path)
{
	char command[PATH_MAX + 256];
	snprintf(command, sizeof(command),
		 "readelf --debug-dump=frames %s 2>/dev/null | "
		 "sed -n 's/.* FDE .*pc=\\([0-9a-f]*\\)\\.\\.\\([0-9a-f]*\\)$/\\1 \\2 fde/p'",
		 path);
	struct truths truths = read_truths(command); /* size holds the end */
	struct symbol_module *module = open_path(path);
	const char *base = strrchr(path, '/') + 1;
	size_t compared = 0;
	for (size_t i = 0; i < truths.n_items; i++) {
		struct symbol symbol;
		char name[PATH_MAX];
		snprintf(name, sizeof(name), "%s+0x%lx", base, truths.items[i].start);
		cr_assert(symbol_find(module, truths.items[i].start, &symbol));
		if (strcmp(symbol.name, name) != 0)
			continue;
		cr_expect_eq(symbol.start, truths.items[i].start);
		if (symbol.end != truths.items[i].size) {
			struct symbol next;
			cr_expect_lt(symbol.end, truths.items[i].size);
			cr_assert(symbol_find(module, symbol.end, &next));
			cr_expect_eq(next.start, symbol.end);
		}
		compared++;
	}
	cr_expect_gt(truths.n_items, 100);
	free(truths.items);
	symbol_module_close(module);
	return compared;
}

Test(symbols, stripped_libraries_equal_frames)
{
	static const struct {
		const char *name;
		size_t at_least;
	} libraries[] = {
		{"libm.so.6", 50},
		{"libc.so.6", 500},
	};
	for (size_t i = 0; i < 2; i++) {
		/* Without what leads to an installed debug file. */
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%s", folder, libraries[i].name);
		cr_assert(shell("objcopy -R .note.gnu.build-id -R .gnu_debuglink "
				"/lib/x86_64-linux-gnu/%s %s",
				libraries[i].name, path));
		cr_expect_gt(compare_with_frames(path), libraries[i].at_least);
	}
}

/* Every stub that objdump names. */
static size_t compare_stubs(const char *path)
{
	char command[PATH_MAX + 256];
	snprintf(command, sizeof(command),
		 "objdump -d -j .plt -j .plt.sec -j .plt.got %s 2>/dev/null | sed -n "
		 "'s/^\\([0-9a-f]*\\) <\\([^@*]*\\)@plt>:$/\\1 0 \\2@plt/p'",
		 path);
	struct truths truths = read_truths(command);
	struct symbol_module *module = open_path(path);
	for (size_t i = 0; i < truths.n_items; i++) {
		struct symbol symbol;
		char plain[4096];
		snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(truths.items[i].name, "@"),
			 truths.items[i].name);
		char *readable = symbol_demangle(plain);
		strcpy(plain, readable);
		strcat(plain, "@plt");
		free(readable);
		cr_assert(symbol_find(module, truths.items[i].start, &symbol));
		cr_expect_eq(symbol.start, truths.items[i].start);
		cr_expect_str_eq(symbol.name, plain);
	}
	size_t n = truths.n_items;
	free(truths.items);
	symbol_module_close(module);
	return n;
}

static const char caller_source[] =
	"#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\n"
	"int (*volatile pointer)(const char *) = puts;\n"
	"int main(int c, char **v) { if (c > 5) abort(); puts(v[0]); return atoi(v[0]) + "
	"strcmp(v[0], v[c - 1]); }\n";

Test(symbols, stubs_equal_objdump)
{
	write_source("caller.c", caller_source);
	static const char *const flags[] = {
		"-fcf-protection=none",
		"-fcf-protection=full -Wl,-z,ibtplt",
		"-no-pie -fcf-protection=full -Wl,-z,ibtplt,-z,lazy",
		"-Wl,-z,now",
	};
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		char path[PATH_MAX];
		cr_assert(shell("cc -O1 -fno-builtin %s -o caller%zu caller.c", flags[i], i));
		snprintf(path, sizeof(path), "%s/caller%zu", folder, i);
		cr_expect_geq(compare_stubs(path), 4, "%s", flags[i]);
	}
	cr_expect_gt(compare_stubs("/usr/bin/python3"), 100);
}

/* --- Programs made here --- */

static const char small_source[] =
	"#include <stdlib.h>\n"                  /* 1 */
	"__attribute__((noinline)) static int\n" /* 2 */
	"square(int x) {\n"                      /* 3: compilers differ on a { of its own */
	"	return x * x;\n"                 /* 4 */
	"}\n"                                    /* 5 */
	"\n"                                     /* 6 */
	"__attribute__((noinline)) int cube(int x) { return x * square(x); }\n" /* 7 */
	"int main(int c, char **v) {\n"                                         /* 8 */
	"	return cube(c) + square(c);\n"
	"}\n";

static void expect_function(struct symbol_module *module, const struct truth *truth,
			    const char *name, const char *file, uint32_t line)
{
	struct symbol symbol;
	cr_assert(symbol_find(module, truth->start + truth->size / 2, &symbol));
	cr_expect_eq(symbol.start, truth->start);
	cr_expect_eq(symbol.end, truth->start + truth->size);
	cr_expect_str_eq(symbol.name, name);
	const char *slash = strrchr(symbol.file, '/');
	cr_expect_str_eq(slash ? slash + 1 : symbol.file, file);
	cr_expect_eq(symbol.line, line);
}

/* One way to build the small program, and what must be known of it then. */
struct build {
	const char *commands;
	bool names, lines;
};

static void check_build(const struct build *build)
{
	cr_assert(shell("rm -f small full small.debug"));
	cr_assert(shell("%s", build->commands), "%s", build->commands);
	struct truths truths = read_functions("full");
	struct symbol_module *module = open_made("small");
	static const struct {
		const char *name;
		uint32_t line;
	} functions[] = {
		{"square", 3},
		{"cube", 7},
		{"main", 8},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		struct truth *truth = find_truth(&truths, functions[i].name);
		char by_offset[64];
		snprintf(by_offset, sizeof(by_offset), "small+0x%lx", truth->start);
		expect_function(module, truth, build->names ? functions[i].name : by_offset,
				build->lines ? "small.c" : "",
				build->lines ? functions[i].line : 0);
	}
	free(truths.items);
	symbol_module_close(module);
}

Test(symbols, names_and_lines_of_each_kind_of_build)
{
	static const struct build builds[] = {
		{"cc -O1 -o full small.c && cp full small", true, false},
		{"cc -O1 -g -o full small.c && cp full small", true, true},
		{"cc -O1 -g -gdwarf-4 -o full small.c && cp full small", true, true},
		{"cc -O1 -g -gz=zlib -o full small.c && cp full small", true, true},
		{"cc -O1 -g -no-pie -o full small.c && cp full small", true, true},
		{"cc -O1 -g -static -o full small.c && cp full small", true, true},
		{"cc -O1 -o full small.c && strip -o small full", false, false},
		{"cc -O1 -static -o full small.c && strip -o small full", false, false},
		/* a stripped file without section headers: .eh_frame through its segment */
		{"cc -O1 -o full small.c && strip -o small full && "
		 "printf '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of=small bs=1 seek=40 conv=notrunc "
		 "status=none && printf '\\0\\0\\0\\0' | dd of=small bs=1 seek=60 conv=notrunc "
		 "status=none",
		 false, false},
		/* only DWARF is left */
		{"cc -O1 -g -o full small.c && strip -s -K nothing --keep-section='.debug_*' "
		 "-o small full",
		 true, true},
		/* beside the file, by name and CRC, and by name and build id */
		{"cc -O1 -g -Wl,--build-id=none -o full small.c && "
		 "objcopy --only-keep-debug full small.debug && strip -o small full && "
		 "objcopy --add-gnu-debuglink=small.debug small",
		 true, true},
		{"cc -O1 -g -Wl,--build-id -o full small.c && mkdir -p .debug && "
		 "objcopy --only-keep-debug full .debug/small.debug && strip -o small full && "
		 "objcopy --add-gnu-debuglink=.debug/small.debug small",
		 true, true},
		/* a debug file of another build must not be believed */
		{"cc -O0 -g -Wl,--build-id -o other small.c && "
		 "objcopy --only-keep-debug other small.debug && "
		 "cc -O1 -g -Wl,--build-id -o full small.c && strip -o small full && "
		 "objcopy --add-gnu-debuglink=small.debug small && rm -f .debug/small.debug",
		 false, false},
		/* a small symbol table inside the file */
		{"cc -O1 -o full small.c && cp full inner && objcopy -S --keep-symbol=square "
		 "--keep-symbol=cube --keep-symbol=main inner && xz -f inner && "
		 "strip -o small full && objcopy --add-section .gnu_debugdata=inner.xz small",
		 true, false},
	};
	write_source("small.c", small_source);
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++)
		check_build(&builds[i]);
}

Test(symbols, finds_debug_files_by_build_id)
{
	const char *path = "/lib/x86_64-linux-gnu/libm.so.6";
	struct symbol_module *module = open_path(path);
	char debug[PATH_MAX];
	const char *id = symbol_module_build_id(module);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (access(debug, R_OK) != 0) {
		symbol_module_close(module);
		cr_skip_test("libc6-dbg is not installed");
	}
	struct truths truths = read_functions(debug);
	struct truth *truth = find_truth(&truths, "__sin_fma");
	struct symbol symbol;
	cr_assert(symbol_find(module, truth->start + 1, &symbol));
	cr_expect_eq(symbol.start, truth->start);
	cr_expect_eq(symbol.end, truth->start + truth->size);
	cr_expect_str_eq(symbol.name, "__sin_fma");
	cr_expect_neq(symbol.line, 0);
	cr_expect(strstr(symbol.file, "s_sin.c"));
	free(truths.items);
	symbol_module_close(module);
}

Test(symbols, cpp_names)
{
	write_source("shapes.cc", "namespace geometry { template <typename T> struct box { T a;\n"
				  "__attribute__((noinline)) T grow(T by) { return a += by; } };\n"
				  "template struct box<double>; template struct box<long>; }\n"
				  "int main() { geometry::box<long> b{1}; return b.grow(2); }\n");
	cr_assert(shell("c++ -O1 -o shapes shapes.cc"));
	struct truths truths = read_functions("shapes");
	struct symbol_module *module = open_made("shapes");
	static const char *const names[][2] = {
		{"_ZN8geometry3boxIdE4growEd", "geometry::box<double>::grow(double)"},
		{"_ZN8geometry3boxIlE4growEl", "geometry::box<long>::grow(long)"},
	};
	for (int i = 0; i < 2; i++)
		expect_function(module, find_truth(&truths, names[i][0]), names[i][1], "", 0);
	free(truths.items);
	symbol_module_close(module);
}

/* In split DWARF the files of a unit stand elsewhere than its entries. */
Test(symbols, inlined_calls_of_split_dwarf_have_files)
{
	write_source("split.cc",
		     "struct box { int a; int twice() const { return a * 2; } };\n"
		     "static inline int add(const box *b, int n) {\n"
		     "int s = 0; for (int i = 0; i < n; i++) s += b[i].twice(); return s; }\n"
		     "int main(int c, char **v) { return add((const box *)v, c); }\n");
	for (int version = 4; version <= 5; version++) {
		cr_assert(shell("c++ -O2 -gdwarf-%d -gsplit-dwarf -o split split.cc", version));
		struct truths truths = read_functions("split");
		const struct truth *main_function = find_truth(&truths, "main");
		struct symbol_module *module = open_made("split");
		const uint64_t end = main_function->start + main_function->size;
		size_t n_calls = 0;
		for (uint64_t at = main_function->start, next; at < end; at = next) {
			const struct dwarf_inline *call = symbol_inlined(module, at, &next);
			for (; call; call = call->caller, n_calls++) {
				cr_expect(strstr(call->file, "split.cc"), "%s", call->file);
				cr_expect(strstr(call->call_file, "split.cc"));
			}
		}
		cr_expect_gt(n_calls, 0);
		free(truths.items);
		symbol_module_close(module);
	}
}

Test(symbols, cold_parts_are_functions_of_their_own)
{
	write_source(
		"cold.c",
		"#include <stdio.h>\n#include <stdlib.h>\n"
		"__attribute__((cold, noinline)) void fail(int x) { printf(\"%d\", x); abort(); }\n"
		"__attribute__((noinline)) int hot(int x) { if (__builtin_expect(x < 0, 0)) {\n"
		"fail(x); fail(x + 1); } return x * 3; }\n"
		"int main(int c, char **v) { return hot(c) + hot(c + 1); }\n");
	cr_assert(shell("cc -O2 -o cold cold.c"));
	struct truths truths = read_functions("cold");
	struct symbol_module *module = open_made("cold");
	expect_function(module, find_truth(&truths, "hot"), "hot", "", 0);
	expect_function(module, find_truth(&truths, "hot.cold"), "hot.cold", "", 0);
	free(truths.items);
	symbol_module_close(module);
}

Test(symbols, assembly_labels_and_gaps)
{
	/* Without sizes and frames: each label reaches to the next one or the section's end. */
	write_source("asm.S",
		     ".text\n.globl first\nfirst: .fill 10, 1, 0x90\nsecond: .fill 20, 1, 0x90\n"
		     ".section other, \"ax\", @progbits\n.fill 30, 1, 0x90\n"
		     ".globl third\n.type third, @function\nthird: .fill 7, 1, 0x90\n"
		     ".size third, 5\n.globl _start\n");
	cr_assert(shell("cc -nostdlib -shared -o asm.so asm.S"));
	struct truths truths = read_truths("nm asm.so | sed 's/ . / 0 /'");
	struct symbol_module *module = open_made("asm.so");
	uint64_t first = find_truth(&truths, "first")->start;
	uint64_t third = find_truth(&truths, "third")->start;
	const struct {
		uint64_t at, start, end;
		const char *name;
	} cases[] = {
		{first + 9, first, first + 10, "first"},
		{first + 10, first + 10, first + 30, "second"},
		{first + 29, first + 10, first + 30, "second"},
		{third - 1, third - 30, third, NULL},
		{third - 30, third - 30, third, NULL},
		{third + 4, third, third + 5, "third"},
		{third + 5, third + 5, third + 7, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct symbol symbol;
		char name[64];
		snprintf(name, sizeof(name), "asm.so+0x%lx", cases[i].start);
		cr_assert(symbol_find(module, cases[i].at, &symbol));
		cr_expect_eq(symbol.start, cases[i].start, "case %zu", i);
		cr_expect_eq(symbol.end, cases[i].end, "case %zu", i);
		cr_expect_str_eq(symbol.name, cases[i].name ? cases[i].name : name);
	}
	struct symbol symbol;
	cr_expect_not(symbol_find(module, 0, &symbol));
	cr_expect_not(symbol_find(module, UINT64_MAX, &symbol));
	free(truths.items);
	symbol_module_close(module);
}

Test(symbols, build_id_and_file_offsets)
{
	write_source("small.c", small_source);
	cr_assert(shell("cc -O1 -Wl,--build-id=0x0123456789ABCDEF -o small small.c"));
	struct symbol_module *module = open_made("small");
	cr_expect_str_eq(symbol_module_build_id(module), "0123456789abcdef");
	struct truths segments = read_truths("readelf -lW small | awk '$1==\"LOAD\" "
					     "{print substr($3,3), substr($2,3), $7$8}'");
	cr_assert_eq(segments.n_items, 4);
	struct elf_file file;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/small", folder);
	cr_assert_null(elf_file_open(path, &file));
	for (size_t i = 0; i < segments.n_items; i++)
		cr_expect_eq(elf_file_vaddr(&file, segments.items[i].size),
			     segments.items[i].start);
	cr_expect_eq(elf_file_vaddr(&file, (uint64_t)1 << 40), UINT64_MAX);
	elf_file_close(&file);
	free(segments.items);
	symbol_module_close(module);
	cr_assert(shell("cc -O1 -Wl,--build-id=none -o small small.c"));
	module = open_made("small");
	cr_expect_str_eq(symbol_module_build_id(module), "");
	symbol_module_close(module);
}

Test(symbols, bad_files_are_errors)
{
	static const char *const paths[] = {"/nonexistent/file", "/tmp", "/dev/null",
					    "/etc/passwd"};
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct symbol_module *module = NULL;
		struct rf_error *error = open_module(paths[i], &module);
		cr_assert(error, "%s", paths[i]);
		cr_expect_null(module);
		cr_expect(strstr(error->message, paths[i]));
		rf_error_destroy(error);
	}
}

/* --- Damaged files --- */

Test(symbols, damaged_files_do_no_harm)
{
	write_source("small.c", small_source);
	cr_assert(shell("cc -O1 -g -o small small.c"));
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/small", folder);
	FILE *file = fopen(path, "r");
	static uint8_t good[1 << 20], bad[1 << 20];
	size_t size = fread(good, 1, sizeof(good), file);
	fclose(file);
	cr_assert_gt(size, 10000);
	unsigned int seed = 1;
	size_t opened = 0;
	for (int round = 0; round < 400; round++) {
		memcpy(bad, good, size);
		size_t length = round % 4 ? size : (size_t)rand_r(&seed) % size;
		/* half of the damage goes where the headers are */
		for (int i = 0; i < 1 + round % 20; i++)
			bad[rand_r(&seed) % (i % 2 ? 4096 : size)] = rand_r(&seed);
		struct symbol_module *module;
		struct rf_error *error = symbol_module_open_image("bad", bad, length, &module);
		rf_error_destroy(error);
		if (error)
			continue;
		opened++;
		struct symbol symbol;
		for (uint64_t at = 0; at < 0x6000; at += 16)
			if (symbol_find(module, at, &symbol))
				cr_expect(symbol.start <= at && at < symbol.end);
		for (uint64_t at = 0, end; at < 0x6000; at += 16) {
			(void)symbol_inlined(module, at, &end);
			cr_expect_gt(end, at);
		}
		symbol_module_close(module);
	}
	cr_expect_gt(opened, 50);
}
