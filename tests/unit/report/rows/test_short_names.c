#include "report/rows/short_names.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(short_names, forms_of_one_name)
{
	static const struct {
		const char *whole, *without_return, *without_arguments, *without_templates;
	} names[] = {
		{"main", "main", "main", "main"},
		{"dot(float const*, int)", "dot(float const*, int)", "dot", "dot"},
		{"double dot<double>(double const*, int)", "dot<double>(double const*, int)",
		 "dot<double>", "dot"},
		{"std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<int, std::allocator<int> >::push_back(int const&)",
		 "std::vector<int, std::allocator<int> >::push_back", "std::vector::push_back"},
		{"void f<g<(h)1, int (*)(int)> >(std::pair<a, b>) const",
		 "f<g<(h)1, int (*)(int)> >(std::pair<a, b>) const", "f<g<(h)1, int (*)(int)> >",
		 "f"},
		{"Matrix::operator()(int, int) const", "Matrix::operator()(int, int) const",
		 "Matrix::operator()", "Matrix::operator()"},
		{"bool operator< <int>(A<int> const&, A<int> const&)",
		 "operator< <int>(A<int> const&, A<int> const&)", "operator< <int>", "operator< "},
		{"std::ostream& operator<< <char>(std::ostream&)",
		 "operator<< <char>(std::ostream&)", "operator<< <char>", "operator<< "},
		{"operator new(unsigned long)", "operator new(unsigned long)", "operator new",
		 "operator new"},
		{"A::operator double() const", "A::operator double() const", "A::operator double",
		 "A::operator double"},
		{"(anonymous namespace)::step(int)", "(anonymous namespace)::step(int)",
		 "(anonymous namespace)::step", "(anonymous namespace)::step"},
		{"main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda(int)#1}::operator()(int) const",
		 "main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()"},
		{"foo(int) [clone .cold]", "foo(int) [clone .cold]", "foo[clone .cold]",
		 "foo[clone .cold]"},
		{"solve(double*) [clone ._omp_fn.0]", "solve(double*) [clone ._omp_fn.0]",
		 "solve[clone ._omp_fn.0]", "solve[clone ._omp_fn.0]"},
		{"f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
		 "> const&)",
		 "f(std::string const&)", "f", "f"},
		/* not C++: as they are */
		{"<alloc::vec::Vec<T> as X>::drop", "<alloc::vec::Vec<T> as X>::drop",
		 "<alloc::vec::Vec<T> as X>::drop", "<alloc::vec::Vec<T> as X>::drop"},
		{"main.(*Matrix).Multiply", "main.(*Matrix).Multiply", "main.(*Matrix).Multiply",
		 "main.(*Matrix).Multiply"},
		{"[page faults]", "[page faults]", "[page faults]", "[page faults]"},
		{"mesh::smooth.constprop.0", "mesh::smooth.constprop.0", "mesh::smooth.constprop.0",
		 "mesh::smooth.constprop.0"},
		{"broken<(", "broken<(", "broken<(", "broken<("},
		{"(", "(", "(", "("},
		{"", "", "", ""},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *const expected[] = {NULL, names[i].without_return,
						names[i].without_arguments,
						names[i].without_templates};
		for (int form = SHORT_RETURN; form < SHORT_FORMS; form++) {
			char *name = short_name(names[i].whole, (enum short_form)form);
			cr_expect_str_eq(name, expected[form], "%s in form %d: %s", names[i].whole,
					 form, name);
			free(name);
		}
	}
}

static unsigned random_below(unsigned n)
{
	return (unsigned)(random() % n);
}

static const char *any(const char *const *words, unsigned n)
{
	return words[random_below(n)];
}

/* Few words, so that many names meet. */
static void make_name(char *name, size_t size)
{
	static const char *const returns[] = {"", "", "void ", "double "},
				 *const names[] = {"f", "g", "A::f", "A<int>::f"},
				 *const templates[] = {"", "", "<int>", "<double>", "<g<int> >"},
				 *const arguments[] = {"", "()", "(int)", "(A<int>, int)"},
				 *const ends[] = {"", "", " const", ".part.0", " [clone .cold]"};
	snprintf(name, size, "%s%s%s%s%s", any(returns, 4), any(names, 4), any(templates, 5),
		 any(arguments, 4), any(ends, 5));
}

/* Of random tables: what was different stays different, each name is a form of its own, and none is
 * longer than need be: with a shorter form it would be that of another function. */
Test(short_names, rows_stay_different)
{
	enum { ROWS = 12, NAME = 80 };
	static const struct report_options options = {0};
	srandom(1);
	for (int round = 0; round < 3000; round++) {
		struct model_function functions[ROWS] = {0};
		const struct model model = {.functions = functions, .n_functions = ROWS};
		char whole[ROWS][NAME];
		size_t rank[ROWS];
		for (size_t i = 0; i < ROWS; i++) {
			make_name(whole[i], NAME);
			functions[i].name = whole[i];
			rank[i] = ROWS - 1 - i;
		}
		const struct report_view view = {.model = &model,
						 .options = &options,
						 .rank = rank,
						 .n_rank = ROWS,
						 .n_shown = ROWS};
		char **names = short_names(&view);
		for (size_t i = 0; i < ROWS; i++) {
			bool is_form = false;
			for (int form = SHORT_NOTHING; form < SHORT_FORMS; form++) {
				char *one = short_name(whole[rank[i]], (enum short_form)form);
				is_form |= strcmp(one, names[i]) == 0;
				free(one);
			}
			cr_assert(is_form, "%s is no form of %s", names[i], whole[rank[i]]);
			for (size_t k = 0; k < i; k++)
				cr_assert(strcmp(whole[rank[i]], whole[rank[k]]) == 0 ||
						  strcmp(names[i], names[k]) != 0,
					  "%s and %s are both %s", whole[rank[i]], whole[rank[k]],
					  names[i]);
		}
		short_names_destroy(names, ROWS);
	}
}
