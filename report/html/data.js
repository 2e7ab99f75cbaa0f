/* The profile as the page has it, and where its functions stand. */

/* Okabe and Ito's colours are in page.css by these classes; shapes tell the same to who sees no colours. */
const BOUNDS = {
	memory: {label: "memory", shape: "symbolCircle", means: "bytes are what it waits for"},
	compute: {label: "compute", shape: "symbolSquare", means: "arithmetic is what it waits for"},
	balanced: {label: "balanced", shape: "symbolDiamond", means: "both alike"},
	latency: {label: "latency", shape: "symbolTriangle", means: "below half of every roof: it waits for results, misses or branches"},
	issue: {label: "instruction issue", shape: "symbolCross", means: "no flop, and near the most instructions a second"},
	waiting: {label: "waiting", shape: "symbolWye", means: "it spins until other threads are done"},
	kernel: {label: "kernel", shape: "symbolWye", means: "the kernel's work for the program"},
	uncounted: {label: "uncounted", shape: "symbolWye", means: "it ran natively in the counted run"},
	unknown: {label: "no roof", shape: "symbolWye", means: "no roof or no count to place it by"},
};
const LEVELS = ["L1", "L2", "L3", "DRAM"];
const DIRECTIONS = ["both", "read", "write"];
const LEVEL_FIELDS = ["level", "read_bytes", "write_bytes", "bandwidth_gbytes_per_s"];

/* " · runs 0.93 s … 1.10 s", or nothing of a program that was timed once. */
function runsText(runs) {
	return runs ? ` · runs ${formatSeconds(runs.least)} … ${formatSeconds(runs.most)}` : "";
}

function boundOf(f) {
	return Object.hasOwn(BOUNDS, f.bound) ? f.bound : "unknown";
}

function withFields(row, fields) {
	return Object.fromEntries(fields.map((field, i) => [field, row[i]]));
}

function readProfile(id) {
	const holder = document.getElementById(id);
	if (!holder)
		return null;
	const profile = JSON.parse(holder.textContent);
	profile.functions.forEach((f, index) => {
		f.index = index;
		f.levels = f.levels ? f.levels.map(row => withFields(row, LEVEL_FIELDS)) : null;
		f.search = `${f.name} ${f.module}`.toLowerCase();
	});
	profile.threadCounts = [...new Set(profile.bandwidths.concat(profile.peaks).map(row => row.threads))].sort((a, b) => a - b);
	return profile;
}

/* What is only needed on a function's own page; read when it is opened. */
function readDetail(f) {
	return JSON.parse(document.getElementById(`detail-${f.index}`).textContent);
}

/* Bytes that moved at a level ("L1": loads and stores) in a direction; null where that is not known. */
function bytesAt(f, level, direction) {
	const row = f.levels && f.levels.find(row => row.level === level);
	if (!row && level !== "L1")
		return null;
	const read = row ? row.read_bytes : f.load_bytes, write = row ? row.write_bytes : f.store_bytes;
	return direction === "read" ? read : direction === "write" ? write : read + write;
}

/* Flop per byte, Infinity where nothing moved, null where that is not known. */
function intensityAt(f, level, direction) {
	const bytes = bytesAt(f, level, direction);
	return bytes === null ? null : bytes > 0 ? f.flop / bytes : Infinity;
}

/* What the plot counts: flop per byte and second, or instructions, which every program has. */
const PLANES = {
	flop: {text: "flop", unit: "GFLOP/s", per: "flop"},
	instructions: {text: "instructions", unit: "Ginstructions/s", per: "instructions"},
};

/* The plane that shows most time as points. */
function planeOf(profile) {
	const placed = profile.functions.filter(f => f.point_unit);
	const sum = rows => rows.reduce((all, f) => all + f.time_s, 0);
	const flop = sum(placed.filter(f => f.point_unit === "GFLOP/s"));
	return placed.some(f => f.instructions > 0) && flop < 0.25 * sum(placed) ? "instructions" : "flop";
}

/* By its instructions: per byte, and per second. */
function placeByInstructions(f, level, direction) {
	const bytes = bytesAt(f, level, direction);
	if (bytes === null || !(f.instructions > 0) || !(f.elapsed_s > 0) || !f.point_unit)
		return null;
	return {strip: false, x: bytes > 0 ? f.instructions / bytes : Infinity, y: f.instructions / f.elapsed_s * 1e-9};
}

/* Where it stands: in the plot (flop per byte, GFLOP/s), in the strip (share of its roof), or nowhere (null). */
function placeOf(f, level, direction, plane = "flop") {
	if (plane === "instructions")
		return placeByInstructions(f, level, direction);
	if (f.point_unit === "GFLOP/s") {
		const x = intensityAt(f, level, direction);
		return x === null || !(f.gflops > 0) ? null : {strip: false, x, y: f.gflops};
	}
	return known(f.distance) && f.distance > 0 ? {strip: true, x: 1 / f.distance} : null;
}

/* The levels that there are roofs or points of. */
function levelsOf(profile) {
	const measured = new Set(profile.bandwidths.map(row => row.level));
	return LEVELS.filter(level => profile.traced ? measured.has(level) ||
		profile.functions.some(f => f.levels && f.levels.some(row => row.level === level)) : level === "L1");
}

function bandwidthOf(profile, level, direction, threads) {
	return profile.bandwidths.find(row => row.level === level && row.direction === direction && row.threads === threads) || null;
}

/* The lines of bandwidths: {level, rate, text, chosen}, `style` where it is no roof.  Those that are drawn are of the
 * direction's mix; beside the chosen one stand reading alone, and theory where it is known. */
function roofsOf(profile, levels, {level: chosen, direction, threads}) {
	const roofs = [];
	for (const level of levels) {
		const row = bandwidthOf(profile, level, direction, threads), reading = bandwidthOf(profile, level, "read", threads);
		if (row)
			roofs.push({level, rate: row.gbytes_per_s, text: `${level}, ${row.mix}`, chosen: level === chosen});
		if (level !== chosen || !row || !reading)
			continue;
		const same = isAsMeasured(reading.theory, reading.gbytes_per_s);
		if (reading.gbytes_per_s < row.gbytes_per_s)
			roofs.push({level, rate: reading.gbytes_per_s, text: `${level}, ${reading.mix}`, chosen: false, style: "ceiling", note: same ? " (= theory)" : ""});
		else if (same)
			roofs[roofs.length - 1].note = " (= theory)";
		if (known(reading.theory) && !same)
			roofs.push({level, rate: reading.theory, text: `${level}${level === "DRAM" ? "" : " reading"}, theory`, chosen: false, style: "theory"});
	}
	return roofs;
}

/* Then it needs no line of its own. */
function isAsMeasured(theory, measured) {
	return known(theory) && Math.abs(theory - measured) <= 0.03 * measured;
}

/* The lines that found no room for their label, and what theory is not known of, in words. */
function linesText(marks, unplaced) {
	const has = drawn => !drawn.length || drawn.some(line => line.style === "theory" || (line.note || "").includes("= theory"));
	const lacking = [!marks.byFlop || has(marks.peaks) ? null : "arithmetic", has(marks.roofs) ? null : "this level's bandwidth"].filter(Boolean);
	return [unplaced.length ? `Lines without a label: ${unplaced.join("; ")}.` : null,
		lacking.length ? `Theory is not known here of ${lacking.join(" and ")}.` : null].filter(Boolean).join(" ");
}

const PRECISION_SHORT = {double: "DP", single: "SP"};
const OP_NAMES = {fma: "FMA", add: "add", mul: "multiply"};

/* The highest rate at that many threads, then the ceilings beneath it: {rate, text, top}. */
function peaksOf(profile, precision, threads) {
	const peak = profile.peaks.find(row => row.precision === precision && row.threads === threads);
	if (!peak)
		return [];
	const short = PRECISION_SHORT[precision] || precision;
	const found = [{rate: peak.gflops, top: true, text: `${peak.isa_name} ${OP_NAMES[peak.op] || peak.op}, ${short}`,
		note: (known(peak.per_cycle) ? `, ${significant(peak.per_cycle)} a cycle` : "") + (isAsMeasured(peak.theory, peak.gflops) ? " (= theory)" : "")}];
	const rows = profile.machine.roofs.filter(row => row.kind === "compute" && row.precision === precision &&
		row.threads === threads && row.memory_node === null);
	const best = (isa, op) => rows.filter(row => row.isa === isa && row.op === op).reduce((most, row) => Math.max(most, row.best), 0);
	const ceilings = [[peak.isa, "add", `${peak.isa_name} without FMA`], ["scalar", "fma", "scalar FMA"],
		["scalar", "add", "scalar without FMA"]];
	for (const [isa, op, text] of ceilings) {
		const rate = best(isa, op);
		if (rate > 0 && rate < 0.9 * found[found.length - 1].rate)
			found.push({rate, top: false, text});
	}
	if (known(peak.theory) && !isAsMeasured(peak.theory, peak.gflops))
		found.push({rate: peak.theory, top: false, text: "theory", style: "theory"});
	return found;
}

/* What a processor can issue at most, as the only flat roof of that plane. */
function issueRoofs(profile, threads) {
	const {issue_width: width, clock_ghz: clock} = profile.machine;
	return known(width) && known(clock) ? [{rate: width * clock * threads, top: true, text: `issue, ${significant(width)} a cycle`}] : [];
}

/* Functions of the earlier profile by module and name. */
function matchFunctions(profile, other) {
	const key = f => `${f.module}\n${f.name}\n${f.bound === "uncounted"}`;
	const byKey = new Map(other.functions.map(f => [key(f), f]));
	for (const f of profile.functions) {
		f.before = byKey.get(key(f)) || null;
		byKey.delete(key(f));
	}
	return [...byKey.values()].filter(f => f.time_s > 0);
}

/* Functions that pass the filters, in the order asked for. */
function chosenFunctions(profile, state) {
	const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
	const rows = profile.functions.filter(f =>
		words.every(word => f.search.includes(word)) && (!state.module || f.module === state.module) &&
		(!state.bound || boundOf(f) === state.bound) && !(f.share < state.least) &&
		(state.untimed || f.time_s > 0));
	const column = COLUMNS.find(column => column.key === state.sort);
	if (!column)
		return rows;
	const missing = value => value === null || value === undefined || Number.isNaN(value);
	const keyed = rows.map(f => [column.value(f, state), f]);
	const sign = state.descending ? -1 : 1;
	keyed.sort(([a, f], [b, g]) => {
		if (missing(a) || missing(b))
			return missing(a) - missing(b) || f.index - g.index;
		const order = typeof a === "string" ? a.localeCompare(b) : a - b;
		return sign * order || f.index - g.index;
	});
	return keyed.map(([, f]) => f);
}
