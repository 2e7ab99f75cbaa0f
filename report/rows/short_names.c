/* Reads the grammar of demangled C++ names just far enough to leave out parts of them. */
#include "report/rows/short_names.h"

#include "base/search.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- one name ---- */

static bool starts(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Bytes of "operator<<", "operator()" and the like at `at`, whose signs are no brackets; 0: none.
 */
static size_t operator_length(const char *name, size_t at)
{
	static const char *const signs[] = {"()", "<=>", "<<=", ">>=", "->*", "<<",
					    ">>", "<=",  ">=",  "->",  "<",   ">"};
	const size_t word = strlen("operator");
	if (!starts(name + at, "operator") ||
	    (at && (isalnum((unsigned char)name[at - 1]) || name[at - 1] == '_')))
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (starts(name + at + word, signs[i]))
			return word + strlen(signs[i]);
	return word;
}

/* Where the bracket that opens at `at` ends, behind its partner; 0: nowhere. */
static size_t behind_bracket(const char *name, size_t at)
{
	size_t depth = 0;
	while (name[at]) {
		const size_t skipped = operator_length(name, at);
		if (skipped) {
			at += skipped;
			continue;
		}
		if (strchr("(<[{", name[at]))
			depth++;
		else if (strchr(")]}", name[at]) || (name[at] == '>' && name[at - 1] != '-'))
			depth--;
		at++;
		if (!depth)
			return at;
	}
	return 0;
}

/* The parts of "return name<templates>(arguments) const [clone .cold]". */
struct parts {
	size_t name;      /* where it begins */
	size_t arguments; /* their bracket */
	size_t rest;      /* what is behind it */
};

/* A call operator and an unnamed namespace have brackets that hold no arguments; the arguments' are
 * the last ones, and nothing but qualifiers and clones stands behind them. */
static bool is_rest(const char *text)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", " [clone "};
	if (!*text || *text == '.' || *text == '@')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (starts(text, words[i]))
			return true;
	return false;
}

/* Whether it is a C++ function's name with arguments.  Names of Rust and Go have other ends. */
static bool read_parts(const char *name, struct parts *parts)
{
	*parts = (struct parts){0};
	if (strchr("<[(", name[0]) && !starts(name, "(anonymous namespace)"))
		return false;
	for (size_t at = 0; name[at];) {
		const size_t skipped = operator_length(name, at);
		if (skipped) { /* "operator double": a blank that ends no return type */
			at += skipped;
			while (name[at] == ' ' || isalnum((unsigned char)name[at]) ||
			       name[at] == '_' || name[at] == ':' || name[at] == '*' ||
			       name[at] == '&')
				at++;
			continue;
		}
		if (strchr("(<{", name[at])) {
			const size_t end = behind_bracket(name, at);
			if (!end)
				return false;
			/* "(*T)" behind a dot is Go's */
			if (name[at] == '(' && (!at || name[at - 1] != '.') &&
			    is_rest(name + end)) {
				parts->arguments = at;
				parts->rest = end;
				return at > parts->name;
			}
			at = end;
			continue;
		}
		if (name[at] == ' ')
			parts->name = at + 1;
		at++;
	}
	return false;
}

/* Appends without template arguments. */
static char *put_without_templates(char *to, const char *from, size_t n)
{
	for (size_t at = 0; at < n;) {
		size_t skipped = operator_length(from, at);
		if (!skipped && from[at] == '<') {
			const size_t end = behind_bracket(from, at);
			at = end && end <= n ? end : n;
			continue;
		}
		skipped = skipped ? skipped : 1;
		to = (char *)memcpy(to, from + at, skipped) + skipped;
		at += skipped;
	}
	return to;
}

/* In place. */
static void name_strings(char *name)
{
	static const char *const longs[] = {
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		"std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
	};
	static const char word[] = "std::string";
	for (size_t i = 0; i < sizeof(longs) / sizeof(*longs); i++)
		for (char *at = name; (at = strstr(at, longs[i])); at += sizeof(word) - 1) {
			const char *behind = at + strlen(longs[i]);
			memcpy(at, word, sizeof(word) - 1);
			memmove(at + sizeof(word) - 1, behind, strlen(behind) + 1);
		}
}

char *short_name(const char *name, enum short_form form)
{
	struct parts parts;
	char *copy = malloc(strlen(name) + 1), *to = copy;
	if (!copy)
		return NULL;
	if (form == SHORT_NOTHING || !read_parts(name, &parts))
		strcpy(copy, name);
	else if (form == SHORT_RETURN)
		strcpy(copy, name + parts.name);
	else {
		const size_t n = parts.arguments - parts.name;
		to = form == SHORT_ARGUMENTS ? (char *)memcpy(to, name + parts.name, n) + n
					     : put_without_templates(to, name + parts.name, n);
		/* a clone is code of its own, "const" is not */
		const char *clone = strpbrk(name + parts.rest, ".[@");
		strcpy(to, clone ? clone : "");
	}
	name_strings(copy);
	return copy;
}

/* ---- all of a table ---- */

struct named {
	const char *whole;
	char *name;
	enum short_form form;
	size_t row;
};

static int compare_names(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	return strcmp(x->name, y->name) ?: rf_compare(x->row, y->row);
}

static bool lengthen(struct named *one)
{
	char *longer = short_name(one->whole, one->form - 1);
	if (!longer)
		return false;
	free(one->name);
	one->name = longer;
	one->form--;
	return true;
}

/* Lengthens those that have one name for several functions; false: no memory.  *any: there were
 * some. */
static bool lengthen_equal(struct named *all, size_t n, bool *any)
{
	*any = false;
	qsort(all, n, sizeof(*all), compare_names);
	for (size_t i = 0, end; i < n; i = end) {
		bool differ = false;
		for (end = i + 1; end < n && strcmp(all[end].name, all[i].name) == 0; end++)
			differ |= strcmp(all[end].whole, all[i].whole) != 0;
		for (size_t k = i; differ && k < end; k++) {
			if (all[k].form == SHORT_NOTHING)
				continue;
			if (!lengthen(&all[k]))
				return false;
			*any = true;
		}
	}
	return true;
}

static bool has_functions(const struct report_view *view)
{
	const enum report_by by = view->shaped ? view->options->by : BY_FUNCTION;
	return by == BY_FUNCTION || by == BY_INLINED;
}

char **short_names(const struct report_view *view)
{
	const size_t n = view->n_shown;
	const enum short_form form = has_functions(view) ? SHORT_TEMPLATES : SHORT_NOTHING;
	struct named *all = calloc(n + 1, sizeof(*all));
	char **names = calloc(n + 1, sizeof(*names));
	bool ok = all && names, any = true;
	for (size_t i = 0; ok && i < n; i++) {
		const char *whole = view->model->functions[view->rank[i]].name;
		all[i] = (struct named){whole, short_name(whole, form), form, i};
		ok = all[i].name != NULL;
	}
	while (ok && any)
		ok = lengthen_equal(all, n, &any);
	for (size_t i = 0; all && names && i < n; i++)
		if (all[i].name)
			names[all[i].row] = all[i].name;
	free(all);
	if (!ok) {
		short_names_destroy(names, n);
		names = NULL;
	}
	return names;
}

void short_names_destroy(char **names, size_t n)
{
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}
