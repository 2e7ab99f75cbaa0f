// Makes d3.bundle.js and its licence file from the modules that package-lock.json names: npm ci && npm run bundle
import {build} from "esbuild";
import {readFileSync, writeFileSync} from "node:fs";

const result = await build({
	entryPoints: ["entry.js"],
	bundle: true,
	minify: true,
	format: "iife",
	globalName: "d3",
	target: "es2020",
	charset: "ascii",
	legalComments: "none",
	loader: {".css": "empty"}, // page.css has the flame graph's style
	banner: {js: "/* Parts of d3 (https://d3js.org), ISC licence, and d3-flame-graph, Apache licence 2.0: see LICENSE.d3 beside this file in rfprof's sources. */"},
	metafile: true,
	outfile: "d3.bundle.js",
});

// Only modules of which something is in the bundle.
const output = result.metafile.outputs["d3.bundle.js"].inputs;
const modules = [...new Set(Object.entries(output)
	.filter(([path, part]) => path.startsWith("node_modules/") && part.bytesInOutput > 0)
	.map(([path]) => path.split("/")[1]))].sort();
const licences = modules.map(name => {
	const version = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8")).version;
	return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync("LICENSE.d3", `d3.bundle.js has parts of these modules.\n\n${licences.join("\n----\n\n")}`);
