/* The page: what is chosen, and who draws it anew. */

class App {
	constructor(holder) {
		this.holder = holder;
		this.profile = readProfile("data");
		this.other = readProfile("other");
		this.gone = this.other ? matchFunctions(this.profile, this.other) : [];
		this.levels = levelsOf(this.profile);
		this.calls = readCalls(this.profile);
		this.paths = this.calls && this.calls.steps.length ? new CallPaths(this.calls) : null;
		this.state = {plane: planeOf(this.profile), level: this.profile.level || "L1", direction: "both", threads: this.profile.roof_threads || 1,
			query: "", module: "", bound: "", least: 0, untimed: !this.profile.functions.some(f => f.time_s > 0),
			sort: "rank", descending: false};
		this.list = element("main", {id: "list"});
		this.page = element("main", {id: "page", hidden: true});
		holder.append(this.list, this.page, this.tooltip = element("div", {id: "tip", role: "status", hidden: true}));
		this.build();
		this.listen();
		document.getElementById("static").hidden = true;
		holder.hidden = false;
		this.refresh();
		this.route();
	}

	/* ---- what does not change ---- */

	build() {
		const {profile} = this;
		this.plotHolder = element("div", {class: "plot"});
		this.tableHolder = element("div", {class: "table-holder"});
		this.count = element("p", {class: "note", id: "count", role: "status"});
		this.list.append(...[this.heading(), accountSection(profile), this.worst(), element("section", {class: "picture", "aria-label": "Roofline"},
			this.controls(), this.plotHolder, this.legend()),
		element("section", {"aria-label": "Functions"}, this.filters(), this.tableHolder, this.count), document.getElementById("ranks"), kernelsSection(profile), this.paths && this.paths.section, potentialsSection(profile), levelsSection(this.profile), this.goneList(), this.about()].filter(Boolean));
		this.plot = new Roofline(this.plotHolder, {name: "list", title: `Roofline of ${profile.title}`, zoom: true,
			height: width => Math.min(520, Math.max(330, width * 0.52)), labels: width => width < 560 ? 6 : 16,
			hover: (point, event) => this.hover(point, event), choose: point => { location.hash = `f${point.index}`; }});
		this.table = new FunctionTable(this.tableHolder, this);
	}

	heading() {
		const {run, machine, title} = this.profile;
		const wall = run.repeated ? run.repeated.wall_s.median : run.wall_s;
		const words = [run.repeated ? `${run.repeated.runs} runs` : null,
			known(wall) ? `${formatSeconds(wall)} wall` : null, `${formatSeconds(run.cpu_time_s)} processor time${run.repeated ? runsText(run.repeated.cpu_time_s) : ""}`,
			run.threads ? `${run.threads} thread${run.threads === 1 ? "" : "s"}` : null, machine.cpu_model, (run.date || "").slice(0, 10)];
		return element("header", {class: "top"}, element("div", {}, element("h1", {}, shortenMiddle(title.split("/").pop() || title, 60)),
			element("p", {class: "note"}, words.filter(Boolean).map(word => shortenMiddle(word, 80)).join(" · ")),
			this.other ? element("p", {class: "note"}, `Compared with ${shortenMiddle(this.other.title.split("/").pop(), 80)}, ${(this.other.run.date || "").slice(0, 16).replace("T", " ")}; arrows lead from there to here.`) : null),
		this.themeButton());
	}

	themeButton() {
		const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
		const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
		const button = element("button", {type: "button", id: "theme", click: () => {
			root.dataset.theme = isDark() ? "light" : "dark";
			name();
		}});
		const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
		dark.addEventListener("change", name);
		name();
		return button;
	}

	/* What it is, what holds it, and what one would try: of what could save a hundredth of the time. */
	worst() {
		const least = this.profile.functions.reduce((sum, f) => sum + (f.time_s || 0), 0) / 100;
		const first = this.profile.functions.filter(f => f.headroom_s > least).sort((a, b) => b.headroom_s - a.headroom_s).slice(0, 3);
		if (!first.length)
			return null;
		return element("section", {class: "worst"}, element("h2", {}, "Most to gain"), element("ol", {}, ...first.map(f =>
			element("li", {}, boundMark(f), element("div", {}, element("a", {href: `#f${f.index}`}, shortenMiddle(f.name, 60)),
				element("span", {class: "note"}, ` ${formatShare(f.share)} of the time, at ${percentText(f)} of its roof, ${boundPhrase(f)}: up to `),
				element("b", {}, formatSeconds(f.headroom_s)),
				f.why ? element("p", {}, element("b", {}, f.held_back_by || "below its roof"), `: ${whyText(f)}`) : null,
				f.try ? element("p", {class: "try"}, element("b", {}, "try: "), f.try) : null)))));
	}

	choice(title, name, values, current, set) {
		const group = element("fieldset", {class: "choice"}, element("legend", {}, title));
		for (const [value, text, help] of values)
			group.append(element("label", {title: help}, element("input", {type: "radio", name, value, checked: value === current,
				change: () => { set(value); this.refresh(); }}), element("span", {}, text)));
		return group;
	}

	controls() {
		const {state, profile, levels} = this;
		const bar = element("div", {class: "controls"});
		if (profile.functions.some(f => f.flop > 0) && profile.functions.some(f => f.instructions > 0))
			bar.append(this.choice("Work in", "plane", Object.entries(PLANES).map(([plane, {text}]) => [plane, text]), state.plane, value => { state.plane = value; }));
		if (levels.length)
			bar.append(this.choice("Bytes at", "level", levels.map(level => [level, level, level === "L1" ? "what is loaded and stored" :
				`what moves to and from ${level === "DRAM" ? "memory" : level}`]), state.level, value => { state.level = value; }));
		bar.append(this.choice("that are", "direction", [["both", "moved"], ["read", "read"], ["write", "written"]], state.direction, value => { state.direction = value; }));
		if (profile.threadCounts.length > 1)
			bar.append(this.choice("Roofs of", "threads", profile.threadCounts.map(n => [n, n === 1 ? "1 thread" : String(n)]), state.threads, value => { state.threads = value; }));
		const svg = () => this.plot.svg.node();
		bar.append(element("div", {class: "buttons"},
			element("button", {type: "button", title: "Zoom in (also Ctrl and wheel; drag to move)", "aria-label": "Zoom in", click: () => this.plot.scaleZoom(1.6)}, "+"),
			element("button", {type: "button", "aria-label": "Zoom out", click: () => this.plot.scaleZoom(1 / 1.6)}, "−"),
			element("button", {type: "button", click: () => this.plot.resetZoom()}, "Reset"),
			element("button", {type: "button", id: "save-svg", click: () => saveSvg(svg(), profile.title)}, "SVG"),
			element("button", {type: "button", id: "save-png", click: () => savePng(svg(), profile.title)}, "PNG")));
		return bar;
	}

	legend() {
		const present = Object.keys(BOUNDS).filter(bound => this.profile.functions.some(f => boundOf(f) === bound && f.time_s > 0 && f.point_unit));
		return element("p", {class: "legend"}, element("span", {}, "Bound by"), ...present.map(bound =>
			element("span", {title: BOUNDS[bound].means}, boundMark({bound}), BOUNDS[bound].label)),
		element("span", {class: "note"}, "Area: time. Right of the dotted line: (almost) nothing moved at this level. The thick line: what the level moves at most, by its fastest mix of reads and writes; point at a function to see the roof of its own mix."),
		this.profile.functions.some(f => f.above_roof) ? element("span", {class: "fault"}, "Ring, !: above its roof; its page says why.") : null,
		this.lines = element("span", {class: "note"}));
	}

	filters() {
		const {state, profile} = this;
		const modules = [...new Set(profile.functions.filter(f => f.time_s > 0).map(f => f.module))].sort();
		const bounds = Object.keys(BOUNDS).filter(bound => profile.functions.some(f => boundOf(f) === bound));
		const options = (all, values) => [element("option", {value: ""}, all), ...values.map(([value, text]) => element("option", {value}, text))];
		const changed = name => event => { state[name] = event.target.value; this.refresh(); };
		this.search = element("input", {type: "search", id: "search", placeholder: "Search functions  /", "aria-label": "Search functions", input: changed("query")});
		return element("div", {class: "filters"}, this.search,
			element("select", {id: "module", "aria-label": "Module", change: changed("module")}, ...options("All modules", modules.slice(0, 500).map(name => [name, shortenMiddle(name, 40)]))),
			element("select", {id: "bound", "aria-label": "Bound by", change: changed("bound")}, ...options("Any bound", bounds.map(bound => [bound, BOUNDS[bound].label]))),
			element("label", {}, "at least ", element("select", {id: "least", "aria-label": "Least share of the time",
				change: event => { state.least = +event.target.value; this.refresh(); }},
			...[[0, "any share"], [0.001, "0.1 %"], [0.01, "1 %"], [0.05, "5 %"]].map(([value, text]) => element("option", {value}, text)))),
			element("label", {}, element("input", {type: "checkbox", id: "untimed", checked: state.untimed,
				change: event => { state.untimed = event.target.checked; this.refresh(); }}), " without samples too"));
	}

	goneList() {
		if (!this.gone.length)
			return null;
		return element("details", {}, element("summary", {}, `${this.gone.length} functions only in the earlier profile`), element("ul", {},
			...this.gone.slice(0, 200).map(f => element("li", {}, `${shortenMiddle(f.name, 80)} (${shortenMiddle(f.module, 40)}): ${formatSeconds(f.time_s)}`))));
	}

	about() {
		const {run, machine} = this.profile;
		const facts = [["command", run.command], ["time from", run.time_source], ["work from", run.work_source], ["traffic", run.traffic.source],
			["caches", run.traffic.geometry], ["processor", machine.cpu_model], ["microarchitecture", machine.microarchitecture],
			["kernel", machine.kernel], ["rfprof", run.rfprof_version]];
		return element("details", {class: "about"}, element("summary", {}, `About this measurement (${run.notes.length} notes)`),
			element("ul", {}, ...run.notes.map(note => element("li", {}, shortenMiddle(note, 600)))),
			element("dl", {}, ...facts.filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, shortenMiddle(String(value), 300))))),
			element("p", {class: "note"}, "Keys: / search, ↑ ↓ functions, Enter open, Esc back."));
	}

	/* ---- what does ---- */

	sortBy(column) {
		const {state} = this;
		state.descending = state.sort === column.key ? !state.descending : column.first !== "up";
		state.sort = column.key;
		this.refresh();
	}

	marks(rows) {
		const {state, profile, levels} = this;
		const points = [], links = [], byFlop = state.plane === "flop";
		for (const f of rows) {
			const place = placeOf(f, state.level, state.direction, state.plane);
			if (!place)
				continue;
			points.push({index: f.index, label: f.name, place, bound: boundOf(f), weight: f.time_s, above: f.above_roof,
				roof: byFlop ? f.roof_gflops : place.y * f.distance});
			const before = f.before && placeOf(f.before, state.level, state.direction, state.plane);
			if (before && before.strip === place.strip && links.length < 60)
				links.push({from: before, to: place, style: "arrow", weight: f.time_s});
		}
		points.sort((a, b) => b.weight - a.weight);
		const what = state.level === "L1" ? {both: "loaded or stored", read: "loaded", write: "stored"}[state.direction] :
			`${{both: "moved to or from", read: "read from", write: "written to"}[state.direction]} ${state.level === "DRAM" ? "memory" : state.level}`;
		return {points, links, byFlop, roofs: roofsOf(profile, levels, state), unit: PLANES[state.plane].unit,
			peaks: byFlop ? peaksOf(profile, profile.main_precision, state.threads) : issueRoofs(profile, state.threads),
			xLabel: `${PLANES[state.plane].per} per byte ${what}`};
	}

	refresh() {
		const rows = chosenFunctions(this.profile, this.state);
		const start = performance.now();
		const marks = this.marks(rows);
		this.plot.show(marks);
		this.lines.textContent = linesText(marks, this.plot.unplaced);
		this.table.show(rows);
		const hidden = this.profile.functions.length - rows.length;
		this.count.textContent = `${rows.length} function${rows.length === 1 ? "" : "s"}${hidden ? `, ${hidden} not shown` : ""}`;
		this.took = performance.now() - start;
	}

	mark(index) {
		this.plot.mark(index);
	}

	hover(point, event) {
		this.tooltip.hidden = !point;
		this.mark(point ? point.index : -1);
		if (!point)
			return;
		const f = this.profile.functions[point.index];
		const {plane} = this.state;
		this.tooltip.replaceChildren(element("b", {}, shortenMiddle(f.name, 60)), element("span", {}, `${formatSeconds(f.time_s)} · ${formatShare(f.share)} of the time`),
			element("span", {}, point.place.strip ? `${rateText(f)}, roof ${significant(f.roof)}` :
				`${significant(point.place.y)} ${PLANES[plane].unit} at ${intensityText(point.place.x)} ${PLANES[plane].per} per byte`),
			element("span", {}, `${boundPhrase(f)}, at ${percentText(f)} of its roof`), element("span", {}, shortenMiddle(whyText(f), 160)));
		const x = Math.min(event.pageX + 14, document.documentElement.scrollWidth - this.tooltip.offsetWidth - 8);
		this.tooltip.style.left = `${Math.max(8, x)}px`;
		this.tooltip.style.top = `${event.pageY + 16}px`;
	}

	drawPaths() {
		if (this.paths && this.page.hidden)
			this.paths.draw();
	}

	/* ---- which page ---- */

	route() {
		const match = /^#f(\d+)$/.exec(location.hash);
		const f = match ? this.profile.functions[+match[1]] : null;
		this.tooltip.hidden = true;
		this.page.hidden = !f;
		this.list.hidden = Boolean(f);
		this.pagePlot = f ? showFunction(this.page, f, this) : null;
		if (f) {
			this.last = f.index;
			scrollTo(0, 0);
			this.page.querySelector("h1").focus({preventScroll: true});
		} else {
			this.plot.draw();
			this.drawPaths();
			const link = this.last === undefined ? null : this.table.body.querySelector(`tr[data-index="${this.last}"] a`);
			if (link)
				link.focus();
		}
	}

	key(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const typing = event.target.matches("input[type=search], select");
		const choosing = event.target.matches("input[type=radio]");
		if (event.key === "Escape" && !this.page.hidden) {
			location.hash = "";
		} else if (event.key === "Escape") {
			this.search.value = this.state.query = "";
			this.search.blur();
			this.refresh();
		} else if (event.key === "/" && !typing && this.page.hidden) {
			event.preventDefault();
			this.search.focus();
		} else if (/^Arrow(Up|Down)$/.test(event.key) && this.page.hidden && !choosing && !event.target.matches("select")) {
			event.preventDefault();
			this.table.step(event.key === "ArrowUp" ? -1 : 1);
		} else if (event.key === "Enter" && event.target === this.search) {
			const first = this.table.body.querySelector("th a");
			if (first)
				first.focus();
		}
	}

	listen() {
		addEventListener("hashchange", () => this.route());
		document.addEventListener("keydown", event => this.key(event));
		let width = innerWidth;
		addEventListener("resize", () => {
			if (innerWidth === width)
				return;
			width = innerWidth;
			if (this.pagePlot)
				this.pagePlot.draw();
			else if (this.page.hidden)
				this.plot.draw();
			this.drawPaths();
		});
		const print = matchMedia("print");
		print.addEventListener("change", () => (this.pagePlot || this.plot).draw());
	}
}

globalThis.rfprof = new App(document.getElementById("app"));
