// SPDX-License-Identifier: Apache-2.0
// The few pieces of SVG that the charts of reports share: scales with round ticks, axes, text that cannot break out.

/** Escapes text for HTML and SVG. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** A number with as many digits as a reader can use: three significant ones. */
export function shortNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(6, digits));
}

/** Round tick values from 0 or below `low` to above `high`, about `count` of them. */
export function roundTicks(low: number, high: number, count: number): number[] {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!;
  const first = Math.floor(low / step);
  const last = Math.ceil((high > low ? high : low + span) / step);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

export interface Scale {
  ticks: number[];
  at: (value: number) => number;
}

/** Maps values onto pixels from `start` to `end`; the ends are round ticks. */
export function linearScale(low: number, high: number, start: number, end: number, count = 6): Scale {
  const ticks = roundTicks(low, high, count);
  const from = ticks[0]!;
  const to = ticks.at(-1)!;
  return { ticks, at: (value) => start + ((value - from) / (to - from)) * (end - start) };
}

/** The same by powers of ten, with ticks at 1, 2 and 5 of each; values above 0. */
export function logScale(low: number, high: number, start: number, end: number): Scale {
  const powers = Array.from(
    { length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 },
    (_, i) => 10 ** (Math.floor(Math.log10(low)) + i),
  );
  const all = powers.flatMap((power) => [1, 2, 5].map((factor) => Number((factor * power).toPrecision(12))));
  const first = all.findLastIndex((tick) => tick <= low);
  const last = all.findIndex((tick) => tick >= high);
  const ticks = all.slice(first, last + 1);
  const [from, to] = [Math.log10(ticks[0]!), Math.log10(ticks.at(-1)!)];
  return { ticks, at: (value) => start + ((Math.log10(value) - from) / (to - from || 1)) * (end - start) };
}

export interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export function text(
  x: number,
  y: number,
  content: string,
  options: { anchor?: "start" | "middle" | "end"; kind?: string } = {},
): string {
  const { anchor = "start", kind = "label" } = options;
  const where = `x="${x.toFixed(1)}" y="${y.toFixed(1)}"`;
  return `<text ${where} class="${kind}" text-anchor="${anchor}">${escapeText(content)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number, kind: string): string {
  const points = [x1, y1, x2, y2].map((value) => value.toFixed(1));
  return `<line x1="${points[0]}" y1="${points[1]}" x2="${points[2]}" y2="${points[3]}" class="${kind}"/>`;
}

export function rectangle(
  x: number,
  y: number,
  width: number,
  height: number,
  kind: string,
  title = "",
): string {
  const box = `x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0, width).toFixed(1)}" height="${height.toFixed(1)}"`;
  const tip = title === "" ? "" : `<title>${escapeText(title)}</title>`;
  return `<rect ${box} class="${kind}">${tip}</rect>`;
}

/** @param title shown where a pointer rests on it */
export function circle(x: number, y: number, radius: number, kind: string, title: string): string {
  const where = `cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius}"`;
  return `<circle ${where} class="${kind}"><title>${escapeText(title)}</title></circle>`;
}

/** Horizontal grid lines with their values, and the axis' name above them. */
export function verticalAxis(scale: Scale, frame: Frame, name: string): string {
  const lines = scale.ticks.map((tick) => {
    const y = scale.at(tick);
    return (
      line(frame.left, y, frame.right, y, "grid") +
      text(frame.left - 8, y + 4, String(tick), { anchor: "end" })
    );
  });
  return lines.join("") + text(frame.left - 8, frame.top - 12, name, { kind: "axis" });
}

/** Vertical grid lines with their values, and the axis' name below them. */
export function horizontalAxis(scale: Scale, frame: Frame, name: string): string {
  const lines = scale.ticks.map((tick) => {
    const x = scale.at(tick);
    return (
      line(x, frame.top, x, frame.bottom, "grid") +
      text(x, frame.bottom + 18, String(tick), { anchor: "middle" })
    );
  });
  return lines.join("") + text(frame.right, frame.bottom + 38, name, { anchor: "end", kind: "axis" });
}

/** A whole picture that takes the width it is given. */
export function picture(width: number, height: number, description: string, body: string): string {
  const box = `viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeText(description)}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box}>${body}</svg>`;
}
