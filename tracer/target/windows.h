/* When the accesses of a traced run are checked, and when its code runs unchecked.
 *
 * All threads of all processes are in the first copy of their code (copies.h) at the same times: in
 * windows, whose beginnings and lengths have an element of chance.  What a window costs is earned
 * by the time outside of windows, so that the run does not take longer than it may.  Code that is
 * new begins a short window at once, as long as not too many of these have not been earned yet. */
#pragma once

#include "tracer/target/target.h"

struct windows;

/* A program that takes no longer natively than so many s is traced from beginning to end: that
 * takes two seconds at the most, and its windows would tell little. */
#define WINDOWS_FROM_S 0.2

/* `slowdown`: so many times as long as unchecked code may the run take, above 1; `native_s`: what
 * the program takes natively, in s; 0: not known.  Where unchecked code takes longer than that, so
 * much less.  `least_s`: so much longer may it take in any case where `native_s` is known, since a
 * short program would have too few windows to tell anything.  NULL when memory is short. */
struct windows *windows_create(double slowdown, double native_s, double least_s);
void windows_destroy(struct windows *windows);
/* What the program takes natively; 0: not known. */
double windows_native_ns(const struct windows *windows);

/* The copy that threads are to run now (clock_now_ns); to be asked often.  From any thread. */
enum copy windows_wanted(struct windows *windows, uint64_t now);
/* The end of the window of that number has taken so many ns of a thread, outside of windows.  Those
 * of all threads but the first are paid for as if they had been in it: else a program of many
 * threads would pass most of its time there.  With one thread that would halve what windows see. */
void windows_pay(struct windows *windows, uint32_t number, uint64_t ns);
/* Code has come up that no window has seen: whether there is one for it from now on. */
bool windows_begin_for_new_code(struct windows *windows, uint64_t now);
/* The number of the window that began last, from 1 on, and whether its time was chosen by chance.
 */
uint32_t windows_number(struct windows *windows, bool *by_chance);
/* ns until the copy that is wanted may change, at least 1. */
uint64_t windows_patience(struct windows *windows);
