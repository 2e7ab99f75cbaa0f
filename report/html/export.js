/* The picture as a file. */

const STYLED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "paint-order", "font-size", "font-weight"];

/* A copy that needs no style sheet. */
function standalone(svg) {
	const copy = svg.cloneNode(true);
	const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
	from.forEach((node, i) => {
		const style = getComputedStyle(node);
		for (const name of STYLED)
			to[i].setAttribute(name, style.getPropertyValue(name));
		to[i].removeAttribute("class");
	});
	copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	return new XMLSerializer().serializeToString(copy);
}

function save(blob, name) {
	const link = element("a", {href: URL.createObjectURL(blob), download: name});
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(title, ending) {
	return `${title.split("/").pop().replace(/[^\w.-]+/g, "_").slice(0, 60) || "roofline"}-roofline.${ending}`;
}

function saveSvg(svg, title) {
	save(new Blob([standalone(svg)], {type: "image/svg+xml"}), fileName(title, "svg"));
}

/* At twice the size, for print. */
function savePng(svg, title) {
	const url = URL.createObjectURL(new Blob([standalone(svg)], {type: "image/svg+xml"}));
	const image = new Image();
	image.addEventListener("load", () => {
		const canvas = element("canvas", {width: 2 * svg.clientWidth, height: 2 * svg.clientHeight});
		canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
		URL.revokeObjectURL(url);
		canvas.toBlob(blob => save(blob, fileName(title, "png")));
	});
	image.src = url;
}
