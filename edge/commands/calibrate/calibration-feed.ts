// SPDX-License-Identifier: Apache-2.0
// Feeds the page from a calibration: what each look saw, with both images in the size of a preview.
import {
  COVERAGE_COLUMNS,
  COVERAGE_ROWS,
  encodeJpeg,
  type GreyImage,
  GUIDE_GOALS,
} from "../../../camera/index.js";
import type { Hub } from "../../outputs/viewer/hub.js";
import type { CalibrationDocument, CalibrationImage } from "../../outputs/viewer/protocol.js";
import type { LiveLook } from "../../rig/calibrate/index.js";

const PREVIEW_WIDTH = 480;

/** Every n-th pixel of every n-th row as 8 bits, n so that at most PREVIEW_WIDTH remain. */
function preview(image: GreyImage): { data: Uint8Array; width: number; height: number; step: number } {
  const step = Math.ceil(image.width / PREVIEW_WIDTH);
  const [width, height] = [Math.floor(image.width / step), Math.floor(image.height / step)];
  const top =
    image.data instanceof Uint16Array ? image.data.reduce((max, value) => Math.max(max, value), 1) : 255;
  const data = new Uint8Array(width * height);
  for (let y = 0, at = 0; y < height; y++)
    for (let x = 0; x < width; x++, at++)
      data[at] = (255 * image.data[y * step * image.width + x * step]!) / top;
  return { data, width, height, step };
}

async function previewImage(image: GreyImage, corners: Float64Array): Promise<CalibrationImage> {
  const { step, ...small } = preview(image);
  return {
    jpeg: Buffer.from(await encodeJpeg(small)).toString("base64"),
    width: small.width,
    height: small.height,
    corners: Array.from(corners, (value) => Math.round((10 * value) / step) / 10),
  };
}

export class CalibrationFeed {
  readonly #hub: Hub;
  readonly #device: string;
  #busy = false;
  #last: CalibrationDocument | undefined;

  constructor(hub: Hub, device: string) {
    this.#hub = hub;
    this.#device = device;
    hub.document(device, "state", { state: "online", reason: "calibrating" });
  }

  /** Shown where a page is open; while the one before is being encoded it is left out. */
  look(look: LiveLook): void {
    if (this.#busy || this.#hub.pages === 0) return;
    this.#busy = true;
    void this.#show(look)
      .catch((error: Error) => this.#hub.log("error", error.message))
      .finally(() => {
        this.#busy = false;
      });
  }

  async #show({
    images,
    seen,
    verdict,
    text,
    wanted,
    board,
    progress,
    result,
    trouble,
  }: LiveLook): Promise<void> {
    const [left, right] = await Promise.all([
      previewImage(images.left, seen.left.points),
      previewImage(images.right, seen.right.points),
    ]);
    const focal = result?.calibration.left.K[0];
    const deviation = result?.deviations?.leftFocalPixels;
    this.#send({
      verdict,
      text,
      wanted,
      board,
      trouble,
      images: { left, right },
      progress: progress && {
        pairs: progress.pairs,
        wantedPairs: progress.wantedPairs,
        share: progress.share,
        columns: COVERAGE_COLUMNS,
        rows: COVERAGE_ROWS,
        cells: { left: progress.left.counts, right: progress.right.counts },
        tilts: progress.tilts,
        wantedTilts: GUIDE_GOALS.tilted,
      },
      worth: result && {
        rmsPixels: result.rmsPixels,
        focalPercent: focal && deviation && (100 * deviation) / focal,
        depthErrors: result.depthErrors,
      },
    });
  }

  notice(text: string): void {
    this.#hub.log("info", text);
  }

  /** The capture is over; `result` says how it ended. */
  finished(result: string): void {
    if (this.#last !== undefined) this.#send({ ...this.#last, result });
    this.#hub.document(this.#device, "state", { state: "stopped", reason: result });
  }

  #send(document: CalibrationDocument): void {
    this.#last = document;
    this.#hub.document(this.#device, "calibration", document);
  }
}
