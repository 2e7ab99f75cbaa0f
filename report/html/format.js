/* Numbers as a reader wants them: three significant digits, a unit that fits, a dash for what is not known. */

const DASH = "–";

function known(value) {
	return typeof value === "number" && Number.isFinite(value);
}

/* 0.00123, 8.41, 1310 */
function significant(value) {
	if (value === Infinity)
		return "∞";
	if (!known(value))
		return DASH;
	if (value === 0)
		return "0";
	const digits = 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-12);
	return Math.abs(value) < 1e-4 ? value.toExponential(1) : value.toFixed(Math.min(Math.max(digits, 0), 8));
}

function withPrefix(value, prefixes, unit) {
	if (!known(value))
		return DASH;
	let at = 0;
	while (at + 1 < prefixes.length && Math.abs(value) >= 999.5) {
		value /= 1000;
		at++;
	}
	return `${at === 0 && Number.isInteger(value) ? value : significant(value)} ${prefixes[at]}${unit}`.trimEnd();
}

function formatCount(value) {
	return withPrefix(value, ["", "k", "M", "G", "T", "P", "E"], "");
}

function formatBytes(value) {
	return withPrefix(known(value) ? Math.round(value) : value, ["", "k", "M", "G", "T", "P", "E"], "B");
}

function formatSeconds(value) {
	if (!known(value))
		return DASH;
	if (value === 0)
		return "0 s";
	const step = value >= 0.9995 ? [1, "s"] : value >= 0.9995e-3 ? [1e3, "ms"] : [1e6, "µs"];
	return `${significant(value * step[0])} ${step[1]}`;
}

/* Of a share: 0.1612 → 16.1 % */
function formatShare(value) {
	if (!known(value))
		return DASH;
	return value > 0 && value < 0.0005 ? "<0.1 %" : `${(100 * value).toFixed(1)} %`;
}

function formatTimes(value) {
	if (!known(value))
		return DASH;
	return value > 9999 ? ">9999×" : `${value < 10 ? value.toFixed(1) : value.toFixed(0)}×`;
}

/* From `before` to `now`: −12 %, +3.4×. */
function formatChange(before, now) {
	if (!known(before) || !known(now) || before <= 0)
		return DASH;
	const ratio = now / before;
	if (ratio >= 10)
		return `${formatTimes(ratio)}`;
	const change = 100 * (ratio - 1);
	return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(Math.abs(change) < 9.95 ? 1 : 0)} %`;
}

function formatHex(offset) {
	return offset.toString(16);
}

/* At most `length` characters, the middle left out; surrogate pairs stay whole. */
function shortenMiddle(text, length) {
	const letters = Array.from(text.length > 8 * length ? text.slice(0, 4 * length) + text.slice(-4 * length) : text);
	if (letters.length <= length)
		return letters.join("");
	const head = Math.ceil((length - 1) * 0.6);
	return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (length - 1 - head)).join("")}`;
}

/* An element: attributes (a function is a listener), then children; texts become text nodes, never HTML. */
function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value === "function")
			made.addEventListener(name, value);
		else if (value !== null && value !== undefined && value !== false)
			made.setAttribute(name, value === true ? "" : value);
	}
	made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
	return made;
}
