/* The longest recurrence of a loop. */
#include "insn/recurrence.h"

#include "insn/longest_circle.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CELLS 32   /* places in memory that a loop stores to and loads from */
#define MAX_DISTANCE 8 /* turns from a store to the load of the same place */
#define MAX_VALUES (N_REGISTERS + MAX_CELLS)
#define NO_CELL UINT32_MAX

/* How long the way from a value at the start of the turn has been. */
struct value {
	bool there; /* it comes from that value */
	bool memory;
	uint32_t loads;
	uint32_t at;
	uint32_t by_kind[STEP_KINDS];
};

/* What a general register holds within a turn: what was in register `of` when it had been set to
 * something for the `moved`th time (0: as the turn began), and `by` more. */
struct standing {
	uint8_t of;
	uint32_t moved;
	int64_t by;
};

/* A place, by the registers whose contents its own hold, with the displacement that it has from
 * these. */
struct cell {
	struct memory_place place;
	uint32_t base_moved, index_moved;
	uint32_t next; /* what it is called in the next turn, or NO_CELL */
	bool stored, loaded;
};

struct finder {
	const struct recurrence_step *steps;
	size_t n;
	struct standing standing[16]; /* of general registers, as far as places were noted */
	/* The same as a turn begins, when it was not the first: registers that then always hold the
	 * same, but for a difference, are told by the first of them. */
	struct standing begin[16];
	uint32_t set[16];         /* how often each was set to something */
	bool needed[N_REGISTERS]; /* read before it is written in the turn */
	bool written[N_REGISTERS];
	struct cell cells[MAX_CELLS];
	size_t n_cells;
	uint32_t *cell_of; /* per step: the place that it names, or NO_CELL */
	/* Per step: the first of the cells that what it stores goes through from turn to turn until
	 * a load that was seen behind it, and the cell that it was seen to load; or NO_CELL. */
	uint32_t *stores_to, *loads_from;
	/* of the turn that is followed */
	struct value values[MAX_VALUES];
	uint32_t top; /* of the x87 stack */
	/* Values that go from turn to turn. */
	uint32_t carried[MAX_VALUES];
	uint32_t n_carried;
	struct value *ways; /* [from × n_carried + to] */
};

/* ---- places ---- */

static int64_t times(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b); /* code can hold any numbers */
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static const struct standing *standing_of(const struct finder *finder, uint8_t number)
{
	static const struct standing none = {NO_REGISTER, 0, 0};
	return number < 16 ? &finder->standing[number] : &none;
}

/* How far a place is moved by what was added to its registers. */
static int64_t moved_by(const struct finder *finder, const struct memory_place *place)
{
	return plus(standing_of(finder, place->base)->by,
		    times(standing_of(finder, place->index)->by, place->scale));
}

/* Base and index that are not scaled are the same either way round. */
static void put_in_order(struct cell *cell)
{
	struct memory_place *place = &cell->place;
	const uint8_t base = place->base;
	const uint32_t moved = cell->base_moved;
	if (place->scale != 1 || place->index > base ||
	    (place->index == base && cell->index_moved >= moved))
		return;
	place->base = place->index;
	place->index = base;
	cell->base_moved = cell->index_moved;
	cell->index_moved = moved;
}

/* The place that is named just here. */
static struct cell cell_here(const struct finder *finder, struct memory_place place)
{
	const struct standing *base = standing_of(finder, place.base),
			      *index = standing_of(finder, place.index);
	struct cell cell = {.base_moved = base->moved,
			    .index_moved = index->moved,
			    .next = NO_CELL};
	place.displacement = plus(place.displacement, moved_by(finder, &place));
	place.base = place.base < 16 ? base->of : place.base;
	place.index = place.index < 16 ? index->of : place.index;
	cell.place = place;
	put_in_order(&cell);
	return cell;
}

/* What one of its registers is called in the next turn, when the standings are those at the end of
 * the turn, and what is then added; false: no register holds it any more. */
static bool rename_register(const struct finder *finder, uint8_t *number, uint32_t *moved,
			    int64_t *by)
{
	*by = 0;
	if (*number >= 16)
		return true;
	for (unsigned q = 0; q < 16; q++) {
		const struct standing *end = &finder->standing[q], *begin = &finder->begin[q];
		if (end->of != *number || end->moved != *moved)
			continue;
		*number = begin->of;
		*moved = 0;
		*by = plus(begin->by, -end->by);
		return true;
	}
	return false;
}

static bool name_next(const struct finder *finder, struct cell *cell)
{
	struct memory_place *place = &cell->place;
	int64_t base, index;
	if (!rename_register(finder, &place->base, &cell->base_moved, &base) ||
	    !rename_register(finder, &place->index, &cell->index_moved, &index))
		return false;
	place->displacement = plus(place->displacement, plus(base, times(index, place->scale)));
	put_in_order(cell);
	return true;
}

static uint32_t find_cell(const struct finder *finder, const struct cell *like)
{
	for (uint32_t i = 0; i < finder->n_cells; i++)
		if (memory_place_same(&finder->cells[i].place, &like->place) &&
		    finder->cells[i].base_moved == like->base_moved &&
		    finder->cells[i].index_moved == like->index_moved)
			return i;
	return NO_CELL;
}

static uint32_t add_cell(struct finder *finder, const struct cell *cell)
{
	const uint32_t found = find_cell(finder, cell);
	if (found != NO_CELL || finder->n_cells == MAX_CELLS)
		return found;
	finder->cells[finder->n_cells] = *cell;
	finder->cells[finder->n_cells].stored = finder->cells[finder->n_cells].loaded = false;
	return (uint32_t)finder->n_cells++;
}

/* Adds the names that a stored place has in the turns until it is loaded. */
static void add_names(struct finder *finder, const struct cell *stored)
{
	struct cell names[MAX_DISTANCE] = {*stored};
	for (unsigned turn = 1; turn < MAX_DISTANCE; turn++) {
		names[turn] = names[turn - 1];
		if (!name_next(finder, &names[turn]))
			return;
		const uint32_t found = find_cell(finder, &names[turn]);
		if (found == NO_CELL || !finder->cells[found].loaded)
			continue;
		for (unsigned i = 1; i < turn; i++)
			add_cell(finder, &names[i]);
		return;
	}
}

static void note_need(struct finder *finder, uint8_t number)
{
	if (number != NO_REGISTER)
		finder->needed[number] |= !finder->written[number];
}

static void set_standing(struct finder *finder, const struct dataflow *flow, unsigned w)
{
	const uint8_t number = flow->writes[w];
	struct standing *standing = &finder->standing[number];
	if (w == 0 && flow->steps) {
		const struct standing from = finder->standing[flow->step_of];
		*standing = (struct standing){from.of, from.moved, plus(from.by, flow->step)};
	} else {
		*standing = (struct standing){number, ++finder->set[number], 0};
	}
}

/* Tells the beginning of a register by the first that ends the turn with the same; whether that is
 * new. */
static bool join_first(struct finder *finder, uint8_t r)
{
	const struct standing *own = &finder->standing[r];
	uint8_t first = 0;
	while (finder->standing[first].of != own->of || finder->standing[first].moved != own->moved)
		first++;
	if (finder->begin[r].of == finder->begin[first].of)
		return false;
	finder->begin[r] = (struct standing){finder->begin[first].of, 0,
					     plus(finder->begin[first].by,
						  plus(own->by, -finder->standing[first].by))};
	return true;
}

static void begin_standings(struct finder *finder)
{
	memcpy(finder->standing, finder->begin, sizeof(finder->standing));
	memset(finder->set, 0, sizeof(finder->set));
}

/* Registers that end a turn with the same but for a difference begin the next ones so.  By that
 * more of them may turn out to be so; at last each is told by another one or by itself. */
static void find_begin(struct finder *finder)
{
	for (uint8_t r = 0; r < 16; r++)
		finder->begin[r] = (struct standing){r, 0, 0};
	for (bool found = true; found;) {
		found = false;
		begin_standings(finder);
		for (size_t i = 0; i < finder->n; i++) {
			const struct dataflow *flow = finder->steps[i].flow;
			for (unsigned w = 0; w < flow->n_writes; w++)
				if (flow->writes[w] < 16)
					set_standing(finder, flow, w);
		}
		for (uint8_t r = 0; r < 16; r++)
			found |= join_first(finder, r);
	}
	begin_standings(finder);
}

static void note_registers(struct finder *finder, const struct dataflow *flow)
{
	for (unsigned r = 0; r < flow->n_reads; r++)
		note_need(finder, flow->reads[r]);
	if (flow->loads) {
		note_need(finder, flow->memory.base);
		note_need(finder, flow->memory.index);
	}
	for (unsigned w = 0; w < flow->n_writes; w++) {
		const uint8_t number = flow->writes[w];
		finder->written[number] = true;
		if (number >= 16)
			continue;
		set_standing(finder, flow, w);
	}
}

static void note_place(struct finder *finder, size_t i)
{
	const struct dataflow *flow = finder->steps[i].flow;
	finder->cell_of[i] = NO_CELL;
	if (!flow->loads && !flow->stores)
		return;
	const struct cell here =
		cell_here(finder, memory_place_at(flow->memory, finder->steps[i].end));
	finder->cell_of[i] = add_cell(finder, &here);
	if (finder->cell_of[i] == NO_CELL)
		return;
	finder->cells[finder->cell_of[i]].stored |= flow->stores;
	finder->cells[finder->cell_of[i]].loaded |= flow->loads;
}

static void find_places(struct finder *finder)
{
	find_begin(finder);
	for (size_t i = 0; i < finder->n; i++) {
		note_place(finder, i);
		note_registers(finder, finder->steps[i].flow);
	}
	for (size_t i = 0, n = finder->n_cells; i < n; i++)
		if (finder->cells[i].stored)
			add_names(finder, &finder->cells[i]);
	for (size_t i = 0; i < finder->n_cells; i++) {
		struct cell next = finder->cells[i];
		if (name_next(finder, &next))
			finder->cells[i].next = find_cell(finder, &next);
	}
}

/* ---- stores that loads were seen behind ---- */

static bool was_seen(const struct recurrence_step *step)
{
	return step->stored_by && step->stored_turns < MAX_DISTANCE && step->flow->loads;
}

/* Cells that a store's value goes through, for loads up to so many turns later. */
static uint32_t add_passage(struct finder *finder, uint32_t turns)
{
	const uint32_t first = (uint32_t)finder->n_cells;
	if (finder->n_cells + turns >= MAX_CELLS)
		return NO_CELL;
	for (uint32_t turn = 0; turn <= turns; turn++)
		finder->cells[finder->n_cells++] =
			(struct cell){.next = turn < turns ? first + turn + 1 : NO_CELL};
	return first;
}

/* Behind find_places: these cells are no places that are named. */
static void find_seen(struct finder *finder)
{
	for (size_t i = 0; i < finder->n; i++)
		finder->stores_to[i] = finder->loads_from[i] = NO_CELL;
	for (size_t i = 0; i < finder->n; i++) {
		const struct recurrence_step *step = &finder->steps[i];
		const uint32_t by = step->stored_by - 1;
		uint32_t turns = step->stored_turns;
		if (!was_seen(step) || finder->stores_to[by] != NO_CELL)
			continue;
		for (size_t k = i + 1; k < finder->n; k++)
			if (was_seen(&finder->steps[k]) && finder->steps[k].stored_by == by + 1 &&
			    finder->steps[k].stored_turns > turns)
				turns = finder->steps[k].stored_turns;
		finder->stores_to[by] = add_passage(finder, turns);
	}
	for (size_t i = 0; i < finder->n; i++) {
		const struct recurrence_step *step = &finder->steps[i];
		if (was_seen(step) && finder->stores_to[step->stored_by - 1] != NO_CELL)
			finder->loads_from[i] =
				finder->stores_to[step->stored_by - 1] + step->stored_turns;
	}
}

/* ---- a turn ---- */

static uint8_t renamed(const struct finder *finder, uint8_t number)
{
	return number < REGISTER_X87 || number >= REGISTER_FLAGS
		       ? number
		       : (uint8_t)(REGISTER_X87 + (number - REGISTER_X87 + finder->top) % 8);
}

static void add_steps(struct value *value, enum step_kind kind, uint32_t cycles)
{
	value->at += cycles;
	value->by_kind[kind] += cycles;
}

static void take_later(struct value *latest, const struct value *value)
{
	if (value->there && (!latest->there || value->at > latest->at))
		*latest = *value;
}

/* A value that goes through the instruction as operand `as`. */
static void take_operand(struct value *latest, const struct value *from,
			 const struct recurrence_step *step, uint8_t as)
{
	struct value value = *from;
	add_steps(&value, step->flow->kind, step->latency[as]);
	take_later(latest, &value);
}

/* What is loaded from a place that was stored to. */
static void take_cell(const struct finder *finder, size_t i, uint32_t cell, struct value *latest)
{
	const struct recurrence_step *step = &finder->steps[i];
	if (cell == NO_CELL || !finder->values[N_REGISTERS + cell].there)
		return;
	struct value loaded = finder->values[N_REGISTERS + cell];
	add_steps(&loaded, STEP_LOAD, step->forward);
	loaded.memory = true;
	add_steps(&loaded, step->flow->kind, step->latency[step->flow->memory_as]);
	take_later(latest, &loaded);
}

static void take_memory(struct finder *finder, size_t i, struct value *latest)
{
	const struct recurrence_step *step = &finder->steps[i];
	const uint8_t address[] = {step->flow->memory.base, step->flow->memory.index};
	const uint32_t latency = step->latency[step->flow->memory_as];
	for (unsigned k = 0; k < 2; k++) {
		if (address[k] == NO_REGISTER || !finder->values[address[k]].there)
			continue;
		struct value loaded = finder->values[address[k]];
		add_steps(&loaded, STEP_LOAD, step->load);
		loaded.loads++;
		add_steps(&loaded, step->flow->kind, latency);
		take_later(latest, &loaded);
	}
	take_cell(finder, i, finder->cell_of[i], latest);
	take_cell(finder, i, finder->loads_from[i], latest);
}

/* Callees keep rbx, rbp and r12 to r15; what they return is not known to come from anything. */
static void forget_registers(struct finder *finder)
{
	static const bool kept[16] = {[3] = true,  [4] = true,  [5] = true, [12] = true,
				      [13] = true, [14] = true, [15] = true};
	for (unsigned i = 0; i < N_REGISTERS; i++)
		if (i >= 16 || !kept[i])
			finder->values[i] = (struct value){0};
}

static void follow(struct finder *finder, size_t i)
{
	const struct recurrence_step *step = &finder->steps[i];
	const struct dataflow *flow = step->flow;
	struct value latest = {0};
	for (unsigned r = 0; r < flow->n_reads; r++) {
		const struct value *from = &finder->values[renamed(finder, flow->reads[r])];
		if (from->there)
			take_operand(&latest, from, step, flow->read_as[r]);
	}
	if (flow->loads)
		take_memory(finder, i, &latest);
	if (flow->calls)
		forget_registers(finder);
	finder->top += flow->pushed > 0 ? 7 : 0;
	for (unsigned w = 0; w < flow->n_writes; w++)
		finder->values[renamed(finder, flow->writes[w])] = latest;
	if (flow->stores && finder->cell_of[i] != NO_CELL)
		finder->values[N_REGISTERS + finder->cell_of[i]] = latest;
	if (flow->stores && finder->stores_to[i] != NO_CELL)
		finder->values[N_REGISTERS + finder->stores_to[i]] = latest;
	finder->top += flow->pushed < 0 ? (uint32_t)-flow->pushed : 0;
}

/* Whether a place has another name, or the same, in a turn before. */
static bool is_carried(const struct finder *finder, uint32_t cell)
{
	for (size_t i = 0; i < finder->n_cells; i++)
		if (finder->cells[i].next == cell)
			return i != cell || (finder->cells[i].stored && finder->cells[i].loaded);
	return false;
}

/* The x87 stack's registers have other names behind each push: of these all may be. */
static void find_carried(struct finder *finder)
{
	bool x87 = false;
	for (unsigned i = REGISTER_X87; i < REGISTER_FLAGS; i++)
		x87 |= finder->written[i];
	for (unsigned i = 0; i < N_REGISTERS; i++)
		if (i >= REGISTER_X87 && i < REGISTER_FLAGS
			    ? x87
			    : finder->needed[i] && finder->written[i])
			finder->carried[finder->n_carried++] = i;
	for (uint32_t i = 0; i < finder->n_cells; i++)
		if (is_carried(finder, i))
			finder->carried[finder->n_carried++] = N_REGISTERS + i;
}

/* The value at the end of the turn that the next one calls by the number. */
static const struct value *at_end(const struct finder *finder, uint32_t number)
{
	static const struct value none = {0};
	if (number < N_REGISTERS)
		return &finder->values[renamed(finder, (uint8_t)number)];
	for (size_t i = 0; i < finder->n_cells; i++)
		if (finder->cells[i].next == number - N_REGISTERS)
			return &finder->values[N_REGISTERS + i];
	return &none;
}

static void find_ways(struct finder *finder)
{
	const uint32_t n = finder->n_carried;
	for (uint32_t from = 0; from < n; from++) {
		memset(finder->values, 0, sizeof(finder->values));
		finder->top = 0;
		finder->values[finder->carried[from]].there = true;
		for (size_t i = 0; i < finder->n; i++)
			follow(finder, i);
		for (uint32_t to = 0; to < n; to++)
			finder->ways[from * n + to] = *at_end(finder, finder->carried[to]);
	}
}

/* ---- the longest circle ---- */

static void add_way(const struct value *value, struct recurrence *out)
{
	out->cycles += value->at;
	out->turns++;
	out->loads += value->loads;
	out->memory |= value->memory;
	for (int k = 0; k < STEP_KINDS; k++)
		out->by_kind[k] += value->by_kind[k];
}

static struct rf_error *find_circle(struct finder *finder, struct recurrence *out)
{
	const uint32_t n = finder->n_carried;
	uint32_t circle[MAX_VALUES], n_circle = 0;
	finder->ways = malloc((size_t)n * n * sizeof(*finder->ways));
	int64_t *lengths = malloc((size_t)n * n * sizeof(*lengths));
	struct rf_error *error = finder->ways && lengths ? NULL : rf_error_no_memory();
	if (!error) {
		find_ways(finder);
		for (uint32_t i = 0; i < n * n; i++)
			lengths[i] = finder->ways[i].there ? (int64_t)finder->ways[i].at : NO_WAY;
		error = longest_circle(lengths, n, circle, &n_circle);
	}
	for (uint32_t i = 0; i < n_circle; i++)
		add_way(&finder->ways[circle[i] * n + circle[(i + 1) % n_circle]], out);
	free(lengths);
	free(finder->ways);
	return error;
}

struct rf_error *recurrence_find(const struct recurrence_step *steps, size_t n,
				 struct recurrence *out)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	struct rf_error *error = NULL;
	*out = (struct recurrence){.turns = 0};
	if (finder)
		finder->cell_of = malloc(3 * (n + 1) * sizeof(*finder->cell_of));
	if (finder && finder->cell_of) {
		finder->stores_to = finder->cell_of + n + 1;
		finder->loads_from = finder->stores_to + n + 1;
		finder->steps = steps;
		finder->n = n;
		find_places(finder);
		find_seen(finder);
		find_carried(finder);
		error = finder->n_carried ? find_circle(finder, out) : NULL;
		free(finder->cell_of);
	} else {
		error = rf_error_no_memory();
	}
	free(finder);
	return error;
}
