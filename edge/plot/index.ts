// SPDX-License-Identifier: Apache-2.0
// Every picture of figures is drawn from here: reports, sweeps, benchmarks.

export { type HeatMap, heatMap } from "./heat-map.js";
export * from "./svg.js";
export { type Series, type XyPlot, xyPlot } from "./xy-plot.js";
