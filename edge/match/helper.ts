// SPDX-License-Identifier: Apache-2.0
// Another stereo engine on given images: starts the helper of source.foreign with their files and takes its pairs one by one.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FramePair, openForeignSource, type PairSource, writeImage } from "../../camera/index.js";
import { DepthwattError, printable, redactUrl } from "../../core/index.js";

export interface HelperImages {
  left: Uint8Array;
  right: Uint8Array;
  width: number;
  height: number;
  numDisparities: number;
}

export type HelperSettings = { command?: string; shell: boolean; timeoutMs: number };

export class Helper {
  readonly source: PairSource;
  readonly #folder: string;
  readonly #ready: FramePair[] = [];
  #error: Error | undefined;
  #wake = () => {};

  private constructor(source: PairSource, folder: string) {
    this.source = source;
    this.#folder = folder;
    const fail = (error: Error) => {
      this.#error = error;
      this.#wake();
    };
    source.start({
      onPair: (pair) => {
        this.#ready.push(pair);
        this.#wake();
      },
      onDegraded: () => {},
      onEnd: () => fail(new DepthwattError("COMMAND_FAILED", "the helper ended before it was stopped")),
      onError: fail,
    });
  }

  /**
   * Starts the helper. In its command, {left}, {right} and {disparities} are replaced.
   * @throws DepthwattError of the source, IMAGE_SIZE_MISMATCH for pairs of another size; OUTPUT_UNWRITABLE
   */
  static async open(settings: HelperSettings, images: HelperImages): Promise<Helper> {
    const folder = await mkdtemp(join(tmpdir(), "depthwatt-helper-"));
    let helper: Helper | undefined;
    try {
      const { width, height } = images;
      const place = (name: "left" | "right") => join(folder, `${name}.png`);
      for (const name of ["left", "right"] as const)
        await writeImage(place(name), { data: images[name], width, height });
      const command = (settings.command ?? "")
        .replaceAll("{left}", place("left"))
        .replaceAll("{right}", place("right"))
        .replaceAll("{disparities}", String(images.numDisparities));
      const clean = (line: string) => redactUrl(printable(line));
      const { shell, timeoutMs } = settings;
      const source = await openForeignSource({ command, shell, timeoutMs, live: false, clean });
      helper = new Helper(source, folder);
      const found = source.description;
      if (found.width === width && found.height === height) return helper;
      throw new DepthwattError(
        "IMAGE_SIZE_MISMATCH",
        `expected pairs of the images' size ${width}x${height} from the helper, got ${found.width}x${found.height}`,
      );
    } catch (error) {
      await (helper?.close() ?? rm(folder, { recursive: true, force: true }));
      throw error;
    }
  }

  /** Returns the next pair; the caller releases it. @throws DepthwattError (as a rejection) when the helper fails */
  async next(): Promise<FramePair> {
    for (;;) {
      const pair = this.#ready.shift();
      if (pair !== undefined) return pair;
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async close(): Promise<void> {
    const stopped = this.source.stop();
    for (const pair of this.#ready.splice(0)) pair.release();
    await stopped;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
