/* The sortable list of functions.  Only the first rows are made; a button makes more. */

const FIRST_ROWS = 60;
const MORE_ROWS = 200;

function rateText(f) {
	const units = {"GFLOP/s": "GFLOP/s", "GB/s": "GB/s", "Ginstructions/s": "Ginsn/s"};
	return known(f.point) && f.point_unit ? `${significant(f.point)} ${units[f.point_unit] || f.point_unit}` : DASH;
}

function intensityText(intensity) {
	return known(intensity) && intensity > IN_CACHE ? `>${IN_CACHE}` : significant(intensity);
}

function boundMark(f) {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
	svg.setAttribute("viewBox", "-8 -8 16 16");
	svg.setAttribute("class", "mark");
	svg.setAttribute("aria-hidden", "true");
	path.setAttribute("d", symbolPath(boundOf(f), 100));
	path.setAttribute("class", `point bound-${boundOf(f)}`);
	svg.append(path);
	return svg;
}

function boundPhrase(f) {
	const level = f.level ? ` (${f.level_inferred ? "~" : ""}${f.level})` : "";
	return `${BOUNDS[boundOf(f)].label}${f.bound_or ? ` or ${BOUNDS[f.bound_or].label}` : ""}${["uncounted", "unknown", "waiting", "kernel"].includes(boundOf(f)) ? "" : " bound"}${level}`;
}

/* "2.4×", "0.48×!" above its roof: down, so that this never reads as on it. */
function belowText(f) {
	return f.above_roof && known(f.distance) ? `${Math.max(0.01, Math.floor(100 * f.distance) / 100).toFixed(2)}×!` : formatTimes(f.distance);
}

/* Whether other figures than time can be told. */
function timeMark(f) {
	return f.samples > 0 && f.samples < 20 ? "≈" : "";
}

/* "9.6 %" of its roof; "167 %!" above it: up, so that this never reads as on it. */
function percentText(f) {
	if (!known(f.distance) || !(f.distance > 0))
		return DASH;
	const percent = 100 / f.distance;
	if (f.above_roof)
		return `${Math.max(101, Math.ceil(percent))} %!`;
	return percent < 1 ? `${Number(Math.max(0.01, percent).toPrecision(1))} %` : `${Math.min(100, Math.round(percent))} %`;
}

/* The first reason without what it could save, which stands beside it; else what binds it. */
function whyText(f) {
	return f.why ? f.why.replace(/ \(up to [^()]* s\)$/, "") : f.time_s > 0 ? BOUNDS[boundOf(f)].means : "";
}

function heldCell(f) {
	return element("td", {class: "word held", title: `${boundPhrase(f)}: ${whyText(f)}`},
		element("div", {}, boundMark(f), element("span", {}, f.held_back_by || DASH)));
}

function shareCell(share) {
	const bar = element("i");
	bar.style.width = `${(100 * Math.min(1, share || 0)).toFixed(2)}%`;
	return element("td", {class: "share"}, element("div", {}, element("span", {class: "meter", "aria-hidden": "true"}, bar), formatShare(share)));
}

function nameCell(f) {
	return element("th", {scope: "row"}, element("a", {href: `#f${f.index}`, title: shortenMiddle(f.name, 300)}, shortenMiddle(f.name, 60)),
		" ", element("span", {class: "module"}, shortenMiddle(f.module, 24)));
}

/* value: to sort by, and what the tests compare; show: the text of the cell, or cell: all of it. */
const COLUMNS = [
	{key: "rank", title: "#", help: "rank by what it could save", first: "up", value: f => f.index, show: f => String(f.index + 1)},
	{key: "time", title: "time", value: f => f.time_s, show: f => timeMark(f) + formatSeconds(f.time_s)},
	{key: "share", title: "%", help: "of the time of all", value: f => f.share, cell: f => shareCell(f.share)},
	{key: "name", title: "function", text: true, first: "up", value: f => f.name.toLowerCase(), cell: nameCell},
	{key: "rate", title: "speed", value: f => f.point_unit === "GFLOP/s" ? f.point : known(f.point) ? f.point * 1e-6 : null, show: rateText},
	{key: "distance", title: "% of roof", help: "its speed, of the most that its roof allows", value: f => known(f.distance) ? 1 / f.distance : null, show: percentText},
	{key: "bound", title: "held back by", text: true, first: "up", value: f => `${boundOf(f)} ${f.held_back_by || ""}`, cell: heldCell},
	{key: "headroom", title: "could save", help: "time that code at its roof would save", value: f => f.headroom_s, show: f => formatSeconds(f.headroom_s)},
	{key: "before", title: "before", compare: true, help: "time in the earlier profile", value: f => f.before ? f.before.time_s : null,
		show: f => f.before ? formatSeconds(f.before.time_s) : "new"},
	{key: "change", title: "change", compare: true, help: "of its time", value: f => f.before && f.before.time_s > 0 ? f.time_s / f.before.time_s : null,
		show: f => f.before ? formatChange(f.before.time_s, f.time_s) : DASH},
];

class FunctionTable {
	constructor(holder, app) {
		this.app = app;
		this.columns = COLUMNS.filter(column => !column.compare || app.other);
		this.body = element("tbody");
		this.more = element("button", {type: "button", class: "more", click: () => this.addRows(MORE_ROWS)});
		this.headers = this.columns.map(column => element("th", {scope: "col", class: `${column.key}${column.text ? " word" : ""}`, title: column.help},
			element("button", {type: "button", "data-sort": column.key, click: () => app.sortBy(column)}, column.title)));
		holder.append(element("div", {class: "scroll", tabindex: "-1"}, element("table", {class: "functions"},
			element("caption", {class: "unseen"}, "Functions"),
			element("thead", {}, element("tr", {}, ...this.headers)), this.body)), this.more);
		this.body.addEventListener("pointerover", event => {
			const row = event.target.closest("tr");
			app.mark(row ? +row.dataset.index : -1);
		});
		this.body.addEventListener("pointerleave", () => app.mark(-1));
		this.body.addEventListener("focusin", event => app.mark(+event.target.closest("tr").dataset.index));
		this.body.addEventListener("click", event => {
			const row = event.target.closest("tr");
			if (row && !event.target.closest("a") && !String(getSelection()))
				location.hash = `f${row.dataset.index}`;
		});
	}

	show(rows) {
		const {state} = this.app;
		this.rows = rows;
		this.n = 0;
		this.body.replaceChildren();
		this.headers.forEach((header, i) => header.setAttribute("aria-sort",
			this.columns[i].key !== state.sort ? "none" : state.descending ? "descending" : "ascending"));
		this.addRows(FIRST_ROWS);
	}

	addRows(n) {
		const end = Math.min(this.rows.length, this.n + n);
		const made = document.createDocumentFragment();
		for (; this.n < end; this.n++)
			made.append(this.row(this.rows[this.n]));
		this.body.append(made);
		const left = this.rows.length - this.n;
		this.more.hidden = left === 0;
		this.more.textContent = `Show ${Math.min(left, MORE_ROWS)} more of ${left}`;
	}

	row(f) {
		return element("tr", {"data-index": f.index}, ...this.columns.map(column => column.cell ? column.cell(f) : this.cell(column, f)));
	}

	cell(column, f) {
		const cell = element("td", {class: column.key}, column.show(f));
		cell.classList.toggle("fault", column.key === "distance" && f.above_roof);
		return cell;
	}

	/* Moves the focus by rows; from outside of the table to its first. */
	step(by) {
		const links = [...this.body.querySelectorAll("th a")];
		const at = links.indexOf(document.activeElement);
		if (at + by >= links.length && !this.more.hidden) {
			this.addRows(MORE_ROWS);
			this.step(by);
			return;
		}
		const to = at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1);
		if (links[to])
			links[to].focus();
	}
}
