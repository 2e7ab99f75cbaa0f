/* A map from ranges of addresses to values, made for heaps: many small ranges that come and go, and
 * a few very large ones. */
#include "tracer/traffic/interval_map.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"

#include <string.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE (1ull << PAGE_SHIFT)
#define PAGE_MASK (PAGE_SIZE - 1)
#define N_RECENT 256u
#define LARGE (16 * PAGE_SIZE) /* from this size on an interval is a span */

/* The part of an interval that lies in one page. */
struct piece {
	uint16_t start, last; /* offsets of its first and last byte, with the flag JOINED */
	uint32_t value;
};
/* In `start`: the interval goes on in the page before; in `last`: in the next page. */
#define JOINED 0x8000u

struct page {
	uint64_t number;
	struct piece *pieces; /* sorted */
	size_t n_pieces, cap_pieces;
};

struct interval_map {
	struct page *pages;
	size_t n_pages, cap_pages;
	struct u64_map page_of_number;
	/* Pages that were met last, by the low bits of their number. */
	struct recent {
		uint64_t number;
		uint32_t index;
	} * recent;
	struct interval *spans; /* sorted */
	size_t n_spans, cap_spans;
};

/* ---- life ---- */

struct interval_map *interval_map_create(void)
{
	struct interval_map *map = calloc(1, sizeof(*map));
	struct recent *recent = malloc(N_RECENT * sizeof(*recent));
	if (!map || !recent) {
		free(map);
		free(recent);
		return NULL;
	}
	memset(recent, 0xff, N_RECENT * sizeof(*recent)); /* no page has that number */
	map->recent = recent;
	return map;
}

void interval_map_destroy(struct interval_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->n_pages; i++)
		free(map->pages[i].pieces);
	free(map->pages);
	u64_map_deinit(&map->page_of_number);
	free(map->recent);
	free(map->spans);
	free(map);
}

static struct page *add_page(struct interval_map *map, uint64_t number)
{
	const struct page new = {.number = number};
	if (!rf_array_push(map->pages, map->n_pages, map->cap_pages, new))
		return NULL;
	if (u64_map_set(&map->page_of_number, number, (uint32_t)map->n_pages - 1))
		return &map->pages[map->n_pages - 1];
	map->n_pages--;
	return NULL;
}

/* The first span that ends above address. */
static size_t span_position(const struct interval_map *map, uint64_t address)
{
	return rf_search(map->n_spans, i, map->spans[i].end <= address);
}

/* ---- pieces of one page ---- */

static unsigned first_of(const struct piece *piece)
{
	return piece->start & ~JOINED;
}

static unsigned last_of(const struct piece *piece)
{
	return piece->last & ~JOINED;
}

/* The first piece that ends at or above offset. */
static size_t piece_position(const struct page *page, unsigned offset)
{
	return rf_search(page->n_pieces, i, last_of(&page->pieces[i]) < offset);
}

static struct page *find_page(const struct interval_map *map, uint64_t number)
{
	struct recent *recent = &map->recent[number % N_RECENT];
	if (recent->number == number)
		return &map->pages[recent->index];
	const uint32_t *index = u64_map_find(&map->page_of_number, number);
	if (!index)
		return NULL;
	*recent = (struct recent){number, *index};
	return &map->pages[*index];
}

static struct piece *find_piece(const struct interval_map *map, uint64_t address)
{
	struct page *page = find_page(map, address >> PAGE_SHIFT);
	const unsigned offset = address & PAGE_MASK;
	const size_t i = page ? piece_position(page, offset) : 0;
	return page && i < page->n_pieces && first_of(&page->pieces[i]) <= offset ? &page->pieces[i]
										  : NULL;
}

static bool insert_piece(struct page *page, size_t at, struct piece piece)
{
	if (!rf_array_reserve((void **)&page->pieces, page->n_pieces, &page->cap_pieces,
			      sizeof(*page->pieces)))
		return false;
	memmove(&page->pieces[at + 1], &page->pieces[at], (page->n_pieces - at) * sizeof(piece));
	page->pieces[at] = piece;
	page->n_pieces++;
	return true;
}

/* Takes the bytes from `first` to `last` out of a page. */
static bool carve_page(struct page *page, unsigned first, unsigned last)
{
	size_t i = piece_position(page, first);
	if (i < page->n_pieces && first_of(&page->pieces[i]) < first) {
		struct piece rest = page->pieces[i];
		if (last_of(&rest) > last) {
			rest.start = (uint16_t)(last + 1);
			if (!insert_piece(page, i + 1, rest))
				return false;
		}
		page->pieces[i++].last = (uint16_t)(first - 1);
	}
	size_t end = i;
	while (end < page->n_pieces && last_of(&page->pieces[end]) <= last)
		end++;
	if (end < page->n_pieces && first_of(&page->pieces[end]) <= last)
		page->pieces[end].start = (uint16_t)(last + 1);
	if (i == end)
		return true;
	memmove(&page->pieces[i], &page->pieces[end],
		(page->n_pieces - end) * sizeof(*page->pieces));
	page->n_pieces -= end - i;
	return true;
}

/* No interval crosses that address any more. */
static void part_pages_at(struct interval_map *map, uint64_t address)
{
	struct piece *before = address ? find_piece(map, address - 1) : NULL;
	if (before && last_of(before) == PAGE_MASK)
		before->last = PAGE_MASK;
	struct piece *after = find_piece(map, address);
	if (after && !first_of(after))
		after->start = 0;
}

static bool carve_page_of_range(struct page *page, uint64_t start, uint64_t end)
{
	const uint64_t base = page->number << PAGE_SHIFT;
	if (end <= base || start > base + PAGE_MASK || !page->n_pieces)
		return true;
	return carve_page(page, start > base ? (unsigned)(start - base) : 0,
			  end - base < PAGE_SIZE ? (unsigned)(end - base) - 1 : PAGE_MASK);
}

static bool carve_pages(struct interval_map *map, uint64_t start, uint64_t end)
{
	const uint64_t first = start >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;
	bool ok = true;
	if (last - first >= map->n_pages) {
		for (size_t i = 0; i < map->n_pages; i++)
			ok &= carve_page_of_range(&map->pages[i], start, end);
	} else {
		for (uint64_t number = first; number <= last; number++) {
			struct page *page = find_page(map, number);
			ok &= !page || carve_page_of_range(page, start, end);
		}
	}
	if (!(start & PAGE_MASK))
		part_pages_at(map, start);
	if (!(end & PAGE_MASK))
		part_pages_at(map, end);
	return ok;
}

static bool set_pages(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	for (uint64_t at = start; at < end;) {
		const uint64_t page_end = (at | PAGE_MASK) + 1;
		struct page *page = find_page(map, at >> PAGE_SHIFT);
		struct piece piece = {
			.start = (uint16_t)((at & PAGE_MASK) | (at > start ? JOINED : 0)),
			.last = (uint16_t)(((end < page_end ? end : page_end) - 1) & PAGE_MASK),
			.value = value,
		};
		if (end > page_end)
			piece.last |= JOINED;
		if (!page)
			page = add_page(map, at >> PAGE_SHIFT);
		if (!page || !insert_piece(page, piece_position(page, first_of(&piece)), piece)) {
			(void)interval_map_remove(map, start, end);
			return false;
		}
		at = page_end;
	}
	return true;
}

/* ---- spans ---- */

static bool insert_span(struct interval_map *map, size_t at, struct interval span)
{
	if (!rf_array_reserve((void **)&map->spans, map->n_spans, &map->cap_spans,
			      sizeof(*map->spans)))
		return false;
	memmove(&map->spans[at + 1], &map->spans[at], (map->n_spans - at) * sizeof(span));
	map->spans[at] = span;
	map->n_spans++;
	return true;
}

static bool carve_spans(struct interval_map *map, uint64_t start, uint64_t end)
{
	size_t i = span_position(map, start);
	if (i < map->n_spans && map->spans[i].start < start) {
		struct interval rest = map->spans[i];
		if (rest.end > end) {
			rest.start = end;
			if (!insert_span(map, i + 1, rest))
				return false;
		}
		map->spans[i++].end = start;
	}
	size_t behind = i;
	while (behind < map->n_spans && map->spans[behind].end <= end)
		behind++;
	if (behind < map->n_spans && map->spans[behind].start < end)
		map->spans[behind].start = end;
	if (i == behind)
		return true;
	memmove(&map->spans[i], &map->spans[behind], (map->n_spans - behind) * sizeof(*map->spans));
	map->n_spans -= behind - i;
	return true;
}

/* ---- the whole ---- */

bool interval_map_remove(struct interval_map *map, uint64_t start, uint64_t end)
{
	if (start >= end)
		return true;
	const bool ok = carve_pages(map, start, end);
	return carve_spans(map, start, end) && ok;
}

/* Memory that is allocated, freed and allocated again: the same range once more. */
static bool replace_same(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	struct piece *piece = find_piece(map, start);
	if (!piece || piece->start != (start & PAGE_MASK) ||
	    piece->last != ((end - 1) & PAGE_MASK) || end - start > PAGE_SIZE)
		return false;
	piece->value = value;
	return true;
}

/* The piece behind `at` begins behind `last`, so that there is room for it before that one. */
static bool fits_before(const struct page *page, size_t at, unsigned last)
{
	return at == page->n_pieces || first_of(&page->pieces[at]) > last;
}

static bool meets_span(const struct interval_map *map, uint64_t start, uint64_t end)
{
	const size_t i = span_position(map, start);
	return i < map->n_spans && map->spans[i].start < end;
}

/* The common case of small blocks: a range within one page, where there is none or one that begins
 * at the same place and is as long or longer. */
static bool set_in_page(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	const unsigned first = start & PAGE_MASK, last = (end - 1) & PAGE_MASK;
	struct page *page = first && last >= first && last < PAGE_MASK && end - start < PAGE_SIZE
				    ? find_page(map, start >> PAGE_SHIFT)
				    : NULL;
	if (!page)
		return false;
	const size_t at = piece_position(page, first);
	const struct piece new = {(uint16_t)first, (uint16_t)last, value};
	if (fits_before(page, at, last))
		return !meets_span(map, start, end) && insert_piece(page, at, new);
	struct piece *old = &page->pieces[at];
	if (first_of(old) == first && old->last == last) {
		*old = new;
		return true;
	}
	if (first_of(old) != first || last_of(old) < last)
		return false;
	if (!insert_piece(page, at, new))
		return false;
	page->pieces[at + 1].start = (uint16_t)(last + 1);
	return true;
}

bool interval_map_set_over(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value,
			   uint32_t dead)
{
	const unsigned first = start & PAGE_MASK, last = (end - 1) & PAGE_MASK;
	struct page *page =
		start < end && first && last >= first && last < PAGE_MASK && end - start < PAGE_SIZE
			? find_page(map, start >> PAGE_SHIFT)
			: NULL;
	if (!page)
		return false;
	const size_t at = piece_position(page, first);
	const struct piece new = {(uint16_t)first, (uint16_t)last, value};
	if (fits_before(page, at, last))
		return !meets_span(map, start, end) && insert_piece(page, at, new);
	struct piece *old = &page->pieces[at];
	const unsigned old_last = last_of(old);
	if (first_of(old) != first || !(old->value & dead))
		return false;
	if (old_last > last) { /* what is left stays dead */
		if (!insert_piece(page, at, new))
			return false;
		page->pieces[at + 1].start = (uint16_t)(last + 1);
		return true;
	}
	if (old->last != last && (!fits_before(page, at + 1, last) || meets_span(map, start, end)))
		return false;
	*old = new;
	return true;
}

bool interval_map_set(struct interval_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	if (start >= end || set_in_page(map, start, end, value) ||
	    replace_same(map, start, end, value))
		return true;
	if (!interval_map_remove(map, start, end))
		return false;
	if (end - start < LARGE)
		return set_pages(map, start, end, value);
	return insert_span(map, span_position(map, start), (struct interval){start, end, value});
}

/* How far the interval of a piece reaches over the pages around its own. */
static void complete(const struct interval_map *map, const struct piece *piece,
		     struct interval *out)
{
	const struct piece *at = piece;
	while (at && at->start & JOINED) {
		at = find_piece(map, out->start - 1);
		if (at)
			out->start = (out->start - PAGE_SIZE) + first_of(at);
	}
	for (at = piece; at && at->last & JOINED;) {
		at = find_piece(map, out->end);
		if (at)
			out->end += last_of(at) + 1;
	}
}

static struct interval interval_of(const struct interval_map *map, uint64_t base,
				   const struct piece *piece)
{
	struct interval interval = {base + first_of(piece), base + last_of(piece) + 1,
				    piece->value};
	complete(map, piece, &interval);
	return interval;
}

bool interval_map_find(const struct interval_map *map, uint64_t address, struct interval *out)
{
	const struct piece *piece = find_piece(map, address);
	if (piece) {
		*out = interval_of(map, address & ~PAGE_MASK, piece);
		return true;
	}
	const size_t i = span_position(map, address);
	if (i == map->n_spans || map->spans[i].start > address)
		return false;
	*out = map->spans[i];
	return true;
}

bool interval_map_next(const struct interval_map *map, uint64_t address, uint64_t limit,
		       struct interval *out)
{
	const size_t i = span_position(map, address);
	bool found = i < map->n_spans && map->spans[i].start < limit;
	if (found) {
		*out = map->spans[i];
		limit = out->start;
	}
	while (address < limit) {
		const struct page *page = find_page(map, address >> PAGE_SHIFT);
		const size_t at = page ? piece_position(page, address & PAGE_MASK) : 0;
		if (page && at < page->n_pieces) {
			const uint64_t base = address & ~PAGE_MASK;
			if (base + first_of(&page->pieces[at]) >= limit)
				return found;
			*out = interval_of(map, base, &page->pieces[at]);
			return true;
		}
		address = (address | PAGE_MASK) + 1;
	}
	return found;
}

bool interval_map_change(struct interval_map *map, uint64_t address, uint32_t value,
			 struct interval *out)
{
	struct piece *piece = find_piece(map, address);
	if (!piece) {
		const size_t i = span_position(map, address);
		if (i == map->n_spans || map->spans[i].start > address)
			return false;
		*out = map->spans[i];
		map->spans[i].value = value;
		return true;
	}
	*out = interval_of(map, address & ~PAGE_MASK, piece);
	piece->value = value;
	if (!((piece->start | piece->last) & JOINED))
		return true;
	for (uint64_t at = out->start; at < out->end; at = (at | PAGE_MASK) + 1) {
		piece = find_piece(map, at);
		if (piece)
			piece->value = value;
	}
	return true;
}

bool interval_map_mark(struct interval_map *map, uint64_t start, uint32_t bits,
		       struct interval *out)
{
	struct piece *piece = find_piece(map, start);
	if (piece && (piece->start != (start & PAGE_MASK)))
		return false;
	if (piece && !(piece->last & JOINED)) {
		const uint64_t base = start & ~PAGE_MASK;
		*out = (struct interval){start, base + last_of(piece) + 1, piece->value};
		piece->value |= bits;
		return true;
	}
	return interval_map_find(map, start, out) && out->start == start &&
	       interval_map_change(map, start, out->value | bits, out);
}
