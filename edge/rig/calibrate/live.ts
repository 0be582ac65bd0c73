// SPDX-License-Identifier: Apache-2.0
// Pairs of a board from cameras that run: looked at one after the other, kept where the guide reports it, solved next to it.
import {
  type Board,
  boardWords,
  type CalibrateExports,
  type CalibrationResult,
  CaptureGuide,
  calibratePairs,
  detectIn,
  type FramePair,
  type GreyImage,
  type Guidance,
  type GuideProgress,
  guessDetection,
  type ImageSize,
  LEAST_PAIRS,
  type LensModel,
  orientPair,
  type PairOrientation,
  type PairSource,
  type SeenPair,
  toGrey,
} from "../../../camera/index.js";
import { DepthwattError, isDepthwattError } from "../../../core/index.js";
import type { Looked, WantedBoard } from "./look.js";
import type { NamedPair } from "./read-pairs.js";

/** Looks come no closer than this: what a person sees as at once. */
const SHORTEST_MS = 100;
/** Looks that must agree on the size of a board that was not named. */
const AGREE = 3;

export interface LiveImages {
  readonly left: GreyImage;
  readonly right: GreyImage;
}

/** The state after a look, for the terminal and the page. */
export interface LiveLook {
  readonly images: LiveImages;
  /** Corners that were seen now, in both images. */
  readonly seen: SeenPair;
  readonly verdict: Guidance["verdict"];
  readonly text: string;
  readonly wanted: string;
  readonly board: string;
  /** Undefined until the size of the board is known. */
  readonly progress: GuideProgress | undefined;
  /** The result of the pairs taken so far; undefined before there are enough. */
  readonly result: CalibrationResult | undefined;
  /** Why the pairs taken so far make no calibration. */
  readonly trouble: string | undefined;
}

export interface LiveOptions {
  readonly lens: LensModel;
  readonly withoutK3: boolean;
  /** Makes the images upright; absent: they are. */
  readonly orientation?: PairOrientation;
  /** Ends the capture with what there is. */
  readonly signal: AbortSignal;
  readonly now?: () => number;
  onLook(look: LiveLook): void;
  /** A pair that is kept. */
  onTaken?(pair: NamedPair, images: LiveImages): void;
  /** Called with a notice for the log. */
  onNotice(text: string): void;
}

export interface LiveCapture extends Looked {
  readonly pairs: readonly NamedPair[];
  /** True if the guide ended the capture; false for the signal or the source's end. */
  readonly enough: boolean;
}

class Capture {
  readonly #native: CalibrateExports;
  readonly #wanted: WantedBoard;
  readonly #options: LiveOptions;
  readonly #images = new Map<string, LiveImages>();
  readonly #sizes: string[] = [];
  #board: Board | undefined;
  #guide: CaptureGuide | undefined;
  #imageSize: ImageSize | undefined;
  #looks = 0;
  #result: CalibrationResult | undefined;
  #trouble: string | undefined;
  #solving: Promise<void> | undefined;
  #failure: unknown;
  #enough = false;

  constructor(native: CalibrateExports, wanted: WantedBoard, options: LiveOptions) {
    this.#native = native;
    this.#wanted = wanted;
    this.#options = options;
    const { columns, rows } = wanted;
    if (columns !== undefined && rows !== undefined) this.#board = { ...wanted, columns, rows };
  }

  get enough(): boolean {
    return this.#enough;
  }

  async look(images: LiveImages, ms: number): Promise<void> {
    const { width, height } = images.left;
    if (images.right.width !== width || images.right.height !== height) {
      throw new DepthwattError(
        "IMAGE_SIZE_MISMATCH",
        `expected cameras of one size, found ${width}x${height} and ${images.right.width}x${images.right.height}`,
        { hint: "Set both cameras to the size that will be matched." },
      );
    }
    this.#imageSize ??= { width, height };
    const board = this.#board;
    const detect = (image: GreyImage) =>
      board === undefined ? guessDetection(this.#native, image) : detectIn(this.#native, image, board);
    const [left, right] = await Promise.all([detect(images.left), detect(images.right)]);
    const seen = { name: `pair ${++this.#looks}`, left, right };
    if (board === undefined) {
      this.#agree(seen);
      this.#report(images, seen, {
        verdict: "noBoard",
        text: "show the whole chessboard to both cameras",
        wanted: "the board",
      });
      return;
    }
    this.#guide ??= new CaptureGuide(board, this.#imageSize);
    const guidance = this.#guide.look(seen, ms);
    if (guidance.verdict === "taken") {
      this.#images.set(seen.name, images);
      this.#options.onTaken?.({ name: seen.name, read: () => Promise.resolve(images) }, images);
      this.#solveSoon();
    }
    this.#report(images, seen, guidance);
    this.#enough = guidance.enough;
  }

  #report(
    images: LiveImages,
    seen: SeenPair,
    { verdict, text, wanted }: Pick<Guidance, "verdict" | "text" | "wanted">,
  ): void {
    this.#options.onLook({
      images,
      seen,
      verdict,
      text,
      wanted,
      board: this.#board === undefined ? "not seen yet" : boardWords(this.#board),
      progress: this.#guide?.progress(),
      result: this.#result,
      trouble: this.#trouble,
    });
  }

  /** The size of the board that several looks see in both images. */
  #agree({ left, right }: SeenPair): void {
    if (left.absence !== "none" || right.absence !== "none") return;
    const size = `${left.columns}x${left.rows}`;
    if (size !== `${right.columns}x${right.rows}` || Math.min(left.columns, left.rows) < 3) return;
    this.#sizes.push(size);
    if (this.#sizes.filter((one) => one === size).length < AGREE) return;
    this.#board = { ...this.#wanted, columns: left.columns, rows: left.rows };
    this.#options.onNotice(`the board is taken to have ${boardWords(this.#board)}`);
  }

  /** Solves once at a time: pairs that are taken meanwhile belong to the next solution. */
  #solveSoon(): void {
    const guide = this.#guide!;
    if (this.#solving !== undefined || guide.pairs.length < LEAST_PAIRS) return;
    const { lens, withoutK3, onNotice } = this.#options;
    const taken = guide.pairs;
    this.#solving = calibratePairs(this.#native, taken, {
      board: this.#board!,
      lens,
      withoutK3,
      imageSize: this.#imageSize!,
    })
      .then((result) => {
        this.#result = result;
        this.#trouble = undefined;
        for (const name of guide.solved(result)) {
          this.#images.delete(name);
          const reason = result.pairs.find((pair) => pair.name === name)?.reason ?? "";
          onNotice(`${name} is left out: ${reason}`);
        }
      })
      .catch((error: unknown) => {
        // Exchanged or mirrored cameras are reported at once, and the person may continue.
        if (isDepthwattError(error)) this.#trouble = error.message;
        else this.#failure ??= error;
      })
      .finally(() => {
        this.#solving = undefined;
        if (guide.pairs.length > taken.length) this.#solveSoon();
      });
  }

  async finish(): Promise<LiveCapture> {
    while (this.#solving !== undefined) await this.#solving;
    if (this.#failure !== undefined) throw this.#failure;
    const board = this.#board;
    if (board === undefined || this.#guide === undefined || this.#imageSize === undefined) {
      throw new DepthwattError(
        "BOARD_NOT_FOUND",
        `expected a board before the cameras, saw none in ${this.#looks} looks`,
        {
          hint: "Show the whole board with its white border, flat, evenly lit and filling a third of the image.",
        },
      );
    }
    const seen = this.#guide.pairs;
    const pairs = seen.map(({ name }) => {
      const images = this.#images.get(name)!;
      return { name, read: () => Promise.resolve(images) };
    });
    return { board, imageSize: this.#imageSize, seen, notes: [], pairs, enough: this.#enough };
  }
}

/**
 * Captures until the guide has enough, the signal comes or the source ends. Starts the source; its opener stops it.
 * @throws DepthwattError BOARD_NOT_FOUND, IMAGE_SIZE_MISMATCH, and the error that ends the source
 */
export async function captureLive(
  native: CalibrateExports,
  source: PairSource,
  wanted: WantedBoard,
  options: LiveOptions,
): Promise<LiveCapture> {
  const capture = new Capture(native, wanted, options);
  const now = options.now ?? (() => performance.now());
  let work: Promise<void> | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;
  await new Promise<void>((resolve, reject) => {
    let over = false;
    const end = () => {
      over = true;
      Promise.resolve(work).then(resolve, reject);
    };
    if (options.signal.aborted) return end();
    options.signal.addEventListener("abort", end, { once: true });
    const take = (pair: FramePair) => {
      const ms = now();
      // The newest pair that comes when there is time for one.
      if (over || work !== undefined || ms < nextMs) return pair.release();
      nextMs = ms + SHORTEST_MS;
      const captured = { left: toGrey(pair.left), right: toGrey(pair.right) };
      const images = options.orientation ? orientPair(captured, options.orientation) : captured;
      const at = Number(pair.left.timestampNs) / 1e6;
      pair.release();
      work = capture.look(images, at).then(
        () => {
          work = undefined;
          if (capture.enough) end();
        },
        (error) => {
          over = true;
          reject(error);
        },
      );
    };
    source.start({
      onPair: take,
      onDegraded: (reason) => reason !== undefined && options.onNotice(reason),
      onWarning: (text) => options.onNotice(text),
      onEnd: end,
      onError: reject,
    });
  });
  return capture.finish();
}
