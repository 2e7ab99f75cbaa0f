/* Which breakpoint is where, and where functions return. */
#include "tracer/calls/call_places.h"

#include "insn/decode.h"

#include <stdio.h>
#include <string.h>

#define LINE 64
#define MOST_LOOP 1024 /* bytes: in a longer one a line counts for little */

/* Whether [begin, end) lies in the line of `address`, in part. */
static bool shares_line(uint64_t begin, uint64_t end, uint64_t address)
{
	const uint64_t line = address / LINE * LINE;
	return begin < line + LINE && end > line;
}

/* A jump back within the function makes a loop. */
static void look_for_loop(const struct decoded *insn, struct call_function *function)
{
	const uint64_t end = insn->pc + insn->length;
	const bool jumps = insn->flow == FLOW_JUMP || insn->flow == FLOW_BRANCH;
	if (!jumps || insn->target < function->entry || insn->target > insn->pc ||
	    end - insn->target > MOST_LOOP)
		return;
	function->loops_at_entry |= shares_line(insn->target, end, function->entry);
	for (size_t i = 0; i < function->n_returns && i < MOST_CALL_PLACES; i++)
		function->loops_at_return |= shares_line(insn->target, end, function->returns[i]);
}

static void look_for_return(const struct decoded *insn, struct call_function *function)
{
	if (insn->flow != FLOW_RETURN)
		return;
	if (function->n_returns < MOST_CALL_PLACES)
		function->returns[function->n_returns] = insn->pc;
	function->n_returns++;
}

static void each_instruction(const uint8_t *bytes, size_t size, struct call_function *function,
			     void (*look)(const struct decoded *insn,
					  struct call_function *function))
{
	for (size_t at = 0; at < size;) {
		struct decoded insn;
		decode_any(bytes + at, size - at, function->entry + at, &insn);
		insn.pc = function->entry + at;
		look(&insn, function);
		at += insn.length ? insn.length : 1;
	}
}

void call_places_read(const uint8_t *bytes, size_t size, struct call_function *function)
{
	function->n_returns = 0;
	function->loops_at_entry = function->loops_at_return = false;
	each_instruction(bytes, size, function, look_for_return);
	each_instruction(bytes, size, function, look_for_loop);
}

bool call_place_ends_at_back(const struct call_place *place)
{
	return place->kind == PLACE_ENTRY_ALONE || place->kind == PLACE_ENTRY_NEAR ||
	       place->kind == PLACE_CALL;
}

static bool is_free(const struct call_place *place)
{
	return place->kind == PLACE_BACK && !place->address;
}

static size_t n_free(const struct call_places *places)
{
	size_t n = MOST_CALL_PLACES - places->n;
	for (size_t i = 0; i < places->n; i++)
		n += is_free(&places->items[i]);
	return n;
}

/* Whether one has to be left for where calls of a function return to. */
static bool lacks_back(const struct call_places *places)
{
	bool has_alone = false, has_back = false;
	for (size_t i = 0; i < places->n; i++) {
		const struct call_place *place = &places->items[i];
		has_alone |= call_place_ends_at_back(place);
		has_back |= place->kind == PLACE_BACK && place->address;
	}
	return has_alone && !has_back;
}

static void put(struct call_places *places, struct call_place place)
{
	size_t i = 0;
	while (i < places->n && !is_free(&places->items[i]))
		i++;
	places->n += i == places->n;
	places->items[i] = place;
}

static const char *add_function(struct call_places *places, uint32_t kernel,
				const struct call_function *function)
{
	const size_t room = n_free(places);
	struct call_place place = {.address = function->entry,
				   .entry = function->entry,
				   .kernel = kernel};
	const bool is_near = places->avoids_loops && function->loops_at_entry;
	const bool is_alone = !function->n_returns || is_near ||
			      (places->avoids_loops && function->loops_at_return) ||
			      1 + function->n_returns + lacks_back(places) > room;
	if (is_alone && room < 2) /* one is for where it returns to */
		return "the processor's four breakpoints do not suffice";
	place.kind = is_near ? PLACE_ENTRY_NEAR : is_alone ? PLACE_ENTRY_ALONE : PLACE_ENTRY;
	put(places, place);
	for (size_t i = 0; !is_alone && i < function->n_returns; i++) {
		place.address = function->returns[i];
		place.kind = PLACE_RETURN;
		put(places, place);
	}
	return NULL;
}

/* The number of a kernel, which may have functions already. */
static size_t number_of(const struct call_places *places, const char *name)
{
	size_t k = 0;
	while (k < places->n_kernels && strcmp(places->names[k], name) != 0)
		k++;
	return k;
}

const char *call_places_add(struct call_places *places, const char *name,
			    const struct call_function *functions, size_t n)
{
	const struct call_places before = *places;
	const size_t kernel = number_of(places, name);
	const char *why = NULL;
	if (kernel == MOST_TIMED_KERNELS)
		return "the processor's four breakpoints are taken by the kernels before it";
	for (size_t i = 0; i < n && !why; i++)
		why = add_function(places, (uint32_t)kernel, &functions[i]);
	if (why) {
		*places = before;
		return why;
	}
	if (kernel == places->n_kernels) {
		snprintf(places->names[kernel], sizeof(places->names[kernel]), "%s", name);
		places->kernels[kernel] = functions[0].row;
		places->n_kernels++;
	}
	return NULL;
}

void call_places_fill(struct call_places *places, bool is_more_to_come)
{
	while ((is_more_to_come || lacks_back(places)) && places->n < MOST_CALL_PLACES)
		places->items[places->n++] = (struct call_place){.kind = PLACE_BACK};
}

bool call_places_has(const struct call_places *places, uint64_t entry)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].kind != PLACE_BACK && places->items[i].entry == entry)
			return true;
	return false;
}

void call_places_drop(struct call_places *places, uint64_t entry)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].kind != PLACE_BACK && places->items[i].entry == entry)
			places->items[i] = (struct call_place){.kind = PLACE_BACK};
}

void call_places_say_missing(struct call_places *places, const char *name, const char *why)
{
	const size_t n = strlen(places->missing);
	snprintf(places->missing + n, sizeof(places->missing) - n, "%s%s", n ? ", " : "", name);
	places->why = why;
}
