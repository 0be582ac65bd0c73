// SPDX-License-Identifier: Apache-2.0
// Matches pairs of images: once, or many with one engine.
import { DepthwattError } from "../../core/index.js";
import type { EngineInfo, NativeEngine } from "../../cuda/index.js";
import { openMatcher, pictureBytes, pictureLayout } from "../match/match-pair.js";
import type { PipelineGeometry } from "../pipeline/geometry.js";
import { copyDepthMap, type DepthMap } from "./depth-map.js";
import { configFrom, type DepthwattOptions, warningHandler } from "./options.js";
import { type ImageInput, type ImagePair, openPair } from "./pictures.js";

/** Lets a computation be given up: it rejects with the signal's reason. */
export interface Abortable {
  signal?: AbortSignal | undefined;
}

export interface EngineFormat {
  /** Size of the captured images, pixels. */
  width: number;
  height: number;
  /** A byte a pixel, 16 bits a pixel (little-endian), or three bytes. Default: GREY. */
  format?: "GREY" | "Y16" | "RGB8";
}

/** Rejects as soon as the signal does; `work` continues. */
async function unlessAborted<Result>(work: Promise<Result>, { signal }: Abortable): Promise<Result> {
  if (signal === undefined) return work;
  let abort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Computes depth of many pairs of one size and format, with the memory and threads that it opened once. */
export interface DepthEngine extends AsyncDisposable {
  /** Size of the results: that of the rectified images. */
  readonly width: number;
  readonly height: number;
  /** Which backend computes, and why. */
  readonly info: EngineInfo;
  /**
   * Computes one pair. Calls may overlap; they are computed in order.
   * @param left captured image of the engine's size and format, rows without gaps; unchanged until the result is there
   * @throws DepthwattError IMAGE_SIZE_MISMATCH, ENGINE_FAILED (closed); the signal's reason
   */
  match(
    left: Uint8Array | Uint16Array,
    right: Uint8Array | Uint16Array,
    options?: Abortable,
  ): Promise<DepthMap>;
  /** Waits for pairs that are being computed, then frees memory and threads. */
  close(): Promise<void>;
}

class PairEngine implements DepthEngine {
  readonly #engine: NativeEngine;
  readonly #geometry: PipelineGeometry;
  readonly #format: Required<EngineFormat>;
  #newest: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(engine: NativeEngine, geometry: PipelineGeometry, format: Required<EngineFormat>) {
    this.#engine = engine;
    this.#geometry = geometry;
    this.#format = format;
  }

  get width(): number {
    return this.#geometry.width;
  }

  get height(): number {
    return this.#geometry.height;
  }

  get info(): EngineInfo {
    return this.#engine.info;
  }

  async match(
    left: Uint8Array | Uint16Array,
    right: Uint8Array | Uint16Array,
    options: Abortable = {},
  ): Promise<DepthMap> {
    options.signal?.throwIfAborted();
    if (this.#closing !== undefined) throw new DepthwattError("ENGINE_FAILED", "this engine was closed");
    const [leftBytes, rightBytes] = [this.#check("left", left), this.#check("right", right)];
    const result = this.#newest.then(async () => {
      options.signal?.throwIfAborted();
      const computed = await this.#engine.compute(leftBytes, rightBytes);
      return copyDepthMap(this.#engine.slots[0]!, computed, this.#geometry, this.#geometry.depth);
    });
    this.#newest = result.catch(() => {});
    return unlessAborted(result, options);
  }

  #check(side: string, data: Uint8Array | Uint16Array): Uint8Array {
    const { width, height, format } = this.#format;
    const expected = width * height * (format === "GREY" ? 1 : format === "Y16" ? 2 : 3);
    const isBytes = data instanceof Uint8Array || data instanceof Uint16Array;
    if (isBytes && data.byteLength === expected) return pictureBytes({ data, width, height, format });
    const found = isBytes ? data.byteLength : Object.prototype.toString.call(data);
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${side} image: expected ${expected} bytes (${width} x ${height}, ${format}), got ${found}`,
    );
  }

  close(): Promise<void> {
    this.#closing ??= this.#newest.then(() => this.#engine.close());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens an engine for raw images of one size and format.
 * @throws DepthwattError CONFIG_*, CALIBRATION_*, ENGINE_*, BACKEND_UNAVAILABLE
 */
export async function openEngine(options: DepthwattOptions & EngineFormat): Promise<DepthEngine> {
  const format = { width: options.width, height: options.height, format: options.format ?? "GREY" };
  const { engine, geometry } = await openMatcher(
    configFrom(options),
    pictureLayout(format),
    warningHandler(options),
  );
  return new PairEngine(engine, geometry, format);
}

async function matchPair(
  { left, right }: ImagePair,
  options: DepthwattOptions & Abortable,
): Promise<DepthMap> {
  const { width, height, format } = left;
  const engine = await openEngine({ ...options, width, height, format });
  try {
    return await engine.match(left.data, right.data, options);
  } finally {
    await engine.close();
  }
}

/**
 * Matches two images.
 * @throws DepthwattError CONFIG_*, SOURCE_UNREADABLE, IMAGE_*, CALIBRATION_*, ENGINE_*, BACKEND_UNAVAILABLE; the signal's reason
 */
export async function match(
  left: ImageInput,
  right: ImageInput,
  options: DepthwattOptions & Abortable = {},
): Promise<DepthMap> {
  options.signal?.throwIfAborted();
  return unlessAborted(
    openPair(left, right, options).then((pair) => matchPair(pair, options)),
    options,
  );
}
