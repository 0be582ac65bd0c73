// SPDX-License-Identifier: Apache-2.0
// Writes received frames to a folder: a picture and, next to it, everything the header said, as JSON. Node only.
import { join } from "node:path";
import { encodePfm, encodePng, makeFolder } from "../../../camera/index.js";
import { decodePoints, type ReceivedFrame } from "../../../clients/javascript/src/index.js";
import { crc32 } from "../../../core/frame/crc32.js";
import { bytesOfPoint, ELEMENT_BYTES, type PointsForm } from "../../../core/frame/frame-format.js";
import { plyOfPoints, plyOfVoxels } from "../../../core/frame/ply.js";
import { DepthwattError, isDepthwattError, writeBeside } from "../../../core/index.js";

/** auto: PNG for whole millimetres and 8-bit images, PFM (+inf = no value) for disparities and floats, PLY for points. */
export const SAVE_FORMATS = ["auto", "png", "pfm", "raw"] as const;
export type SaveFormat = (typeof SAVE_FORMATS)[number];

/** Unpacked bytes being written at once; more would pile up in memory where the disk is slower than the stream. */
const MAX_WRITING_BYTES = 64 << 20;

/** Maximum length of a device's name in a file name; longer ones are cut. */
const MAX_DEVICE_BYTES = 200;

interface Picture {
  ending: string;
  bytes: Uint8Array;
  /** The meaning of one count or sample of the file. */
  meaning: string;
}

function encodeCloud({ header, body }: ReceivedFrame, format: SaveFormat, form: PointsForm): Picture {
  const { element, width, height, encoding } = header;
  const isVoxels = encoding === "voxels";
  const what = `${element === "f32" || isVoxels ? "metres" : "millimetres"}, ${form.frame} frame`;
  if (format === "raw")
    return { ending: "raw", bytes: body, meaning: `points as in docs/reference/frames.md, ${what}` };
  if (format !== "auto") {
    throw new DepthwattError("IMAGE_UNSUPPORTED", `expected pictures for ${format}, points are none`, {
      hint: "Use '--format auto' for PLY files, or '--format raw'.",
    });
  }
  if (isVoxels) {
    const { positions } = decodePoints(header, body, { maxPixels: width * height });
    return { ending: "ply", bytes: plyOfVoxels(positions, form.frame), meaning: what };
  }
  const bytes = plyOfPoints(body, width * height, {
    ...form,
    element: element === "f32" ? "float32" : "int16",
  });
  return { ending: "ply", bytes, meaning: what };
}

async function encodePicture(frame: ReceivedFrame, format: SaveFormat): Promise<Picture> {
  const { header, body } = frame;
  const { width, height, element, stream } = header;
  const scaled = `${header.quantity} = count * ${header.unitScale} + ${header.valueOffset}`;
  if (header.points !== undefined) return encodeCloud(frame, format, header.points);
  if (header.encoding === "jpeg")
    return { ending: "jpg", bytes: body, meaning: element === "rgb8" ? "colours" : "grey values" };
  const whole = stream !== "disparity" && element !== "f32";
  const chosen = format === "auto" ? (whole ? "png" : "pfm") : format;
  if (chosen === "pfm" && element === "rgb8") {
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `expected one number a pixel for a PFM, ${stream} has colours`,
      {
        hint: "Use '--format png' or '--format raw'.",
      },
    );
  }
  if (chosen === "pfm") {
    const data = frame.values().map((value) => (Number.isNaN(value) ? Number.POSITIVE_INFINITY : value));
    return {
      ending: "pfm",
      bytes: encodePfm({ data, width, height }),
      meaning: `${header.quantity}, +inf = none`,
    };
  }
  const counts = frame.counts();
  if (chosen === "png" && !(counts instanceof Float32Array)) {
    return { ending: "png", bytes: await encodePng({ data: counts, width, height }), meaning: scaled };
  }
  if (chosen === "png") {
    throw new DepthwattError(
      "IMAGE_UNSUPPORTED",
      `expected 8 or 16 bit counts for a PNG, ${stream} is ${element}`,
      {
        hint: "Use '--format pfm' or '--format raw'.",
      },
    );
  }
  const bytes = new Uint8Array(counts.buffer, counts.byteOffset, counts.byteLength);
  return { ending: "raw", bytes, meaning: `${element} little-endian, [height][width], ${scaled}` };
}

export class FrameSaver {
  saved = 0;
  /** Frames that came while too much was being written. */
  skipped = 0;
  /** Frames whose body is not what the header says. */
  undecodable = 0;
  #writing = 0;
  #failure: unknown;
  #idle: () => void = () => {};
  readonly #folder: string;
  readonly #format: SaveFormat;
  readonly #onUndecodable: (error: DepthwattError) => void;

  /**
   * @param onUndecodable hears of each frame that is left out, and why
   * @throws DepthwattError OUTPUT_UNWRITABLE
   */
  constructor(folder: string, format: SaveFormat, onUndecodable: (error: DepthwattError) => void = () => {}) {
    this.#folder = folder;
    this.#format = format;
    this.#onUndecodable = onUndecodable;
    try {
      makeFolder(folder);
    } catch (cause) {
      throw unwritable(folder, cause);
    }
  }

  /** Starts writing; a failure shows in finish(). */
  save(frame: ReceivedFrame): void {
    if (this.#failure !== undefined) return;
    const { width, height, element, points } = frame.header;
    const bytes = width * height * (points ? bytesOfPoint(element, points.colour) : ELEMENT_BYTES[element]);
    // A frame larger than the bound is written alone.
    if (this.#writing > 0 && this.#writing + bytes > MAX_WRITING_BYTES) {
      this.skipped++;
      return;
    }
    this.#writing += bytes;
    this.#write(frame)
      .then(() => {
        this.saved++;
      })
      .catch((error: unknown) => {
        // One damaged frame says nothing about the next; a full disk or an impossible format does.
        if (isDepthwattError(error) && error.code === "PAYLOAD_INVALID") {
          this.undecodable++;
          this.#onUndecodable(error);
        } else this.#failure ??= error;
      })
      .finally(() => {
        this.#writing -= bytes;
        if (this.#writing === 0) this.#idle();
      });
  }

  async #write(frame: ReceivedFrame): Promise<void> {
    const { runId, frameNumber } = frame.header;
    // A publisher that restarts counts from 0 again: without its run a frame would take the place of an older one.
    const run = runId.toString(16).padStart(8, "0");
    const number = String(frameNumber).padStart(6, "0");
    const name = join(this.#folder, `${shortName(frame.device)}-${frame.stream}-${run}-${number}`);
    const { ending, bytes, meaning } = await encodePicture(frame, this.#format);
    const metadata = { file: `${name}.${ending}`, meaning, device: frame.device, ...frame.header };
    const text = JSON.stringify(
      metadata,
      (_, item) => (typeof item === "bigint" ? item.toString() : item),
      2,
    );
    try {
      await writeBeside(`${name}.${ending}`, bytes);
      await writeBeside(`${name}.json`, `${text}\n`);
    } catch (cause) {
      throw unwritable(name, cause);
    }
  }

  get failed(): boolean {
    return this.#failure !== undefined;
  }

  /** Waits for the files that are being written. @throws DepthwattError OUTPUT_UNWRITABLE, IMAGE_UNSUPPORTED */
  async finish(): Promise<void> {
    if (this.#writing > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    if (this.#failure !== undefined) throw this.#failure;
  }
}

/** A file name has 255 bytes, a topic 65535; the JSON file next to the image contains the whole name. */
function shortName(device: string): string {
  const bytes = Buffer.from(device);
  if (bytes.length <= MAX_DEVICE_BYTES) return device;
  return `${bytes.toString("utf8", 0, MAX_DEVICE_BYTES - 20)}~${crc32(bytes).toString(16).padStart(8, "0")}`;
}

function unwritable(path: string, cause: unknown): DepthwattError {
  return new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${path}: ${(cause as Error).message}`, {
    cause,
    context: { file: path },
  });
}
