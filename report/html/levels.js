/* What all functions together moved at every level, and whose time each level binds. */

function levelSums(profile) {
	return levelsOf(profile).map(level => {
		const rows = profile.functions.map(f => ({f, read: bytesAt(f, level, "read"), written: bytesAt(f, level, "write")}));
		const bound = profile.functions.filter(f => f.level === level);
		return {level, read: rows.reduce((sum, row) => sum + (row.read || 0), 0), written: rows.reduce((sum, row) => sum + (row.written || 0), 0),
			time: bound.reduce((sum, f) => sum + f.time_s, 0), most: bound.sort((a, b) => b.time_s - a.time_s)[0]};
	});
}

/* "reading 31.6, fastest mix 65.3", at the count of threads that the report is about. */
function roofWords(profile, level) {
	const rows = profile.bandwidths.filter(row => row.level === level && row.threads === profile.roof_threads);
	return [...new Map(rows.map(row => [row.mix, row])).values()].map(row => `${row.mix} ${significant(row.gbytes_per_s)}`).join(", ");
}

/* The section, or null of a profile that does not know what moved. */
function levelsSection(profile) {
	if (!profile.traced)
		return null;
	const sums = levelSums(profile), time = profile.functions.reduce((sum, f) => sum + f.time_s, 0);
	const columns = [{title: "level", word: true}, {title: "read"}, {title: "written"}, {title: "per second", help: "of processor time, on average"},
		{title: "roofs, GB/s", word: true, help: `of ${profile.roof_threads} thread${profile.roof_threads === 1 ? "" : "s"}`},
		{title: "time it binds"}, {title: "%"}, {title: "most of it", word: true}];
	return section("What moved at every level", plainTable("levels", columns, sums.map(row => [row.level, formatBytes(row.read), formatBytes(row.written),
		time > 0 ? `${formatBytes((row.read + row.written) / time)}/s` : DASH, roofWords(profile, row.level), formatSeconds(row.time),
		time > 0 ? formatShare(row.time / time) : DASH,
		row.most ? element("a", {href: `#f${row.most.index}`}, shortenMiddle(row.most.name, 40)) : DASH])),
	element("p", {class: "note"}, "All functions together. L1: what instructions load and store; the others: what moves to and from that level. A level binds a function whose roof it is the lowest of."));
}
