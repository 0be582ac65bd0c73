// SPDX-License-Identifier: Apache-2.0
// Looks for the board in every pair: its size is checked, or guessed from what most images show.
import {
  type Board,
  boardWords,
  type CalibrateExports,
  type Detection,
  detectIn,
  type GreyImage,
  guessBoard,
  guessDetection,
  type ImageSize,
  type SeenPair,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { inParallel, type NamedPair } from "./read-pairs.js";

/** The board with what may be left to guess. */
export type WantedBoard = Omit<Board, "columns" | "rows"> & { columns?: number; rows?: number };

export interface Looked {
  readonly board: Board;
  readonly imageSize: ImageSize;
  readonly seen: readonly SeenPair[];
  /** Size of the images of each camera next to the pair. */
  readonly otherSizes?: readonly ImageSize[];
  /** Notes for the user about the board's size. */
  readonly notes: readonly string[];
}

/** All images of a rig have one size. @throws DepthwattError IMAGE_SIZE_MISMATCH */
class OneSize {
  #first: { name: string; width: number; height: number } | undefined;

  check(name: string, { width, height }: GreyImage): void {
    this.#first ??= { name, width, height };
    if (this.#first.width === width && this.#first.height === height) return;
    throw new DepthwattError(
      "IMAGE_SIZE_MISMATCH",
      `${name}: expected ${this.#first.width}x${this.#first.height} as in ${this.#first.name}, found ${width}x${height}`,
      { hint: "Calibrate from images of the size that will be matched; remove the others." },
    );
  }

  get size(): ImageSize {
    return { width: this.#first!.width, height: this.#first!.height };
  }
}

async function both(
  { left, right }: { left: GreyImage; right: GreyImage },
  look: (image: GreyImage) => Promise<Detection>,
): Promise<{ left: Detection; right: Detection }> {
  const [l, r] = await Promise.all([look(left), look(right)]);
  return { left: l, right: r };
}

/**
 * @param onProgress pairs that are done, of how many
 * @throws DepthwattError BOARD_NOT_FOUND, IMAGE_SIZE_MISMATCH, and of reading
 */
export async function lookForBoard(
  native: CalibrateExports,
  pairs: readonly NamedPair[],
  wanted: WantedBoard,
  onProgress: (done: number, of: number) => void,
): Promise<Looked> {
  const size = new OneSize();
  let done = 0;
  const { columns, rows } = wanted;
  const known = columns !== undefined && rows !== undefined ? { ...wanted, columns, rows } : undefined;
  const first = await inParallel(pairs, async (pair): Promise<SeenPair> => {
    const images = await pair.read();
    size.check(`${pair.name} (left)`, images.left);
    size.check(`${pair.name} (right)`, images.right);
    const found = await both(images, (image) =>
      known === undefined ? guessDetection(native, image) : detectIn(native, image, known),
    );
    onProgress(++done, pairs.length);
    return { name: pair.name, ...found };
  });
  if (known !== undefined) {
    const notes = await sizeDoubts(native, pairs, first, known);
    return { board: known, imageSize: size.size, seen: first, notes };
  }
  const guess = guessBoard(first.flatMap(({ left, right }) => [left, right]));
  const board = { ...wanted, columns: guess.columns, rows: guess.rows };
  // Images that showed another size are looked at again for this one.
  const fits = ({ absence, columns: c, rows: r }: Detection) =>
    absence === "none" && c === board.columns && r === board.rows;
  const seen = await inParallel(pairs, async (pair, at): Promise<SeenPair> => {
    const before = first[at]!;
    if (fits(before.left) && fits(before.right)) return before;
    const images = await pair.read();
    return {
      name: pair.name,
      left: fits(before.left) ? before.left : await detectIn(native, images.left, board),
      right: fits(before.right) ? before.right : await detectIn(native, images.right, board),
    };
  });
  const notes = [
    `the board has ${boardWords(board)}, found in ${guess.pictures} of ${guess.ofPictures} images`,
  ];
  return { board, imageSize: size.size, seen, notes };
}

/**
 * Looks for the board in the images of cameras next to the pair.
 * @param names of the cameras, in the order of NamedPair.others
 * @throws DepthwattError SOURCE_EMPTY if no image is of a pair's moment, IMAGE_SIZE_MISMATCH, and of reading
 */
export async function lookForOthers(
  native: CalibrateExports,
  pairs: readonly NamedPair[],
  looked: Looked,
  names: readonly string[],
): Promise<Looked> {
  const sizes = names.map(() => new OneSize());
  names.forEach((name, at) => {
    if (pairs.some(({ others }) => others?.[at] !== undefined)) return;
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `camera ${name}: expected images of the pairs' moments, found none`,
      {
        hint: "Give the files of one moment the same number or time, such as left07.png and rgb07.png.",
      },
    );
  });
  const seen = await inParallel(
    pairs,
    async ({ others = [] }, at): Promise<SeenPair> => ({
      ...looked.seen[at]!,
      others: await Promise.all(
        others.map(async (other, camera) => {
          if (other === undefined) return undefined;
          const image = await other.read();
          sizes[camera]!.check(`${other.name} (${names[camera]})`, image);
          return detectIn(native, image, looked.board);
        }),
      ),
    }),
  );
  return { ...looked, seen, otherSizes: sizes.map(({ size }) => size) };
}

/** Where hardly any image shows the board that was named: which one do they show? */
async function sizeDoubts(
  native: CalibrateExports,
  pairs: readonly NamedPair[],
  seen: readonly SeenPair[],
  board: Board,
): Promise<string[]> {
  const found = seen.filter(({ left, right }) => left.absence === "none" && right.absence === "none").length;
  if (board.pattern !== "chessboard" || found > 0) return [];
  const some = pairs.slice(0, 12);
  const guesses = await inParallel(some, async (pair) =>
    both(await pair.read(), (image) => guessDetection(native, image)),
  );
  const { columns, rows } = guessBoard(guesses.flatMap(({ left, right }) => [left, right]));
  if (columns === board.columns && rows === board.rows) return [];
  const squares = columns + 1 === board.columns && rows + 1 === board.rows;
  const turned = columns === board.rows && rows === board.columns;
  if (turned) return [];
  throw new DepthwattError(
    "BOARD_NOT_FOUND",
    `expected a board of ${boardWords(board)}, the images show one of ${columns}x${rows}` +
      (squares ? `: ${board.columns}x${board.rows} are its squares` : ""),
    { hint: `Say --board ${columns}x${rows}, or leave --board out.` },
  );
}
