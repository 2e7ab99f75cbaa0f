/* Call paths: the flame graph of the list, and who calls whom for a function's own page. */

const STEP_FIELDS = ["caller", "function", "all_ns", "own_ns"];
const LEAST_FRAME = 3; /* pixels */

/* Steps by their callers, each with its function (null where that is not in the list) and its name. */
function readCalls(profile) {
	const holder = document.getElementById("calls");
	if (!holder)
		return null;
	const data = JSON.parse(holder.textContent);
	const steps = data.steps.map(row => {
		const step = withFields(row, STEP_FIELDS);
		const f = typeof step.function === "number" ? profile.functions[step.function] : null;
		return {f, name: f ? f.name : step.function, caller: step.caller === null ? null : step.caller, value: step.all_ns, own: step.own_ns, children: []};
	});
	const roots = [];
	for (const step of steps) {
		step.caller = step.caller === null ? null : steps[step.caller];
		(step.caller ? step.caller.children : roots).push(step);
	}
	const whole = roots.reduce((sum, step) => sum + step.value, 0);
	return {steps, roots, whole, isCut: data.least_ns > 1};
}

/* Whether a step's function is on the way to it already. */
function isWithin(step) {
	for (let at = step.caller; at; at = at.caller)
		if (at.f === step.f)
			return true;
	return false;
}

function sumByName(parts) {
	const sums = new Map();
	for (const {step, ns} of parts) {
		const key = step ? step.f || step.name : null;
		const sum = sums.get(key) || {step, ns: 0};
		sum.ns += ns;
		sums.set(key, sum);
	}
	return [...sums.values()].filter(sum => sum.ns > 0).sort((a, b) => b.ns - a.ns);
}

function stepName(step) {
	if (!step)
		return "(nothing known: start-up code, or a stack that could not be followed)";
	const name = shortenMiddle(step.name, 60);
	return step.f ? element("a", {href: `#f${step.f.index}`}, name) : name;
}

/* Time of its own by who called it; time of what it calls by that; and both together. */
function callsOf(f, calls) {
	const own = calls.steps.filter(step => step.f === f);
	return {callers: sumByName(own.map(step => ({step: step.caller, ns: step.own}))),
		callees: sumByName(own.flatMap(step => step.children.map(child => ({step: child, ns: child.value})))),
		all: own.filter(step => !isWithin(step)).reduce((sum, step) => sum + step.value, 0)};
}

function callTable(title, rows) {
	const sum = rows.reduce((all, row) => all + row.ns, 0);
	return rows.length ? element("div", {}, plainTable("", [{title, word: true}, {title: "time"}, {title: "%"}], rows.slice(0, 10).map(row =>
		[stepName(row.step), formatSeconds(row.ns * 1e-9), formatShare(row.ns / sum)])),
	rows.length > 10 ? element("p", {class: "note"}, `and ${rows.length - 10} more`) : null) : null;
}

function pageCalls(f, calls) {
	if (!calls)
		return null;
	const {callers, callees, all} = callsOf(f, calls);
	if (!callers.length && !callees.length)
		return null;
	return section("Calls", element("p", {class: "note"}, `With all that it calls it takes ${formatSeconds(all * 1e-9)}, ${formatShare(all / calls.whole)} of all time.`),
		element("div", {class: "columns"}, callTable("time of its own, called by", callers), callTable("time of what it calls", callees)));
}

/* ---- the flame graph ---- */

class CallPaths {
	constructor(calls) {
		this.calls = calls;
		this.holder = element("div", {class: "flame"});
		this.said = element("p", {class: "note", role: "status"});
		this.search = element("input", {type: "search", id: "search-paths", placeholder: "Search paths", "aria-label": "Search call paths",
			input: () => this.find()});
		const reset = element("button", {type: "button", id: "whole", click: () => this.whole()}, "Whole program");
		this.section = element("section", {"aria-label": "Call paths", class: "calls"}, element("h2", {}, "Call paths"),
			element("div", {class: "filters"}, this.search, reset), this.said, this.holder,
			element("p", {class: "note"}, "A function's width is its time with all that it calls; below it stands what it calls. A click shows that path alone.",
				calls.isCut ? " The paths with least time are left out." : ""));
		this.tell(null);
	}

	/* Once it has its place in the page. */
	draw() {
		const width = this.holder.clientWidth;
		if (!width || width === this.width)
			return;
		this.width = width;
		if (this.chart) {
			this.chart.width(width).update();
			return;
		}
		this.chart = d3.flamegraph().width(width).cellHeight(19).inverted(true).transitionDuration(0).minFrameSize(LEAST_FRAME)
			.resetHeightOnZoom(true).getName(node => node.data.name).setLabelHandler(node => this.label(node))
			.setColorMapper(node => node.highlight ? "var(--found)" : node.data.f ? `var(--bound-${boundOf(node.data.f)})` : "var(--other)")
			.setSearchMatch((node, term) => node.data.name.toLowerCase().includes(term)).setSearchHandler((found, sum) => this.tellFound(found, sum))
			.setDetailsHandler(() => {}).onClick(node => this.tell(node.data));
		const {roots, whole} = this.calls;
		d3.select(this.holder).datum({name: "all", f: null, value: whole, children: roots}).call(this.chart);
	}

	label(node) {
		return `${shortenMiddle(node.data.name, 300)}\n${formatSeconds(node.data.value * 1e-9)}, ${formatShare(node.data.value / this.calls.whole)}`;
	}

	whole() {
		this.search.value = "";
		if (!this.chart)
			return;
		this.chart.clear();
		this.chart.resetZoom();
		this.tell(null);
	}

	tell(step) {
		this.said.replaceChildren(...!step || step.name === "all" && !step.f ? [`All: ${formatSeconds(this.calls.whole * 1e-9)}`] :
			[stepName(step), `: ${formatSeconds(step.value * 1e-9)}, ${formatShare(step.value / this.calls.whole)} of all time`]);
	}

	find() {
		const words = this.search.value.trim().toLowerCase();
		if (!this.chart)
			return;
		if (words)
			this.chart.search(words);
		else
			this.chart.clear();
		if (!words)
			this.tell(null);
	}

	tellFound(found, sum) {
		this.said.textContent = `${found.length} found: ${formatSeconds(sum * 1e-9)}, ${formatShare(sum / this.calls.whole)} of all time`;
	}
}
