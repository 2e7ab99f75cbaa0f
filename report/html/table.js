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

function boundText(f) {
	return `${BOUNDS[boundOf(f)].label}${f.bound_or ? "?" : ""}${f.level ? ` · ${f.level_inferred ? "~" : ""}${f.level}` : ""}`;
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

/* value: to sort by, and what the tests compare; show: the cell. */
const COLUMNS = [
	{key: "name", title: "function", text: true, first: "up", value: f => f.name.toLowerCase(), show: f => f.name},
	{key: "time", title: "time", value: f => f.time_s, show: f => timeMark(f) + formatSeconds(f.time_s)},
	{key: "share", title: "share", value: f => f.share, show: f => formatShare(f.share), bar: f => f.share},
	{key: "rate", title: "speed", value: f => f.point_unit === "GFLOP/s" ? f.point : known(f.point) ? f.point * 1e-6 : null, show: rateText},
	{key: "intensity", title: "flop/byte", help: "at the chosen level", value: (f, state) => f.flop > 0 ? intensityAt(f, state.level, state.direction) : null,
		show: (f, state) => f.flop > 0 ? intensityText(intensityAt(f, state.level, state.direction)) : DASH},
	{key: "bytes", title: "bytes", help: "at the chosen level", value: (f, state) => bytesAt(f, state.level, state.direction),
		show: (f, state) => formatBytes(bytesAt(f, state.level, state.direction))},
	{key: "bound", title: "bound by", text: true, first: "up", value: f => boundText(f), show: boundText},
	{key: "distance", title: "below roof", value: f => f.distance, show: belowText},
	{key: "headroom", title: "headroom", help: "seconds that code at its roof would save", value: f => f.headroom_s, show: f => formatSeconds(f.headroom_s)},
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
		this.headers = this.columns.map(column => element("th", {scope: "col", class: column.text ? "word" : null, title: column.help},
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
		const row = element("tr", {"data-index": f.index});
		for (const column of this.columns) {
			if (column.key === "name")
				row.append(element("th", {scope: "row"}, element("a", {href: `#f${f.index}`, title: shortenMiddle(f.name, 300)},
					shortenMiddle(f.name, 46)), element("span", {class: "module"}, shortenMiddle(f.module, 24))));
			else if (column.key === "bound")
				row.append(element("td", {class: "word"}, boundMark(f), boundText(f)));
			else
				row.append(this.cell(column, f));
		}
		return row;
	}

	cell(column, f) {
		const cell = element("td", {class: column.bar ? "with-bar" : null}, column.show(f, this.app.state));
		cell.classList.toggle("fault", column.key === "distance" && f.above_roof);
		if (column.bar)
			cell.style.setProperty("--part", `${(100 * Math.min(1, column.bar(f) || 0)).toFixed(2)}%`);
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
