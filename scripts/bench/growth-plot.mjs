// SPDX-License-Identifier: Apache-2.0
// Median time over cells, as an SVG: points that lie on the line through the origin say that cost grows linearly.

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [640, 400, 60, 50, 30, 20];

/** rows: {width, height, numDisparities, medianMs, minMs}. The line is the least-squares one through the origin. */
export function growthPlot(rows) {
  const points = rows.map((row) => ({
    ...row,
    cells: (row.width * row.height * row.numDisparities) / 1e6,
  }));
  const slope =
    points.reduce((sum, p) => sum + p.cells * p.minMs, 0) / points.reduce((sum, p) => sum + p.cells ** 2, 0);
  const maxCells = Math.max(...points.map((p) => p.cells)) * 1.05;
  const maxMs = Math.max(...points.map((p) => p.medianMs), slope * maxCells) * 1.05;
  const x = (cells) => (LEFT + (cells / maxCells) * (WIDTH - LEFT - RIGHT)).toFixed(1);
  const y = (ms) => (HEIGHT - BOTTOM - (ms / maxMs) * (HEIGHT - BOTTOM - TOP)).toFixed(1);
  const marks = points.map(
    (p) =>
      `<circle cx="${x(p.cells)}" cy="${y(p.minMs)}" r="4" fill="#0a6"/>` +
      `<circle cx="${x(p.cells)}" cy="${y(p.medianMs)}" r="4" fill="none" stroke="#06a"/>` +
      `<text x="${x(p.cells)}" y="${Number(y(p.minMs)) + 18}" text-anchor="middle">${p.width}x${p.height}x${p.numDisparities}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
<text x="${LEFT}" y="18">Milliseconds over million cells: minimum (full), median (ring), ${slope.toFixed(4)} ms per million (line)</text>
<path d="M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}" fill="none" stroke="#333"/>
<path d="M${x(0)} ${y(0)}L${x(maxCells)} ${y(slope * maxCells)}" stroke="#999" stroke-dasharray="4 3"/>
<text x="${LEFT - 6}" y="${TOP + 8}" text-anchor="end">${maxMs.toFixed(0)}</text>
<text x="${LEFT - 6}" y="${HEIGHT - BOTTOM}" text-anchor="end">0</text>
<text x="${WIDTH - RIGHT}" y="${HEIGHT - BOTTOM + 34}" text-anchor="end">${maxCells.toFixed(0)} million cells</text>
${marks.join("\n")}
</svg>
`;
}
