/* What more threads would reach by the time model, as a plot over their number. */

const SATURATION = {width: 440, height: 220, left: 40, right: 14, top: 12, bottom: 34};

/* "3.1 GFLOP/s", "2.4 G turns/s", or the time where there is neither. */
function speedWords(row, wall) {
	if (row.flop > 0)
		return `${significant(row.flop / wall / 1e9)} GFLOP/s`;
	return row.turns > 0 ? withPrefix(row.turns / wall, ["", "k ", "M ", "G "], "turns/s") : formatSeconds(wall);
}

/* From one thread to all: "1.2 → 2.1 GFLOP/s". */
function saturationWords(row, threads) {
	const walls = row.account.walls;
	return `${row.name}: ${threads.map((n, i) => `${n} thread${n === 1 ? "" : "s"} ${speedWords(row, walls[i])}`).join(", ")}`;
}

/* Only numbers go into this markup. */
function saturationMarkup(rows, threads) {
	const {width, height, left, right, top, bottom} = SATURATION, all = threads[threads.length - 1];
	const x = n => left + (width - left - right) * (n - 1) / (all - 1), y = times => height - bottom - (height - top - bottom) * times / all;
	const ticks = threads.filter((n, i) => i === 0 || i === threads.length - 1 || x(n) - x(threads[i - 1]) > 24 && x(all) - x(n) > 24);
	const grid = ticks.map(n => `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(n)}" y2="${y(n)}"/>` +
		`<text x="${left - 6}" y="${y(n) + 4}" text-anchor="end">${n}×</text><text x="${x(n)}" y="${height - bottom + 16}" text-anchor="middle">${n}</text>`);
	const lines = rows.map((row, k) => {
		const points = threads.map((n, i) => [x(n), y(row.account.walls[0] / row.account.walls[i])]);
		return `<polyline class="line-${k}" points="${points.map(point => point.join(",")).join(" ")}"/>` +
			points.map(([cx, cy]) => `<circle class="line-${k}" cx="${cx}" cy="${cy}" r="3"/>`).join("");
	});
	const saturated = rows[0].account.saturated, full = known(saturated) && saturated > 1 && saturated < all;
	return `<svg viewBox="0 0 ${width} ${height}">${grid.join("")}<line class="ideal" x1="${x(1)}" y1="${y(1)}" x2="${x(all)}" y2="${y(all)}"/>` +
		(full ? `<line class="full" x1="${x(saturated)}" x2="${x(saturated)}" y1="${top}" y2="${height - bottom}"/>` : "") + `${lines.join("")}</svg>`;
}

/* rows: {name, account, flop, turns}, the function first; null on a machine with one thread. */
function saturation(rows, threads) {
	rows = rows.filter(row => row.account.walls.every(wall => known(wall) && wall > 0));
	if (!threads || threads.length < 2 || !rows.length)
		return null;
	const words = rows.map(row => saturationWords(row, threads)), {saturated} = rows[0].account;
	const plot = element("div", {class: "saturation", role: "img", "aria-label": words.join("; ")});
	plot.innerHTML = saturationMarkup(rows, threads);
	return element("details", {class: "threads-plot", open: ""}, element("summary", {}, "With more or fewer threads"),
		element("div", {class: "beside"}, plot, element("ul", {class: "bar-legend"}, ...words.map((line, k) => element("li", {}, element("span", {class: `key line-${k}`}), line)))),
		element("p", {class: "note"}, "Predicted: how many times as fast as one thread, over the number of threads that share the work, each with a core of its own; dotted: if none held up another" +
			(known(saturated) ? `. The memory is saturated from ${significant(saturated)} threads on` : "") + "."));
}
