// SPDX-License-Identifier: Apache-2.0
// The pairs that a calibration looks at: files of folders by their names, or what another source delivers.
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import {
  type GreyImage,
  listImages,
  medianPeriodNs,
  type PairSource,
  planSteps,
  readGreyImage,
  readStereoSideBySide,
  settleTimes,
  toGrey,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";

export interface NamedPair {
  readonly name: string;
  /** Reads both images; may be called again. */
  read(): Promise<{ left: GreyImage; right: GreyImage }>;
  /** By camera next to the pair: its image of the same moment, if there is one. */
  readonly others?: readonly (OtherImage | undefined)[];
}

export interface OtherImage {
  readonly name: string;
  read(): Promise<GreyImage>;
}

/** A camera next to the pair and its images: a folder, a name with *, or a list file. */
export interface OtherPlace {
  readonly name: string;
  readonly place: string;
}

export interface PairPlaces {
  readonly left?: string | undefined;
  readonly right?: string | undefined;
  readonly sideBySide?: string | undefined;
}

/** In a folder with more images, every second, third, ... is used: a video shows the same pose many times. */
export const MAX_LOOKED_AT = 400;

const COUNTED_NS = 33_333_333n;

type Entries = ReturnType<typeof settleTimes>[number];

/**
 * Pairs of images on disk, as depthwatt run pairs them, and the images of other cameras nearest to each left one.
 * @throws DepthwattError SOURCE_UNREADABLE, SOURCE_EMPTY, USAGE
 */
export async function listPairs(
  { left, right, sideBySide }: PairPlaces,
  others: readonly OtherPlace[] = [],
): Promise<NamedPair[]> {
  if (sideBySide !== undefined) {
    if (others.length > 0)
      throw new DepthwattError("USAGE", "expected --other with --left and --right, got --side-by-side");
    const { files } = await listImages(sideBySide);
    return thinned(
      files.map((file) => ({
        name: basename(file),
        read: async () => {
          const { left: l, right: r } = await readStereoSideBySide(file);
          return { left: l, right: r };
        },
      })),
    );
  }
  if (left === undefined || right === undefined)
    throw new DepthwattError(
      "USAGE",
      "expected --left and --right, or --side-by-side, or --source FILE.mcap",
    );
  const listings = [await listImages(left), await listImages(right)];
  for (const { place } of others) listings.push(await listImages(place));
  const [lefts, rights, ...further] = settleTimes(listings, "auto", COUNTED_NS) as [
    Entries,
    Entries,
    ...Entries[],
  ];
  const period = medianPeriodNs(lefts) ?? COUNTED_NS;
  const ofLeft = further.map(
    (entries) =>
      new Map(planSteps(lefts, entries, period / 2n).map((step) => [step.left?.file, step.right?.file])),
  );
  const pairs = planSteps(lefts, rights, period / 2n).flatMap((step): NamedPair[] => {
    if (step.left === undefined || step.right === undefined) return [];
    const [a, b] = [step.left.file, step.right.file];
    return [
      {
        name: basename(a) === basename(b) ? basename(a) : `${basename(a)} and ${basename(b)}`,
        read: async () => {
          const [l, r] = await Promise.all([readGreyImage(a), readGreyImage(b)]);
          return { left: l, right: r };
        },
        others: ofLeft.map((files) => {
          const file = files.get(a);
          return file === undefined
            ? undefined
            : { name: basename(file), read: async () => readGreyImage(file) };
        }),
      },
    ];
  });
  if (pairs.length === 0) {
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${left} and ${right}: expected images of the same moments, found no pair`,
      {
        hint: "Give the files of one pair the same number or time, such as left07.png and right07.png.",
      },
    );
  }
  return thinned(pairs);
}

function thinned(pairs: NamedPair[]): NamedPair[] {
  const step = Math.ceil(pairs.length / MAX_LOOKED_AT);
  return pairs.filter((_, at) => at % step === 0);
}

/** Pairs of a recording or a live source, at least `intervalSeconds` apart. Images are held: at most MAX_LOOKED_AT of them. */
export async function takePairs(
  source: PairSource,
  intervalSeconds: number,
  onPair: (pair: NamedPair, images: { left: GreyImage; right: GreyImage }) => Promise<void>,
): Promise<void> {
  const intervalNs = BigInt(Math.round(intervalSeconds * 1e9));
  let firstNs: bigint | undefined;
  let lastNs: bigint | undefined;
  let taken = 0;
  // One at a time: a recording is read as fast as boards are found.
  let work: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    source.start({
      onPair: (pair) => {
        const { timestampNs } = pair.left;
        const due = lastNs === undefined || timestampNs - lastNs >= intervalNs;
        if (!due || taken >= MAX_LOOKED_AT) return pair.release();
        firstNs ??= timestampNs;
        lastNs = timestampNs;
        taken++;
        const seconds = Number(timestampNs - firstNs) / 1e9;
        const images = { left: toGrey(pair.left), right: toGrey(pair.right) };
        const named = { name: `${seconds.toFixed(2)} s`, read: () => Promise.resolve(images) };
        work = work.then(() => onPair(named, images)).finally(() => pair.release());
        work.catch(reject);
      },
      onDegraded: () => {},
      onEnd: () => void work.then(resolve, reject),
      onError: reject,
    });
  });
}

/** Runs `each` over all items, as many at a time as there are cores. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  each: (item: Item, at: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length);
  let next = 0;
  let failed = false;
  const worker = async () => {
    while (next < items.length && !failed) {
      const at = next++;
      try {
        results[at] = await each(items[at]!, at);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), items.length) }, worker));
  return results;
}
