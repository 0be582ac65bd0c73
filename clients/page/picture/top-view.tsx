// SPDX-License-Identifier: Apache-2.0
// Draws the grid of the floor from above. Each kind of cell has its own pattern, so that no colour is needed.
import { useEffect, useRef } from "preact/hooks";
import { finiteNumber, member, unavailableReason } from "../documents.js";
import { S } from "../strings.js";

const T = S.topView;
/** Pixels of the canvas; more cells than that are drawn smaller than a pattern. */
const SIDE_PIXELS = 400;
/** Cells on a side of the largest grid that the settings allow. */
const MAX_SIDE = 1000;
const KINDS = [
  ["?", "unknown"],
  [".", "free"],
  ["#", "occupied"],
  ["v", "dropOff"],
] as const;
type Kind = (typeof KINDS)[number][1];

/** Draws a cell: unknown is hatched, free is light, occupied is black, a drop-off is a cross. */
function drawCell(context: CanvasRenderingContext2D, kind: Kind, x: number, y: number, size: number): void {
  context.fillStyle = kind === "occupied" ? "#000" : kind === "unknown" ? "#9aa4ae" : "#fff";
  context.fillRect(x, y, size, size);
  if (kind !== "unknown" && kind !== "dropOff") return;
  context.strokeStyle = kind === "dropOff" ? "#c01010" : "#5c6670";
  context.lineWidth = kind === "dropOff" ? Math.max(1, size / 5) : 1;
  // Lines end inside the cell.
  const [from, to] = [context.lineWidth / 2, size - context.lineWidth / 2];
  context.beginPath();
  context.moveTo(x + from, y + to);
  context.lineTo(x + to, y + from);
  if (kind === "dropOff") {
    context.moveTo(x + from, y + from);
    context.lineTo(x + to, y + to);
  }
  context.stroke();
}

function draw(canvas: HTMLCanvasElement, rows: readonly string[]): void {
  const context = canvas.getContext("2d") as CanvasRenderingContext2D;
  const size = Math.max(1, Math.floor(SIDE_PIXELS / rows.length));
  canvas.width = size * Math.max(...rows.map(({ length }) => length));
  canvas.height = size * rows.length;
  for (const [row, signs] of rows.entries())
    for (const [column, sign] of [...signs].entries()) {
      const kind = KINDS.find(([known]) => known === sign)?.[1] ?? "unknown";
      drawCell(context, kind, column * size, row * size, size);
    }
}

function Swatch({ kind }: { kind: Kind }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context) drawCell(context, kind, 0, 0, 14);
  }, [kind]);
  return <canvas ref={canvas} width={14} height={14} />;
}

/** Returns the rows of a grid; undefined if it is not one, or too large. */
function rowsFrom(grid: unknown): string[] | undefined {
  const rows = member(grid, "rows");
  if (!Array.isArray(rows) || rows.length === 0 || rows.length > MAX_SIDE) return undefined;
  return rows.every((row) => typeof row === "string" && row.length <= MAX_SIDE) ? rows : undefined;
}

function nearestText(grid: unknown): string {
  const ranges = member(member(grid, "scan"), "ranges");
  const known = Array.isArray(ranges) ? ranges.filter((range) => typeof range === "number" && range > 0) : [];
  return known.length === 0 ? T.noObstacle : T.nearest(`${Math.min(...known).toFixed(2)} ${S.units.m}`);
}

/** @param grid the document of the device, or its reason why there is none */
export function TopView({ grid }: { grid: unknown }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rows = rowsFrom(grid);
  useEffect(() => {
    if (canvas.current && rows) draw(canvas.current, rows);
  }, [rows]);
  const side = (finiteNumber(member(grid, "cellMetres")) ?? 0) * (rows?.length ?? 0);
  const nearest = nearestText(grid);
  return (
    <section class="top-view" aria-labelledby="top-view-title">
      <h2 id="top-view-title">{T.title}</h2>
      {rows === undefined ? (
        <p class="quiet" data-grid-reason>
          {unavailableReason(grid) ?? T.none}
        </p>
      ) : (
        <>
          <p data-grid-nearest>{nearest}</p>
          <canvas ref={canvas} role="img" aria-label={T.canvas(side.toFixed(1), nearest)} />
          <ul>
            {KINDS.map(([, kind]) => (
              <li key={kind}>
                <Swatch kind={kind} /> {T.kinds[kind]}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
