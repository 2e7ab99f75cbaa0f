/* A function's own page. */

const LOOP_FIELDS = ["parent", "start_offset", "end_offset", "header_offset", "turns", "instructions", "flop", "load_bytes",
	"store_bytes", "time_s", "samples", "l2_bytes", "l3_bytes", "mem_read_bytes", "mem_write_bytes", "inlined", "line", "ecm"];
const ROWS_AT_ONCE = 200;

function section(title, ...content) {
	return element("section", {}, element("h2", {}, title), ...content);
}

/* rows: arrays of texts or elements; columns: {title, word}. */
function plainTable(style, columns, rows) {
	return element("div", {class: "scroll"}, element("table", {class: style},
		element("thead", {}, element("tr", {}, ...columns.map(column => element("th", {scope: "col", class: column.word ? "word" : null, title: column.help}, column.title)))),
		element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map((cell, i) => element("td", {class: columns[i].word ? "word" : null}, cell)))))));
}

/* A long table grows by a button, and by grow(wanted): until it has such a row. */
function growingTable(style, columns, items, makeRow) {
	const table = plainTable(style, columns, []);
	const body = table.querySelector("tbody");
	let n = 0;
	const more = element("button", {type: "button", class: "more", click: () => add()});
	function add() {
		const made = document.createDocumentFragment(), rows = [];
		for (const end = Math.min(items.length, n + ROWS_AT_ONCE); n < end; n++)
			rows.push(makeRow(items[n], n));
		made.append(...rows);
		body.append(made);
		more.hidden = n === items.length;
		more.textContent = `Show more of ${items.length - n}`;
		return rows;
	}
	add();
	const holder = element("div", {}, table, more);
	holder.grow = wanted => {
		for (let rows = [...body.rows]; !rows.some(wanted) && n < items.length;)
			rows = add();
	};
	return holder;
}

function fact(name, value, note) {
	return element("div", {class: "fact"}, element("dt", {}, name), element("dd", {}, value), note ? element("dd", {class: "note"}, note) : null);
}

/* Parts of a whole as one bar with its legend; parts: [name, value]. */
function shareBar(title, parts) {
	const all = parts.reduce((sum, [, value]) => sum + value, 0);
	const shown = parts.filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
	const bar = element("div", {class: "bar", "aria-hidden": "true"});
	const list = element("ul", {class: "bar-legend"});
	shown.forEach(([name, value], i) => {
		const piece = element("span", {class: `part part-${Math.min(i, 6)}`});
		piece.style.width = `${100 * value / all}%`;
		bar.append(piece);
		list.append(element("li", {}, element("span", {class: `key part-${Math.min(i, 6)}`}), `${name} `, element("b", {}, formatShare(value / all))));
	});
	return shown.length ? element("div", {class: "shares"}, element("h3", {}, title), bar, list) : null;
}

/* "add_double_256" → sums by its first, second or last word. */
function sumsBy(kinds, at, names) {
	const sums = new Map();
	for (const [name, value] of Object.entries(kinds)) {
		const word = name.split("_")[at];
		sums.set(names[word] || word, (sums.get(names[word] || word) || 0) + value);
	}
	return [...sums];
}

const WIDTH_NAMES = {scalar: "scalar", 128: "128 bits", 256: "256 bits", 512: "512 bits", tile: "tile"};
const KIND_NAMES = {fma: "fused multiply-add", add: "add", mul: "multiply", div: "divide", sqrt: "square root", other: "other"};
const CLASS_NAMES = {move: "moves", integer: "integer", fp_arith: "floating-point arithmetic", fp_move: "floating-point moves, conversions",
	branch: "branches", call: "calls", return: "returns", string: "string", nop: "no-operation", system: "system", other: "other"};

function pageFacts(f, detail) {
	const threads = known(f.threads) ? significant(f.threads) : DASH;
	const ipc = detail.metrics ? detail.metrics.ipc : null;
	return element("dl", {class: "facts"},
		fact(boundOf(f) === "kernel" ? "Kernel time" : "User time", timeMark(f) + formatSeconds(f.time_s), `${formatShare(f.share)} · ${formatCount(f.samples)} samples${runsText(detail.time_runs_s)}`),
		fact("Speed", rateText(f), known(f.roof) ? `roof ${significant(f.roof)}` : null),
		fact("Of its roof", percentText(f), known(f.distance) ? `${belowText(f)} ${f.above_roof ? "above" : "below"} it${f.headroom_s > 0 ? `, could save ${formatSeconds(f.headroom_s)}` : ""}` : null),
		fact("Flop", formatCount(f.flop), f.flop > 0 ? f.precision : null),
		fact("Loaded, stored", formatBytes(f.load_bytes + f.store_bytes), `${formatBytes(f.load_bytes)}, ${formatBytes(f.store_bytes)}`),
		fact("Instructions", formatCount(f.instructions), known(ipc) ? `${significant(ipc)} per cycle` : null),
		fact("Threads", threads, "inside at once, on average"));
}

function pageWhy(f, detail) {
	const list = detail.reasons && detail.reasons.length
		? element("ol", {class: "why"}, ...detail.reasons.map(([name, what, advice]) =>
			element("li", {}, element("b", {}, name), `: ${what}`, element("p", {class: "try"}, element("b", {}, "try: "), advice))))
		: null;
	const head = element("p", {class: "verdict"}, boundMark(f), element("b", {}, boundPhrase(f)), `: ${BOUNDS[boundOf(f)].means}.`);
	const roof = known(f.ceiling_gflops) && known(f.roof_gflops) && f.ceiling_gflops < 0.97 * f.roof_gflops
		? element("p", {}, `Its mix of instructions reaches at most ${significant(f.ceiling_gflops)} GFLOP/s; the roof is ${significant(f.roof_gflops)}.`) : null;
	return section(!known(f.distance) ? "What it is" : f.above_roof ? "Above its roof" : f.distance > 1.1 ? "Why it is below the roof" : "At its roof", head, roof, list);
}

function pageLevels(f, detail) {
	if (!detail.levels)
		return null;
	const columns = [{title: "level", word: true}, {title: "read"}, {title: "of it write-allocate"}, {title: "written"}, {title: "flop/byte"}, {title: "GB/s"},
		{title: "roof, GB/s", help: `the most of its own mix of reads and writes, at ${significant(f.threads)} threads`}, {title: "misses", help: "share of accesses that needed the next level"}];
	return section("What moved at every level", plainTable("", columns, detail.levels.map(row => [
		row.level, formatBytes(row.read_bytes), formatBytes(row.write_allocate_bytes), formatBytes(row.write_bytes),
		f.flop > 0 ? intensityText(intensityAt(f, row.level, "both")) : DASH, significant(row.gbytes_per_s),
		significant(row.bandwidth_gbytes_per_s), formatShare(row.miss_ratio)])));
}

function pageWork(detail) {
	const kinds = detail.flop_by_kind || {};
	const classes = Object.entries(detail.instructions_by_class || {}).map(([name, value]) => [CLASS_NAMES[name] || name, value]);
	const bars = [shareBar("Flop by vector width", sumsBy(kinds, 2, WIDTH_NAMES)), shareBar("Flop by operation", sumsBy(kinds, 0, KIND_NAMES)),
		shareBar("Instructions", classes)].filter(Boolean);
	return bars.length ? section("Work", element("div", {class: "columns"}, ...bars)) : null;
}

/* Depth first, each with its depth: loops stand outer before inner, in the order of their code. */
function loopTree(loops) {
	const inner = new Map();
	loops.forEach((loop, i) => {
		const key = loop.parent === null ? -1 : loop.parent;
		if (!inner.has(key))
			inner.set(key, []);
		inner.get(key).push(i);
	});
	const order = [], stack = (inner.get(-1) || []).map(i => [i, 0]).reverse();
	while (stack.length) {
		const [i, depth] = stack.pop();
		order.push({...loops[i], depth, around: loops[i].parent === null ? null : loops[loops[i].parent]});
		stack.push(...(inner.get(i) || []).map(k => [k, depth + 1]).reverse());
	}
	return order;
}

function pageLoops(f, detail, goTo) {
	if (!detail.loops || !detail.loops.length)
		return null;
	const loops = loopTree(detail.loops.map(row => withFields(row, LOOP_FIELDS)));
	const columns = [{title: "loop", word: true, help: "source line of its header; offsets where that is not known"}, {title: "turns", help: "times that its header ran"},
		{title: "per turn around", help: "turns for each turn of the loop around it"}, {title: "time"}, {title: "of the function"},
		{title: "flop"}, {title: "loaded, stored"}, {title: "memory"}, {title: "flop/byte", help: "by what it loads and stores"}];
	const table = growingTable("loops", columns, loops, loop => {
		const name = element("button", {type: "button", class: "link", click: () => goTo(loop)}, loop.line || `${formatHex(loop.start_offset)}–${formatHex(loop.end_offset)}`);
		name.title = `offsets ${formatHex(loop.start_offset)}–${formatHex(loop.end_offset)}`;
		const first = element("td", {class: "word"}, loop.depth ? element("span", {class: "branch"}, "└ ") : null, name,
			loop.inlined ? element("span", {class: "note"}, ` in ${shortenMiddle(loop.inlined, 40)}`) : null);
		first.style.paddingInlineStart = `${0.6 + 1.3 * Math.min(loop.depth, 12)}em`;
		const bytes = loop.load_bytes + loop.store_bytes;
		const memory = known(loop.mem_read_bytes) ? loop.mem_read_bytes + loop.mem_write_bytes : null;
		return element("tr", {}, first, ...[formatCount(loop.turns), loop.around && loop.around.turns > 0 ? significant(loop.turns / loop.around.turns) : DASH,
			formatSeconds(loop.time_s), f.time_s > 0 ? formatShare(loop.time_s / f.time_s) : DASH, formatCount(loop.flop), formatBytes(bytes),
			formatBytes(memory), loop.flop > 0 ? significant(bytes > 0 ? loop.flop / bytes : Infinity) : DASH].map(text => element("td", {}, text)));
	});
	return section(`Loops (${loops.length})`, table);
}

function objectName(object) {
	const place = object.file ? ` (${object.file.split("/").pop()}${object.line ? `:${object.line}` : ""})` : "";
	return shortenMiddle(`${object.name || object.module || "unnamed"}${place}`, 60);
}

function pageObjects(detail) {
	if (!detail.objects || !detail.objects.length)
		return null;
	const columns = [{title: "data", word: true}, {title: "kind", word: true}, {title: "size"}, {title: "read from memory"}, {title: "written"}, {title: "share"}];
	return section("Data that moves to and from memory", plainTable("", columns, detail.objects.map(object => [
		objectName(object), object.kind, formatBytes(object.size_bytes), formatBytes(object.mem_read_bytes), formatBytes(object.mem_write_bytes), formatShare(object.share)])),
	detail.working_set && known(detail.working_set.fits_in_bytes) ? element("p", {class: "note"},
		`What it uses again fits in ${formatBytes(detail.working_set.fits_in_bytes)} of cache.`) : null);
}

function pageThreads(f, detail) {
	const threads = detail.per_thread || [];
	if (threads.length < 2)
		return null;
	const by = f.flop > 0 ? "flop" : "instructions";
	const most = Math.max(...threads.map(thread => thread[by]), 1), mean = threads.reduce((sum, thread) => sum + thread[by], 0) / threads.length;
	const columns = [{title: "thread", word: true}, {title: by}, {title: "", word: true}, {title: "loaded, stored"}, {title: "instructions"}];
	const rows = [...threads].sort((a, b) => b[by] - a[by]).slice(0, 512).map(thread => {
		const bar = element("span", {class: "thread-bar"});
		bar.style.width = `${100 * thread[by] / most}%`;
		return [shortenMiddle(`${thread.name || "thread"} ${thread.tid}`, 30), formatCount(thread[by]), bar, formatBytes(thread.load_bytes + thread.store_bytes), formatCount(thread.instructions)];
	});
	return section("Threads", element("p", {class: "note"}, `The busiest does ${formatTimes(most / Math.max(mean, 1))} the mean of ${threads.length} threads, by ${by}.`),
		plainTable("threads", columns, rows));
}

function pageCompared(f, app) {
	if (!app.other)
		return null;
	if (!f.before)
		return section("Compared", element("p", {}, "The earlier profile has no function of this name and module."));
	const b = f.before;
	const rows = [["User time", formatSeconds(b.time_s), formatSeconds(f.time_s), formatChange(b.time_s, f.time_s)],
		["GFLOP/s", significant(b.gflops), significant(f.gflops), formatChange(b.gflops, f.gflops)],
		["Flop", formatCount(b.flop), formatCount(f.flop), formatChange(b.flop, f.flop)],
		["Loaded and stored", formatBytes(b.load_bytes + b.store_bytes), formatBytes(f.load_bytes + f.store_bytes), formatChange(b.load_bytes + b.store_bytes, f.load_bytes + f.store_bytes)],
		["Memory", formatBytes(b.mem_bytes), formatBytes(f.mem_bytes), formatChange(b.mem_bytes, f.mem_bytes)],
		["Below its roof", belowText(b), belowText(f), formatChange(b.distance, f.distance)]];
	const spread = Math.hypot(b.time_halfwidth_s || 0, f.time_halfwidth_s || 0);
	return section("Compared with the earlier profile", plainTable("", [{title: "", word: true}, {title: "before"}, {title: "now"}, {title: "change"}], rows),
		element("p", {class: "note"}, Math.abs(f.time_s - b.time_s) <= spread ? "The change of time is within its 95 % interval." :
			"The change of time is beyond its 95 % interval."));
}

/* A point at every level, on all roofs. */
function levelMarks(f, app) {
	const counts = app.profile.threadCounts;
	const threads = counts.reduce((best, n) => Math.abs(n - f.threads) < Math.abs(best - f.threads) ? n : best, counts[0] || 1);
	const points = [], links = [];
	for (const level of app.levels) {
		const place = placeOf(f, level, app.state.direction);
		if (place && !place.strip)
			points.push({index: f.index, label: level, place, bound: boundOf(f), weight: 1, area: level === f.level ? 210 : 90,
				above: f.above_roof && level === f.level, hollow: f.level !== "" && f.level !== null && level !== f.level});
	}
	/* levels at which nothing moved stand at one place */
	const there = points.filter(point => point.place.x > IN_CACHE);
	there.forEach((point, i) => { point.label = i ? "" : there.map(other => other.label).join(", "); });
	for (let i = 1; i < points.length; i++)
		links.push({from: points[i - 1].place, to: points[i].place, style: "levels"});
	const own = level => (f.levels || []).find(row => row.level === level && known(row.bandwidth_gbytes_per_s));
	const roofs = app.levels.filter(own).map(level => ({level, rate: own(level).bandwidth_gbytes_per_s, text: `${level}, its mix`, chosen: level === f.level}));
	return {points, links, byFlop: true, unit: "GFLOP/s", roofs: roofs.length ? roofs : roofsOf(app.profile, app.levels, {level: f.level, direction: app.state.direction, threads}),
		peaks: peaksOf(app.profile, f.precision || app.profile.main_precision, threads),
		xLabel: `flop per byte moved at each level · peaks of ${threads} thread${threads === 1 ? "" : "s"}`};
}

function showFunction(holder, f, app) {
	const detail = readDetail(f);
	const source = detail.file ? `${detail.file}${detail.line ? `:${detail.line}` : ""}` : "";
	const plotHolder = element("div", {class: "plot"});
	const hasPlot = f.point_unit === "GFLOP/s";
	const code = pageCode(f, detail);
	function goTo(loop) {
		if (code.grow)
			code.grow(row => +row.dataset.offset >= loop.end_offset);
		const rows = [...code.querySelectorAll("tr[data-offset]")];
		rows.forEach(row => row.classList.toggle("in-loop", +row.dataset.offset >= loop.start_offset && +row.dataset.offset < loop.end_offset));
		const first = rows.find(row => row.classList.contains("in-loop"));
		if (first)
			first.scrollIntoView({block: "center"});
	}
	holder.replaceChildren(...[
		element("nav", {class: "back"}, element("a", {href: "#"}, "← All functions"), element("span", {class: "note"}, " Esc")),
		element("header", {class: "function-head"}, element("h1", {tabindex: "-1"}, shortenMiddle(f.name, 400)),
			element("p", {class: "note"}, [f.module, source].filter(Boolean).map(text => shortenMiddle(text, 120)).join(" · "))),
		pageFacts(f, detail),
		element("div", {class: hasPlot ? "beside" : null}, hasPlot ? plotHolder : null, element("div", {}, pageWhy(f, detail), pageCompared(f, app))),
		pageAccount(f, detail, app), pageLevels(f, detail), pageWork(detail), pageLoops(f, detail, goTo), code, pageObjects(detail), pageCalls(f, app.calls), pageThreads(f, detail),
	].filter(Boolean));
	if (code.start)
		code.start();
	if (!hasPlot)
		return null;
	const plot = new Roofline(plotHolder, {name: "function", title: "Roofline of this function", height: width => Math.min(380, Math.max(260, width * 0.62)), labels: () => 4, upright: true});
	plot.show(levelMarks(f, app));
	return plot;
}
