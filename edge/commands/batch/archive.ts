// SPDX-License-Identifier: Apache-2.0
// Lists the pairs of an archive: data sets, folders of left and right images, and folders that contain these.
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, extname, join, relative } from "node:path";
import { leftRightIn, listImages, medianPeriodNs, planSteps, settleTimes } from "../../../camera/index.js";
import { DepthwattError, isDepthwattError } from "../../../core/index.js";
import { readDataset } from "../../eval/dataset.js";

export interface ArchivePair {
  /** Unique in the archive; slashes make folders. */
  name: string;
  /** Paths below the archive. */
  left: string;
  right: string;
}

export interface Archive {
  /** By name, the same on every machine. */
  pairs: ArchivePair[];
  /** Images without a partner. */
  unmatched: number;
}

const DEEPEST = 4;
const COUNTED_PERIOD_NS = 33_333_333n;

/** @throws DepthwattError SOURCE_UNREADABLE, SOURCE_EMPTY, DATASET_INVALID */
export async function listArchive(root: string): Promise<Archive> {
  const archive: Archive = { pairs: [], unmatched: 0 };
  try {
    if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
      throw new DepthwattError(
        "SOURCE_UNREADABLE",
        `expected a folder of image pairs at ${root}, found none`,
      );
    await walk(root, root, 0, archive);
  } catch (cause) {
    if (isDepthwattError(cause) || (cause as NodeJS.ErrnoException).syscall === undefined) throw cause;
    throw new DepthwattError(
      "SOURCE_UNREADABLE",
      `expected a folder of image pairs at ${root}, found: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (archive.pairs.length === 0)
    throw new DepthwattError(
      "SOURCE_EMPTY",
      `${root}: expected dataset.json, left/ and right/, or mav0/ in it or below, found no pair`,
    );
  archive.pairs.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return archive;
}

async function walk(root: string, folder: string, depth: number, archive: Archive): Promise<void> {
  const below = (path: string) => relative(root, path);
  if (existsSync(join(folder, "dataset.json"))) {
    for (const { name, left, right } of await readDataset(folder))
      archive.pairs.push({
        name: below(join(folder, name)),
        left: below(join(folder, left)),
        right: below(join(folder, right)),
      });
    return;
  }
  const sides = leftRightIn(folder);
  if (sides !== undefined) return addLeftRight(root, folder, sides, archive);
  if (depth === DEEPEST) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory() && !entry.name.startsWith("."))
      await walk(root, join(folder, entry.name), depth + 1, archive);
}

async function addLeftRight(
  root: string,
  folder: string,
  { left, right }: { left: string; right: string },
  archive: Archive,
): Promise<void> {
  const listings = [await listImages(left), await listImages(right)];
  const [lefts, rights] = settleTimes(listings, "auto", COUNTED_PERIOD_NS);
  const window = (medianPeriodNs(lefts!) ?? COUNTED_PERIOD_NS) / 2n;
  for (const step of planSteps(lefts!, rights!, window)) {
    if (step.left === undefined || step.right === undefined) {
      archive.unmatched++;
      continue;
    }
    const { file } = step.left;
    const name = relative(root, join(folder, basename(file, extname(file))));
    archive.pairs.push({ name, left: relative(root, file), right: relative(root, step.right.file) });
  }
}
