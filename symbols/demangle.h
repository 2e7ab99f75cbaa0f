/* Names as people write them: C++ (Itanium ABI), Rust (legacy and v0), D and Ada through libiberty,
 * and procedures of Fortran modules as gfortran names them.  Go writes its names as they are. */
#pragma once

/* The demangled name, or a copy of `raw` when it is not mangled; a symbol version (@VER, @@VER)
 * and a Rust hash are left out.  To be freed; NULL when memory is short. */
char *symbol_demangle(const char *raw);
/* The same of a program in Ada, whose names ("stack__push") could be those of other languages. */
char *symbol_demangle_ada(const char *raw);
