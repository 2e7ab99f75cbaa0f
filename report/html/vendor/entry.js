// What report/html/*.js takes from d3, as the global object `d3`.
export {axisBottom, axisLeft} from "d3-axis";
export {default as flamegraph} from "d3-flame-graph";
export {scaleLog} from "d3-scale";
export {select} from "d3-selection";
export {symbol, symbolCircle, symbolCross, symbolDiamond, symbolSquare, symbolTriangle, symbolWye} from "d3-shape";
export {zoom, zoomIdentity} from "d3-zoom";
