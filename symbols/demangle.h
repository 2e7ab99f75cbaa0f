/* Names as people write them: C++ (Itanium ABI) and Rust (legacy and v0) through libiberty. */
#pragma once

/* The demangled name, or a copy of `raw` when it is not mangled; a symbol version (@VER, @@VER)
 * and a Rust hash are left out.  To be freed; NULL when memory is short. */
char *symbol_demangle(const char *raw);
