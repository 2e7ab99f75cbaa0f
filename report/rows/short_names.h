/* Names of functions as a table has room for them: C++ without return types, arguments and template
 * arguments, as far as rows stay different. */
#pragma once

#include "report/rows/view.h"

/* How much of a C++ name is left out. */
enum short_form {
	SHORT_NOTHING,
	SHORT_RETURN,    /* "double dot<float>(float*)" → "dot<float>(float*)" */
	SHORT_ARGUMENTS, /* → "dot<float>" */
	SHORT_TEMPLATES, /* → "dot" */
	SHORT_FORMS
};

/* The name in that form, with std::string for what it stands for; other languages' names as they
 * are.  To be freed; NULL: no memory. */
char *short_name(const char *name, enum short_form form);
/* Names of view->rank's first n_shown rows, in that order: of each the shortest form in which it is
 * not that of another row with another whole name.  Rows that are no functions have theirs.  To be
 * freed by short_names_destroy; NULL: no memory. */
char **short_names(const struct report_view *view);
void short_names_destroy(char **names, size_t n);
