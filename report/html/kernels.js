/* Kernels (--kernel): what calls of a function did with all that it calls, by call. */

/* The section, or null where none was asked for. */
function kernelsSection(profile) {
	const kernels = profile.kernels || [];
	if (!kernels.length)
		return null;
	const caches = ["cold", "warm"].includes(kernels[0].caches) ? `${kernels[0].caches}: ` : "";
	const head = ["kernel", "calls", "threads", "a call", "median call", "Gflop/s", "flop", "loaded and stored", `${caches}from memory`, `${caches}to memory`];
	const cells = kernel => {
		const call = kernel.per_call;
		if (kernel.calls === null) // a process that ran already
			return [kernel.name, DASH, DASH, `${formatSeconds(kernel.time_s)} in all`, ...Array(head.length - 4).fill(DASH)];
		if (!call)
			return [kernel.name, "0", ...Array(head.length - 2).fill(DASH)];
		return [kernel.name, formatCount(kernel.calls), String(kernel.threads), formatSeconds(call.time_s), formatSeconds(kernel.call_times && kernel.call_times.median_s),
			significant(known(call.time_s) && call.time_s > 0 ? call.flop / call.time_s * 1e-9 : null), formatCount(Math.round(call.flop)),
			formatBytes(call.load_bytes + call.store_bytes), formatBytes(call.mem_read_bytes), formatBytes(call.mem_write_bytes)];
	};
	return element("section", {class: "kernels", "aria-label": "Kernels"}, element("div", {class: "table-holder"}, element("table", {},
		element("thead", {}, element("tr", {}, ...head.map(text => element("th", {scope: "col"}, text)))),
		element("tbody", {}, ...kernels.map(kernel => element("tr", {}, ...cells(kernel).map(text => element("td", {}, text))))))));
}
