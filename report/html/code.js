/* A function's code: its source and its instructions beside each other. */

const CODE_FIELDS = ["offset", "text", "executions", "time_ns", "flop", "ls_bytes", "mem_bytes", "source", "line", "inlined"];
const AROUND = 6; /* lines shown before and behind those with code */

let keptSources = null;

/* Files with their lines, read when the first function's page is opened. */
function readSources() {
	const holder = document.getElementById("sources");
	if (!keptSources)
		keptSources = holder ? JSON.parse(holder.textContent) : [];
	return keptSources;
}

/* The figures of each source line that has instructions, by file. */
function sumByLine(lines) {
	const files = new Map();
	for (const line of lines) {
		if (line.source === null)
			continue;
		if (!files.has(line.source))
			files.set(line.source, new Map());
		const file = files.get(line.source);
		const sum = file.get(line.line) || {time_ns: 0, flop: 0, ls_bytes: 0, mem_bytes: 0};
		for (const field of Object.keys(sum))
			sum[field] += line[field];
		file.set(line.line, sum);
	}
	return [...files].map(([source, sums]) => ({source, sums, time_ns: [...sums.values()].reduce((all, sum) => all + sum.time_ns, 0)}))
		.sort((a, b) => b.time_ns - a.time_ns || a.source - b.source);
}

/* What is shown of a file: lines near code, {gap} between pieces. */
function rowsOfFile({source, sums}, kept) {
	const texts = new Map(kept.lines), wanted = new Set();
	for (const number of sums.keys())
		for (let at = Math.max(1, number - AROUND); at <= number + AROUND; at++)
			if (texts.has(at) || sums.has(at))
				wanted.add(at);
	const rows = [{file: kept}];
	let before = null;
	for (const number of [...wanted].sort((a, b) => a - b)) {
		if (before !== null && number !== before + 1)
			rows.push({gap: true});
		rows.push({source, number, text: texts.get(number), sum: sums.get(number)});
		before = number;
	}
	const indents = rows.filter(row => row.text && row.text.trim()).map(row => row.text.search(/\S/));
	const common = indents.length ? Math.min(...indents) : 0;
	for (const row of rows)
		row.text = row.text && row.text.slice(common);
	return rows;
}

function quiet(value, format) {
	return value ? format(value) : "";
}

function timeBar(ns, most) {
	const bar = element("span", {class: "time-bar"});
	bar.style.width = `${100 * ns / most}%`;
	return ns ? bar : "";
}

/* The figures that lines and instructions both have. */
function figureCells(at, figures) {
	return [element("td", {}, quiet(at.time_ns, value => formatSeconds(value * 1e-9))), element("td", {class: "word bar-cell"}, timeBar(at.time_ns, figures.most)),
		...figures.columns.map(({key, format}) => element("td", {}, quiet(at[key], format)))];
}

const FIGURES = [{key: "flop", title: "flop", format: formatCount}, {key: "ls_bytes", title: "bytes", help: "loaded and stored", format: formatBytes},
	{key: "mem_bytes", title: "memory", help: "bytes to and from memory", format: formatBytes}];

/* The columns that have something to show; most: the longest time of one, ns. */
function figuresOf(rows) {
	const columns = FIGURES.filter(({key}) => rows.some(row => row[key]));
	return {columns, heads: [{title: "time"}, {title: "", word: true}, ...columns], most: rows.reduce((most, row) => Math.max(most, row.time_ns), 1)};
}

function sourceRow(row, figures) {
	const colspan = figures.heads.length + 2;
	if (row.file)
		return element("tr", {class: "file"}, element("th", {scope: "rowgroup", colspan}, shortenMiddle(row.file.file, 90),
			row.file.state ? element("span", {class: "note"}, ` · ${row.file.state}`) : null));
	if (row.gap)
		return element("tr", {class: "skipped"}, element("td", {class: "word", colspan}, "⋮"));
	const made = element("tr", {"data-line": `${row.source}:${row.number}`, class: row.sum ? "ran" : null, tabindex: row.sum ? 0 : null},
		element("td", {class: "number"}, String(row.number)), ...figureCells(row.sum || {time_ns: 0}, figures),
		element("td", {class: "word mono text"}, row.text || ""));
	made.ns = row.sum ? row.sum.time_ns : 0;
	return made;
}

function sourcePane(lines) {
	const kept = readSources(), files = sumByLine(lines);
	const figures = figuresOf(files.flatMap(file => [...file.sums.values()]));
	const rows = files.flatMap(file => rowsOfFile(file, kept[file.source]));
	if (!rows.length)
		return null;
	const columns = [{title: "line"}, ...figures.heads, {title: "source", word: true}];
	return growingTable("code source", columns, rows, row => sourceRow(row, figures));
}

function instructionTable(lines, detail, beside) {
	const inlinedShown = !beside && lines.some(line => line.inlined);
	const figures = figuresOf(lines), headers = new Set((detail.loops || []).map(row => row[LOOP_FIELDS.indexOf("header_offset")]));
	const columns = [{title: "offset", word: true}, {title: "instruction", word: true}, {title: "executions"}, ...figures.heads,
		...(inlinedShown ? [{title: "inlined from", word: true, help: "the function that it is a copy of, and where that was called"}] : [])];
	let before = null;
	return growingTable("code", columns, lines, line => {
		const style = `${headers.has(line.offset) ? "loop-head" : ""} ${before !== null && line.offset - before > 15 ? "gap" : ""}`.trim();
		before = line.offset;
		const row = element("tr", {"data-offset": line.offset, "data-line": line.source === null ? null : `${line.source}:${line.line}`, class: style || null,
			title: line.inlined || null}, element("td", {class: "word mono"}, formatHex(line.offset)), element("td", {class: "word mono"}, line.text),
		element("td", {}, formatCount(line.executions)), ...figureCells(line, figures),
		inlinedShown ? element("td", {class: "word"}, shortenMiddle(line.inlined, 60)) : null);
		row.ns = line.time_ns;
		return row;
	});
}

/* Each pane begins where most time is, as far as its rows are made. */
function showHottest(panes) {
	for (const pane of panes) {
		const rows = [...pane.querySelectorAll("tr[data-line]")].filter(row => row.ns > 0);
		const hottest = rows.reduce((best, row) => !best || row.ns > best.ns ? row : best, null);
		if (hottest)
			pane.scrollTop = hottest.offsetTop - pane.clientHeight / 2;
	}
}

/* A click on a line marks its instructions, one on an instruction its line; both come into view. */
function join(source, code) {
	const choose = event => {
		const row = event.target.closest("tr[data-line]");
		if (!row)
			return;
		const other = source.contains(row) ? code : source;
		other.grow(at => at.dataset.line === row.dataset.line);
		for (const pane of [source, code])
			for (const at of pane.querySelectorAll("tr[data-line]"))
				at.classList.toggle("in-line", at.dataset.line === row.dataset.line);
		const first = other.querySelector("tr.in-line");
		if (first)
			first.scrollIntoView({block: "nearest"});
	};
	for (const pane of [source, code]) {
		pane.addEventListener("click", choose);
		pane.addEventListener("keydown", event => event.key === "Enter" && choose(event));
	}
}

function noSource(f) {
	return f.share < 0.01 ? "that of functions with less than 1 % of the time is not kept" :
		"the profile has no lines of this code, or no source text (--no-source, --redact, earlier versions of rfprof)";
}

function pageCode(f, detail) {
	if (!detail.code || !detail.code.length)
		return section("Instructions", element("p", {class: "note"}, f.instructions > 0 ?
			"Not in this page: the instructions of functions without samples, very long ones, and those behind the first 40,000 by rank are left out." :
			"None of its code was counted."));
	const lines = detail.code.map(row => withFields(row, CODE_FIELDS));
	/* stands only where it changes */
	let inlined = "";
	for (const line of lines)
		line.inlined = inlined = typeof line.inlined === "string" ? line.inlined : inlined;
	const source = sourcePane(lines), code = instructionTable(lines, detail, source !== null);
	const told = "Only instructions that ran. A sample stands at the instruction that was to run next, so time may belong to the one before. A marked row is a loop's header.";
	let made;
	if (source) {
		join(source, code);
		made = section("Source and instructions", element("p", {class: "note"}, `${told} A click on a line marks its instructions.`),
			element("div", {class: "panes"}, source, code));
	} else {
		made = section("Instructions", element("p", {class: "note"}, told), element("p", {class: "note"}, `No source beside them: ${noSource(f)}.`), code);
	}
	made.grow = code.grow;
	made.start = () => showHottest(source ? [source, code] : []);
	return made;
}
