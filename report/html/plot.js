/* The roofline as an interactive SVG: roofs, ceilings, a point per function; the same drawing serves the list and,
 * with a point at every level, a function's own page. */

const PLOT = {left: 62, right: 26, top: 14, bottom: 46, gutter: 34, strip: 62, stripGap: 40};
const IN_CACHE = 1e4; /* above this many flop per byte the bytes do not matter */

function tickText(value) {
	return value >= 0.0009 && value < 2e6 ? String(+value.toPrecision(6)) : value.toExponential(0);
}

function isDecade(value) {
	return Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-6;
}

/* A range around the values, with room for labels. */
function around(values, least, most) {
	let low = least, high = most;
	for (const value of values)
		if (value > 0 && Number.isFinite(value)) {
			low = Math.min(low, value / 2);
			high = Math.max(high, value * 2);
		}
	return [low, high];
}

class Roofline {
	/* holder: an element; marks(): what to draw, {roofs, peaks, points, links, chosen}, see main.js. */
	constructor(holder, options) {
		this.holder = holder;
		this.options = options;
		this.transform = d3.zoomIdentity;
		this.svg = d3.select(holder).append("svg").attr("class", "roofline").attr("role", "img")
			.attr("font-family", "system-ui, sans-serif").attr("font-size", 12);
		this.svg.append("title").text(options.title);
		/* Points stay from one drawing to the next; what is below and above them is made anew. */
		this.under = this.svg.append("g");
		this.points = this.svg.append("g").attr("class", "points");
		this.over = this.svg.append("g");
		if (options.hover)
			this.points.on("pointerover", event => options.hover(event.target.point, event))
				.on("pointerout", () => options.hover(null))
				.on("click", event => options.choose(event.target.point));
		this.zoom = d3.zoom().scaleExtent([1, 40])
			.filter(event => event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button)
			.on("zoom", event => {
				this.transform = event.transform;
				this.draw();
			});
		if (options.zoom)
			this.svg.call(this.zoom).on("dblclick.zoom", null);
	}

	show(marks) {
		this.marks = marks;
		this.draw();
	}

	resetZoom() {
		this.svg.call(this.zoom.transform, d3.zoomIdentity);
	}

	scaleZoom(factor) {
		this.svg.call(this.zoom.scaleBy, factor);
	}

	/* ---- frame ---- */

	measure() {
		const {marks} = this;
		this.width = Math.max(300, this.holder.clientWidth || 900);
		const hasStrip = marks.points.some(point => point.place.strip);
		const plotHeight = this.options.height(this.width);
		this.bottom = plotHeight - PLOT.bottom;
		this.right = this.width - PLOT.right - PLOT.gutter;
		this.stripTop = plotHeight + PLOT.stripGap - 12;
		this.height = hasStrip ? this.stripTop + PLOT.strip + 28 : plotHeight;
		this.hasStrip = hasStrip;
		const inPlot = marks.points.filter(point => !point.place.strip);
		const ridges = marks.roofs.filter(roof => !roof.style).map(roof => marks.peaks.length ? marks.peaks[0].rate / roof.rate : 0);
		const xs = [...inPlot.map(point => point.place.x).filter(x => x <= IN_CACHE), ...ridges.flatMap(x => [x / 4, x * 2])].filter(x => x > 0);
		const [x0, x1] = around(xs, xs.length ? Infinity : 0.03, xs.length ? 0 : 20);
		const rates = marks.peaks.filter(peak => peak.top || peak.style).map(peak => peak.rate);
		const [y0, y1] = around([...inPlot.map(point => point.place.y), ...rates], rates.length ? rates[0] / 50 : 0.1, rates.length ? rates[0] * 1.3 : 100);
		const base = {x: d3.scaleLog([x0, x1], [PLOT.left, this.right]), y: d3.scaleLog([y0, y1], [this.bottom, PLOT.top])};
		this.x = this.transform.rescaleX(base.x);
		this.y = this.transform.rescaleY(base.y);
		const shares = marks.points.filter(point => point.place.strip).map(point => point.place.x);
		const least = Math.min(0.1, ...shares), most = Math.max(...shares, 1);
		this.share = d3.scaleLog([10 ** Math.floor(Math.log10(Math.max(least, 1e-6))), most > 1 ? 1.6 * most : 1],
			[PLOT.left, this.right + PLOT.gutter]).clamp(true);
		this.zoom.translateExtent([[PLOT.left, PLOT.top], [this.right, this.bottom]])
			.extent([[PLOT.left, PLOT.top], [this.right, this.bottom]]);
	}

	position(place) {
		if (place.strip)
			return [this.share(place.x), this.stripTop + PLOT.strip / 2];
		const x = place.x > IN_CACHE ? this.right + PLOT.gutter / 2 : this.x(place.x);
		return [x, this.y(place.y)];
	}

	isInside([x, y], place) {
		return place.strip || (place.x > IN_CACHE || (x >= PLOT.left && x <= this.right)) && y >= PLOT.top - 1 && y <= this.bottom + 1;
	}

	drawAxis(name, axis, move) {
		const group = this.layer.append("g").attr("class", `axis ${name}`).attr("transform", move);
		group.call(axis.offset(0)); /* a tick stands where its value is */
		group.selectAll(".tick").attr("data-value", value => value);
		group.selectAll(".tick line").attr("class", value => isDecade(value) ? "decade" : "minor");
		/* d3 sets these for its own fonts */
		group.attr("font-family", null).attr("font-size", null);
		return group;
	}

	drawAxes() {
		const span = scale => Math.abs(Math.log10(scale.domain()[1] / scale.domain()[0]));
		const narrow = this.width < 560;
		const format = scale => value => isDecade(value) && (!narrow || span(scale) < 6 || Math.round(Math.log10(value)) % 2 === 0) ||
			span(scale) < 1.5 && /^[25]/.test(value.toExponential()) ? tickText(value) : "";
		const beforeGutter = format(this.x);
		this.drawAxis("x", d3.axisBottom(this.x).ticks(20, value => this.x(value) < this.right - 8 ? beforeGutter(value) : "").tickSize(-(this.bottom - PLOT.top)).tickPadding(8), `translate(0,${this.bottom})`);
		this.drawAxis("y", d3.axisLeft(this.y).ticks(20, format(this.y)).tickSize(-(this.right + PLOT.gutter - PLOT.left)).tickPadding(6), `translate(${PLOT.left},0)`);
		const rect = this.layer.append("rect").attr("class", "frame").attr("x", PLOT.left).attr("y", PLOT.top);
		rect.attr("width", this.right + PLOT.gutter - PLOT.left).attr("height", this.bottom - PLOT.top);
		this.layer.append("line").attr("class", "gutter").attr("x1", this.right).attr("x2", this.right).attr("y1", PLOT.top).attr("y2", this.bottom);
		this.text(this.right + PLOT.gutter / 2, this.bottom + 21, "∞", "middle", "infinity");
		this.text((PLOT.left + this.right) / 2, this.bottom + 40, this.marks.xLabel, "middle", "axis-label");
		this.text(0, 0, `performance, ${this.marks.unit}`, "middle", "axis-label").attr("transform", `translate(15,${(PLOT.top + this.bottom) / 2}) rotate(-90)`);
	}

	text(x, y, content, anchor, style) {
		return this.layer.append("text").attr("class", style).attr("x", x).attr("y", y).attr("text-anchor", anchor).text(content);
	}

	drawStrip() {
		const top = this.stripTop, bottom = top + PLOT.strip;
		this.text(PLOT.left, top - 8, this.width < 560 ? "Without flop: share of their roof" :
			"Functions without flop: the share of their bandwidth or issue roof that they reach", "start", "axis-label");
		const rect = this.layer.append("rect").attr("class", "frame").attr("x", PLOT.left).attr("y", top);
		rect.attr("width", this.right + PLOT.gutter - PLOT.left).attr("height", PLOT.strip);
		const axis = d3.axisBottom(this.share).ticks(6, value => isDecade(value) ? `${tickText(100 * value)} %` : "").tickSize(-PLOT.strip).tickPadding(8);
		this.drawAxis("share", axis, `translate(0,${bottom})`);
		this.line(this.layer, this.share(1), top, this.share(1), bottom, "roof other");
	}

	/* ---- roofs ---- */

	line(layer, x1, y1, x2, y2, style) {
		return layer.append("line").attr("class", style).attr("x1", x1).attr("y1", y1).attr("x2", x2).attr("y2", y2);
	}

	drawRoofs(layer) {
		const {roofs, peaks} = this.marks;
		const top = peaks.length ? peaks[0].rate : this.y.domain()[1];
		const end = this.right + PLOT.gutter;
		const steepest = roofs.filter(roof => !roof.style).reduce((most, roof) => Math.max(most, roof.rate), 0);
		for (const peak of peaks) {
			const from = steepest > 0 ? Math.max(PLOT.left, this.x(peak.rate / (peak.top ? Math.max(...roofs.filter(roof => roof.chosen).map(roof => roof.rate), 0) || steepest : steepest))) : PLOT.left;
			if (this.marks.roofs.some(roof => roof.chosen) && peak.top)
				this.line(layer, Math.max(PLOT.left, this.x(peak.rate / steepest)), this.y(peak.rate), from, this.y(peak.rate), "roof other");
			this.line(layer, Math.min(from, end), this.y(peak.rate), end, this.y(peak.rate), peak.top ? "roof chosen" : peak.style || "ceiling")
				.attr("data-rate", peak.rate);
		}
		const left = this.x.domain()[0] / 10;
		for (const roof of roofs)
			this.line(layer, this.x(left), this.y(left * roof.rate), this.x(top / roof.rate), this.y(top),
				roof.style || (roof.chosen ? "roof chosen" : "roof other")).attr("data-level", roof.level).attr("data-rate", roof.rate);
	}

	/* Along the slope, as far left as its line is in the picture; flats at the right end. */
	labelRoofs(taken) {
		const {roofs, peaks} = this.marks;
		const top = peaks.length ? peaks[0].rate : this.y.domain()[1];
		const labels = [];
		this.unplaced = [];
		/* where theory is right above a line, the label of this stands below it */
		const crowded = peak => peaks.some(other => other.style === "theory" && other !== peak &&
			this.y(peak.rate) - this.y(other.rate) > -3 && this.y(peak.rate) - this.y(other.rate) < 20);
		for (const peak of peaks)
			labels.push({x: this.right + PLOT.gutter - 6, y: this.y(peak.rate) + (crowded(peak) ? 14 : -5), text: `${peak.text} ${significant(peak.rate)} ${this.marks.unit}`, note: peak.note || "",
				style: peak.top ? "roof-label chosen" : "roof-label", anchor: "end"});
		for (const label of labels)
			this.labelFlat(label, taken);
		const slopes = [...roofs].sort((a, b) => b.chosen - a.chosen);
		for (const roof of slopes)
			this.labelSlope(roof, top, taken);
	}

	/* As far right as there is room, with its note if there is room for that. */
	labelFlat(label, taken) {
		const whole = label.text + label.note;
		if (!this.placeFlat({...label, text: whole}, taken) && !(label.note && this.placeFlat(label, taken)))
			this.unplaced.push(whole);
	}

	placeFlat(label, taken) {
		const width = label.text.length * (label.style.includes("chosen") ? 6.9 : 6.3);
		if (label.y < PLOT.top + 8 || label.y > this.bottom)
			return true; /* its line is not shown either */
		const end = PLOT.left + (this.width < 560 ? 4 : 0.45 * (this.right - PLOT.left));
		for (let x = label.x; x - width > end; x -= 20) {
			const box = [x - width, label.y - 11, x, label.y + 3];
			if (overlaps(box, taken))
				continue;
			taken.push(box);
			this.text(x, label.y, label.text, label.anchor, label.style);
			return true;
		}
		return false;
	}

	labelSlope(roof, top, taken) {
		const content = `${roof.text} ${significant(roof.rate)} GB/s${roof.note || ""}`;
		const width = content.length * (roof.chosen ? 6.9 : 6.3), away = roof.style === "ceiling" ? -13 : 5; /* below its line */
		const dx = this.x(10) - this.x(1), dy = this.y(10) - this.y(1);
		const angle = Math.atan2(dy, dx), cos = Math.cos(angle), sin = Math.sin(angle);
		const x0 = Math.max(PLOT.left, this.x(this.y.domain()[0] / roof.rate)), x1 = Math.min(this.right, this.x(top / roof.rate));
		for (let x = x0 + 10; x + width * cos < x1 - 4; x += 12) {
			const y = this.y(this.x.invert(x) * roof.rate);
			const box = rotatedBoxes(x, away < 0 ? y + 17 : y, width, cos, sin);
			if (y > this.bottom - 4 || y + width * sin < PLOT.top + 4 || box.some(part => overlaps(part, taken)))
				continue;
			taken.push(...box);
			this.text(0, 0, content, "start", roof.chosen ? "roof-label chosen" : "roof-label")
				.attr("transform", `translate(${x + away * sin},${y - away * cos}) rotate(${angle * 180 / Math.PI})`);
			return;
		}
		this.unplaced.push(content);
	}

	/* ---- points ---- */

	/* Of a point, in square pixels; most: the largest weight. */
	static area(weight, most) {
		return 30 + 620 * Math.max(0, weight) / most;
	}

	mostWeight() {
		return this.marks.points.reduce((most, point) => Math.max(most, point.weight), 1e-30);
	}

	drawLinks(layer) {
		const most = this.mostWeight();
		for (const link of this.marks.links) {
			const [x1, y1] = this.position(link.from), [x2, y2] = this.position(link.to);
			const length = Math.hypot(x2 - x1, y2 - y1);
			const short = link.style === "arrow" ? Math.sqrt(Roofline.area(link.weight, most) / Math.PI) + 2 : 0;
			if (length < short + 5 || !this.isInside([x1, y1], link.from) || !this.isInside([x2, y2], link.to))
				continue;
			const part = (length - short) / length;
			this.line(layer, x1, y1, x1 + part * (x2 - x1), y1 + part * (y2 - y1), link.style)
				.attr("marker-end", link.style === "arrow" ? "url(#arrow-head)" : null);
			if (link.style === "arrow")
				layer.append("circle").attr("class", "before").attr("cx", x1).attr("cy", y1).attr("r", 3);
		}
	}

	drawPoints() {
		const most = this.mostWeight();
		const points = this.marks.points.map(point => ({...point, at: this.position(point.place),
			area: point.area || Roofline.area(point.weight, most)}));
		const paths = this.pathsFor(points.length);
		points.forEach((point, i) => {
			const path = paths[paths.length - 1 - i]; /* the first on top */
			path.point = point;
			setChanged(path, "class", `point bound-${point.bound}${point.above ? " above" : ""}${point.hollow ? " hollow" : ""}`);
			setChanged(path, "d", symbolPath(point.bound, point.area));
			setChanged(path, "transform", `translate(${point.at[0].toFixed(2)},${point.at[1].toFixed(2)})`);
			setChanged(path, "data-index", String(point.index));
			setChanged(path, "display", this.isInside(point.at, point.place) ? "inline" : "none");
		});
		return points.filter(point => this.isInside(point.at, point.place));
	}

	/* That many elements, those from before first. */
	pathsFor(n) {
		const layer = this.points.node();
		while (layer.children.length > n)
			layer.lastChild.remove();
		while (layer.children.length < n)
			layer.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
		return [...layer.children];
	}

	labelPoints(shown, taken) {
		const radius = point => Math.sqrt(point.area / Math.PI);
		const boxes = shown.slice(0, 300).map(point => [point.at[0] - radius(point), point.at[1] - radius(point),
			point.at[0] + radius(point), point.at[1] + radius(point)]);
		const limit = this.options.labels(this.width);
		for (const point of shown.slice(0, limit)) {
			const content = shortenMiddle(point.label, this.width < 560 ? 20 : 32);
			const width = content.length * 6.4 + 4, r = radius(point) + 4;
			const [x, y] = point.at;
			const ways = [[r, 4, "start"], [-r, 4, "end"], [0, -r, "middle"], [0, r + 10, "middle"],
				[r * 0.8, -r * 0.7, "start"], [-r * 0.8, -r * 0.7, "end"], [r * 0.8, r + 6, "start"], [-r * 0.8, r + 6, "end"]];
			if (this.options.upright) /* its points stand on a line from left to right */
				ways.unshift(ways[2], ways[3]);
			for (const [dx, dy, anchor] of ways) {
				const left = x + dx - (anchor === "end" ? width : anchor === "middle" ? width / 2 : 0);
				const box = [left, y + dy - 11, left + width, y + dy + 3];
				const low = point.place.strip ? this.stripTop : PLOT.top, high = point.place.strip ? this.stripTop + PLOT.strip : this.bottom;
				if (box[0] < PLOT.left + 2 || box[2] > this.right + PLOT.gutter - 1 || box[1] < low || box[3] > high ||
				    overlaps(box, taken) || overlaps(box, boxes))
					continue;
				taken.push(box);
				this.text(x + dx, y + dy, content, anchor, "point-label");
				break;
			}
		}
	}

	draw() {
		const svg = this.svg;
		this.measure();
		this.under.selectAll("*").remove();
		this.over.selectAll("*").remove();
		svg.selectAll(".to-roof").remove();
		this.layer = this.under;
		svg.attr("viewBox", `0 0 ${this.width} ${this.height}`).attr("width", this.width).attr("height", this.height);
		const defs = this.under.append("defs");
		const clip = `clip-${this.options.name}`;
		defs.append("clipPath").attr("id", clip).append("rect").attr("x", PLOT.left).attr("y", PLOT.top)
			.attr("width", this.right + PLOT.gutter - PLOT.left).attr("height", this.bottom - PLOT.top);
		defs.append("marker").attr("id", "arrow-head").attr("viewBox", "0 0 8 8").attr("refX", 7).attr("refY", 4)
			.attr("markerWidth", 7).attr("markerHeight", 7).attr("orient", "auto").append("path").attr("class", "arrow-head").attr("d", "M0,0L8,4L0,8z");
		this.under.append("rect").attr("class", "ground").attr("width", this.width).attr("height", this.height);
		this.drawAxes();
		if (this.hasStrip)
			this.drawStrip();
		this.drawRoofs(this.under.append("g").attr("clip-path", `url(#${clip})`));
		this.drawLinks(this.under.append("g"));
		const shown = this.drawPoints();
		this.layer = this.over;
		const taken = [];
		const radius = point => Math.sqrt(point.area / Math.PI);
		const solid = shown.slice(0, 40).map(point => [point.at[0] - radius(point), point.at[1] - radius(point), point.at[0] + radius(point), point.at[1] + radius(point)]);
		const roofBoxes = [...solid];
		this.labelRoofs(roofBoxes);
		taken.push(...roofBoxes.slice(solid.length));
		this.labelPoints(shown, taken);
	}

	/* A ring around one function's point, and the way from there up to its own roof. */
	mark(index) {
		this.svg.selectAll(".to-roof").remove();
		for (const path of this.points.node().children)
			path.classList.toggle("marked", path.point.index === index);
		const point = this.marks.points.find(point => point.index === index);
		if (!point || point.place.strip || !(point.roof > point.place.y))
			return;
		const [x, y] = this.position(point.place), top = this.y(point.roof);
		if (top < PLOT.top || y > this.bottom || x < PLOT.left || x > this.right + PLOT.gutter)
			return;
		const layer = this.svg.insert("g", ".points").attr("class", "to-roof");
		this.line(layer, x, y, x, top, "way");
		this.line(layer, x - 9, top, x + 9, top, "cap");
	}
}

const symbolPaths = new Map();

/* Most of many points are alike. */
function symbolPath(bound, area) {
	const key = `${bound} ${area.toFixed(0)}`;
	if (!symbolPaths.has(key))
		symbolPaths.set(key, d3.symbol(d3[BOUNDS[bound].shape], area).digits(2)());
	return symbolPaths.get(key);
}

/* An attribute that is as it was costs nothing. */
function setChanged(node, name, value) {
	if (node.getAttribute(name) !== value)
		node.setAttribute(name, value);
}

function overlaps(box, others) {
	return others.some(other => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
}

/* A text along a slope, as boxes beside the axes. */
function rotatedBoxes(x, y, width, cos, sin) {
	const boxes = [];
	for (let along = 0; along < width; along += 8) {
		const cx = x + along * cos, cy = y + along * sin - 8;
		boxes.push([cx - 1, cy - 8, cx + 9, cy + 8]);
	}
	return boxes;
}
