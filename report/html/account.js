/* Where the wall time went: the parts of all threads' lives, processors that were busy over time, and what was
 * waited for. */

const PARTS = [
	["user", "user_s", "the program's own code ran"],
	["kernel", "kernel_s", "the kernel worked for it: system calls, page faults"],
	["waiting", "waiting_s", "threads could not run: they waited for something"],
	["ready", "runnable_s", "threads could have run, but had no processor"],
];

/* "0.9 of 2 processors busy", or nothing where that is not known. */
function busyText(account) {
	return account && known(account.busy_processors) && account.usable_processors
		? `${account.busy_processors.toFixed(1)} of ${account.usable_processors} processor${account.usable_processors === 1 ? "" : "s"} busy` : null;
}

/* The command that the line of advice ends with is for terminals: here it is a link. */
function adviceLine(profile) {
	const [said, command] = profile.run.advice.split(" What to try: rfprof report -f ");
	const f = command === undefined ? null : profile.functions.find(f => command === f.name || command === `'${f.name}'`);
	return element("p", {class: "advice"}, "→ ", f ? said : profile.run.advice, f ? element("a", {href: `#f${f.index}`}, " What to try") : null);
}

function partsBar(account, parts) {
	const sum = parts.reduce((all, part) => all + account[part[1]], 0);
	return element("div", {class: "parts", role: "img", "aria-label": parts.map(([name, key]) => `${name} ${formatSeconds(account[key])}`).join(", ")},
		...parts.map(([name, key]) => element("span", {class: `part-${name}`, style: `width: ${100 * account[key] / sum}%`})));
}

/* Each bar is a part of the run; all of its height is all processors. */
function busyStrip(account) {
	const bars = account.strip.map((busy, i) => {
		const height = Math.min(1, busy / account.usable_processors) * 30;
		return `<rect x="${i * 5}" y="${30 - height}" width="4" height="${height}"/>`;
	});
	const holder = element("div", {class: "strip", role: "img", "aria-label": "Processors that were busy over time"});
	holder.innerHTML = `<svg viewBox="0 0 ${account.strip.length * 5} 30" preserveAspectRatio="none">${bars.join("")}</svg>`;
	return holder;
}

/* Who held up a wait most: a function that ran meanwhile, or one that waited itself. */
function meanwhileText(wait) {
	const [ran] = wait.runners, [held] = wait.held_up_in;
	const most = !held || ran && ran.share >= held.share ? ran : held;
	if (!most)
		return DASH;
	return `${shortenMiddle(most.function, 40)}${most.system_call ? ` [${most.system_call}]` : ""} ${Math.round(100 * most.share)} %`;
}

function waitsTable(waits, wall) {
	const rows = waits.filter(wait => wait.time_s >= 0.01 * wall).sort((a, b) => b.time_s - a.time_s).slice(0, 8);
	if (!rows.length)
		return null;
	const head = ["waited", "no thread ran", "for", "in", "call", "threads", "meanwhile"];
	return element("details", {}, element("summary", {}, "What threads waited for"), element("div", {class: "table-holder"},
		element("table", {}, element("thead", {}, element("tr", {}, ...head.map(text => element("th", {scope: "col"}, text)))),
			element("tbody", {}, ...rows.map(wait => element("tr", {}, element("td", {}, formatSeconds(wait.time_s)), element("td", {}, formatSeconds(wait.wall_s)),
				element("td", {}, wait.cause), element("td", {}, shortenMiddle(wait.function, 40)), element("td", {}, wait.system_call || DASH),
				element("td", {}, String(wait.threads)), element("td", {}, meanwhileText(wait))))))));
}

/* The section, or null of a profile that has no account. */
function accountSection(profile) {
	const {run} = profile, {account} = run;
	if (!account || !known(account.user_s))
		return null;
	const parts = PARTS.filter(part => known(account[part[1]]) && account[part[1]] > 0);
	const threads = (profile.threads || []).length;
	return element("section", {class: "account", "aria-label": "Wall time"},
		run.advice ? adviceLine(profile) : null,
		partsBar(account, parts),
		element("p", {class: "legend"}, ...parts.map(([name, key, means]) => element("span", {title: means}, element("i", {class: `part-${name}`}),
			`${name} ${formatSeconds(account[key])}`)), threads > 1 ? element("span", {class: "note"}, `of ${threads} threads together`) : null),
		account.strip.length && account.usable_processors ? busyStrip(account) : null,
		account.strip.length ? element("p", {class: "note"}, `Processors busy over ${formatSeconds(account.wall_s)}${busyText(account) ? `: ${busyText(account)}` : ""}`) : null,
		waitsTable(profile.waits || [], account.wall_s),
		account.missing ? element("p", {class: "note"}, `Not seen: ${account.missing}`) : null);
}
