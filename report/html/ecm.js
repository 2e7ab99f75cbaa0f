/* Why a function takes its time: predicted parts beside what was measured. */

const ACCOUNT_FIELDS = ["turn", "predicted_s", "light_s", "measured_s", "stderr_s", "lack", "changes", "walls", "saturated"];
const ACCOUNT_PARTS = ["in the core", "chain from turn to turn", "between L1 and L2", "between L2 and L3", "to and from memory", "waiting for irregular or far lines", "walks through page tables", "mispredicted branches", "shared with other hardware threads", "not explained"];
const LATENCY = ACCOUNT_PARTS.indexOf("waiting for irregular or far lines");
const LEAST_LOOP = 0.05; /* of the function's time */
const LEAST_PART = 0.003; /* of a bar, to be seen in it */

/* An account with its parts that can be seen, as [index, seconds]; null without a prediction. */
function accountOf(row) {
	if (!row)
		return null;
	const account = withFields(row, ACCOUNT_FIELDS), all = Math.max(account.predicted_s, account.measured_s || 0);
	const parts = row.slice(ACCOUNT_FIELDS.length).map((seconds, i) => [i, seconds]);
	return {...account, all, parts: parts.filter(([, seconds]) => known(seconds) && seconds > LEAST_PART * all)};
}

/* One bar: its whole is what was measured, or predicted where that is more. */
function accountBar(account) {
	const words = account.parts.map(([i, seconds]) => `${ACCOUNT_PARTS[i]} ${formatSeconds(seconds)}`).join(", ");
	const bar = element("div", {class: "bar account", role: "img", "aria-label": words, title: words});
	for (const [i, seconds] of account.parts) {
		const piece = element("span", {class: `part part-${i}`});
		piece.style.width = `${100 * seconds / account.all}%`;
		bar.append(piece);
	}
	return bar;
}

function accountRatio(account) {
	return known(account.measured_s) && account.measured_s > 0 ? `${Math.round(100 * account.predicted_s / account.measured_s)} %` : DASH;
}

function accountLegend(accounts) {
	const used = new Set(accounts.flatMap(account => account.parts.map(([i]) => i)));
	return element("ul", {class: "bar-legend"}, ...ACCOUNT_PARTS.map((name, i) => used.has(i)
		? element("li", {}, element("span", {class: `key part-${i}`}), name) : null).filter(Boolean));
}

function accountSentence(account) {
	if (!known(account.measured_s))
		return `${formatSeconds(account.predicted_s)} predicted`;
	const rest = account.measured_s - account.predicted_s;
	return `${formatSeconds(account.predicted_s)} predicted, ${formatSeconds(account.measured_s)} ± ${formatSeconds(account.stderr_s)} measured: ` +
		(rest < 0 ? `${formatSeconds(-rest)} faster than predicted` : `${formatSeconds(rest)} not explained`) +
		`. Light speed of the code as it is: ${formatSeconds(account.light_s)}${account.parts.some(([i]) => i === LATENCY) ? ", if it waited for no irregular line" : ""}.`;
}

function changeSentence([change, saved], measured) {
	return `${change[0].toUpperCase()}${change.slice(1)} it would take ${formatSeconds(measured - saved)}, ${formatSeconds(saved)} less.`;
}

function branchSentence([kind, place, share, halfwidth, seconds]) {
	return `The ${kind} at ${place} is mispredicted ${(100 * share).toFixed(1)} ± ${(100 * halfwidth).toFixed(1)} % of the time: ${formatSeconds(seconds)}.`;
}

/* The function and its innermost loops with much time. */
function pageAccount(f, detail, app) {
	const whole = accountOf(detail.ecm);
	if (!whole || !(f.time_s > 0))
		return null;
	const loops = (detail.loops || []).map(row => withFields(row, LOOP_FIELDS));
	const around = new Set(loops.map(loop => loop.parent));
	const hot = loops.map((loop, i) => ({...loop, i, account: accountOf(loop.ecm)}))
		.filter(loop => !around.has(loop.i) && loop.account && loop.time_s >= LEAST_LOOP * f.time_s);
	const columns = [{title: "", word: true}, {title: "of measured time", word: true}, {title: "cycles a turn", help: "in the core ‖ loads and stores | L1L2 | L2L3 | memory"},
		{title: "predicted"}, {title: "measured"}, {title: "of it"}];
	const row = (name, account) => [name, accountBar(account), account.turn, formatSeconds(account.predicted_s), formatSeconds(account.measured_s), accountRatio(account)];
	return section("Why it takes its time", element("p", {}, accountSentence(whole)), whole.lack ? element("p", {}, `${whole.lack}.`) : null,
		...whole.changes.map(change => element("p", {}, changeSentence(change, whole.measured_s))),
		...(detail.branches || []).map(row => element("p", {}, branchSentence(row))),
		plainTable("accounts", columns, [row("all of it", {...whole, turn: ""}), ...hot.map(loop => row(`loop ${loop.line || formatHex(loop.header_offset)}`, loop.account))]),
		accountLegend([whole, ...hot.map(loop => loop.account)]),
		saturation([{name: "all of it", account: whole, flop: f.flop}, ...hot.map(loop => ({name: `loop ${loop.line || formatHex(loop.header_offset)}`, ...loop}))], app.profile.ecm_threads),
		element("p", {class: "note"}, `Predicted from counts, traffic, roofs and simulated predictors alone${app.profile.overlap ? `; ${app.profile.overlap}` : ""}.`));
}

/* ---- the whole program ---- */

/* What each change would save in all functions together, or null where none would save much. */
function potentialsSection(profile) {
	const time = profile.functions.reduce((sum, f) => sum + f.time_s, 0);
	const columns = [{title: "what if all code ran", word: true}, {title: "could save", help: "of the processor time"}, {title: "%"}, {title: "most of it", word: true}, {title: "there"}];
	if (!(profile.potentials || []).length)
		return null;
	const rows = profile.potentials.map(([change, saved, name, most]) => {
		const f = profile.functions.find(f => f.name === name), shown = shortenMiddle(name, 40);
		return [change, formatSeconds(saved), time > 0 ? formatShare(saved / time) : DASH, f ? element("a", {href: `#f${f.index}`}, shown) : shown, formatSeconds(most)];
	});
	return section("What changes would save", plainTable("potentials", columns, rows),
		element("p", {class: "note"}, "By the time model run again with that one thing changed; what two changes save together is not their sum. Whether a change can be made is for the reader to say."));
}
