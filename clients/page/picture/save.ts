// SPDX-License-Identifier: Apache-2.0
// Files that a person takes along: the picture as it is seen, or every stream of its frame with all that is known about it.
import type { FrameSet } from "../frame-set.js";
import { pageState } from "../store.js";

/** Hands a file to the browser's downloads. */
export function download(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // A browser that asks where to save still reads it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Device, frame number and time, as a file name takes them. */
export function frameName(set: FrameSet): string {
  const number = Object.values(set.pictures)[0]?.header.frameNumber ?? 0;
  const device = set.device.replace(/[^\w.-]/g, "_");
  return `${device}-${String(number).padStart(6, "0")}`;
}

/** Canvases of one size side by side, as a PNG. */
export function screenshot(set: FrameSet, canvases: readonly HTMLCanvasElement[]): void {
  const sheet = document.createElement("canvas");
  sheet.width = canvases.reduce((sum, { width }) => sum + width, 0);
  sheet.height = Math.max(...canvases.map(({ height }) => height));
  const context = sheet.getContext("2d");
  let x = 0;
  for (const canvas of canvases) {
    context?.drawImage(canvas, x, 0);
    x += canvas.width;
  }
  sheet.toBlob((blob) => blob && download(`${frameName(set)}.png`, [blob], "image/png"), "image/png");
}

const plain = (_key: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);

/** PNG files of 8 or 16 bit per stream (their counts, as docs/reference/frames.md has them), and one JSON file. */
export async function snapshot(set: FrameSet): Promise<void> {
  const [{ zipSync, strToU8 }, { encode }] = await Promise.all([import("fflate"), import("fast-png")]);
  const files: Record<string, Uint8Array> = {};
  const headers: Record<string, unknown> = {};
  for (const [stream, { header, counts }] of Object.entries(set.pictures)) {
    const { width, height } = header;
    headers[stream] = header;
    if (counts instanceof Float32Array) files[`${stream}.f32`] = new Uint8Array(counts.buffer as ArrayBuffer);
    else
      files[`${stream}.png`] = encode({
        width,
        height,
        data: counts,
        channels: 1,
        depth: counts instanceof Uint16Array ? 16 : 8,
      });
  }
  const documents = pageState().documents[set.device];
  files["frame.json"] = strToU8(JSON.stringify({ device: set.device, headers, ...documents }, plain, 2));
  // PNG is packed already.
  const zip = zipSync(files, { level: 0 });
  download(`${frameName(set)}.zip`, [zip as Uint8Array<ArrayBuffer>], "application/zip");
}
