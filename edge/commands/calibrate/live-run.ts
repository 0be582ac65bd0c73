// SPDX-License-Identifier: Apache-2.0
// depthwatt calibrate with live cameras: messages to the person who holds the board, in the terminal and on the live page.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  encodePng,
  makeFolder,
  orientPair,
  type PairOrientation,
  type PairSource,
  parseOrientation,
  reverseOrientation,
  TILTS,
} from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { LiveLine } from "../../cli/live-line.js";
import { kindFlag, loadFlagConfig, placeFlags } from "../../cli/options.js";
import { END_SIGNALS, note, printLine } from "../../cli/output.js";
import type { Config } from "../../config/index.js";
import { loadNative } from "../../contracts/native.js";
import { SharedHttp } from "../../http/index.js";
import { servePage } from "../../outputs/viewer/assets.js";
import { Hub } from "../../outputs/viewer/hub.js";
import {
  captureLive,
  type LiveCapture,
  type LiveImages,
  type LiveLook,
  lengthWords,
  type NamedPair,
  type WantedBoard,
} from "../../rig/calibrate/index.js";
import { openSource } from "../../run/open-source.js";
import { kindOfPath } from "../../sources/section.js";
import { CalibrationFeed } from "./calibration-feed.js";
import type { CalibrateFlags } from "./flags.js";

const LOG_MS = 2000;

const percent = (share: number) => `${Math.floor(100 * share)} %`;

/** "62 % | 9/15 pairs | seen in 75 % 70 % | tilts 5/8 | depth 4.1 mm at 1 m, ... | hold it into the upper left ..." */
export function guidanceLine({ progress, result, text, trouble }: LiveLook): string {
  const parts: string[] = [];
  if (progress !== undefined) {
    const { share, pairs, wantedPairs, covered, tilts } = progress;
    const tilted = TILTS.reduce((sum, side) => sum + Math.min(tilts[side], 2), 0);
    parts.push(
      percent(share),
      `${pairs}/${wantedPairs} pairs`,
      `seen in ${percent(covered.left)} and ${percent(covered.right)} of the images`,
      `tilts ${tilted}/${2 * TILTS.length}`,
    );
  }
  if (trouble !== undefined) parts.push(`problem: ${trouble}`);
  // The advice comes before the quality: the end of the line may be cut off.
  parts.push(text);
  if (result !== undefined) {
    const errors = result.depthErrors.map((one) => `${lengthWords(one.totalMetres)} at ${one.depthMetres} m`);
    parts.push(`depth error ${errors.join(", ")}`);
  }
  return parts.join(" | ");
}

/** Returns whether the flags name cameras; a recording and images are not live. */
export function isLive({ live, left, right, sideBySide }: CalibrateFlags): boolean {
  const paths = [left, right, sideBySide].filter((path) => path !== undefined);
  return live === true || paths.some((path) => kindOfPath(path) === "v4l2");
}

interface PageOfCapture {
  feed: CalibrationFeed | undefined;
  close(): Promise<void>;
}

async function openPage({ http, outputs, base, device }: Config): Promise<PageOfCapture> {
  if (!outputs.viewer.enabled) return { feed: undefined, close: async () => {} };
  const shared = new SharedHttp(http, (problem) => note(`http: ${problem.message}`));
  const { server, gate } = await shared.access();
  const hub = new Hub({ kind: "calibrate", origin: `${base}/${device}`, gate });
  servePage(server, hub);
  printLine(`page      ${server.url}`);
  return {
    feed: new CalibrationFeed(hub, device),
    async close() {
      hub.close();
      await shared.close();
    },
  };
}

/** Saves the pairs that were taken as depthwatt capture does: as they were captured. */
class Saver {
  readonly #folder: string;
  readonly #orientation: PairOrientation;
  readonly #writing: Promise<void>[] = [];

  constructor(folder: string, orientation: PairOrientation) {
    this.#folder = folder;
    this.#orientation = reverseOrientation(orientation);
    for (const side of ["left", "right"]) makeFolder(join(folder, side));
  }

  save({ name }: NamedPair, upright: LiveImages): void {
    const images = orientPair(upright, this.#orientation);
    const file = `${name.replace(/\D/g, "").padStart(6, "0")}.png`;
    for (const side of ["left", "right"] as const) {
      const path = join(this.#folder, side, file);
      const written = encodePng(images[side]).then((bytes) => writeFile(path, bytes));
      // Awaiting it reports the error.
      written.catch(() => {});
      this.#writing.push(written);
    }
  }

  async done(): Promise<void> {
    try {
      await Promise.all(this.#writing);
    } catch (cause) {
      const why = (cause as Error).message;
      throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write below ${this.#folder}: ${why}`, { cause });
    }
  }
}

export interface LiveRun {
  capture: LiveCapture;
  /** Reports the page how it ended, and closes it. */
  finish(result: string): Promise<void>;
}

async function openCameras(flags: CalibrateFlags): Promise<{ config: Config; source: PairSource }> {
  const { config } = loadFlagConfig(flags, { "source.kind": kindFlag(flags) }, placeFlags(flags));
  // The calibration that is to be made need not be there yet, and an old one may be of another size.
  const { file, ...calibration } = config.calibration;
  if (file !== undefined) note(`note: calibration.file (${file}) is not used`);
  const { source, warnings } = await openSource({ ...config, calibration }, { colours: false });
  for (const warning of warnings) note(`note: ${warning}`);
  return { config, source };
}

/** Captures until it is enough, or until the first signal; a second one ends the program. */
export async function runLive(flags: CalibrateFlags, wanted: WantedBoard): Promise<LiveRun> {
  const { config, source } = await openCameras(flags);
  const orientation = parseOrientation(config.rig.orientation);
  let saver: Saver | undefined;
  const ending = new AbortController();
  const end = () => ending.abort();
  const line = new LiveLine();
  let page: PageOfCapture | undefined;
  try {
    if (flags.save !== undefined) saver = new Saver(flags.save, orientation);
    if (!flags.json) printLine(`source    ${source.description.title}`);
    page = flags.json ? { feed: undefined, close: async () => {} } : await openPage(config);
    const { feed, close } = page;
    for (const name of END_SIGNALS) process.once(name, end);
    let said = { text: "", ms: Number.NEGATIVE_INFINITY };
    const capture = await captureLive(loadNative(), source, wanted, {
      lens: flags.lens,
      withoutK3: !flags.k3,
      orientation,
      signal: ending.signal,
      onLook: (look) => {
        feed?.look(look);
        // A terminal's line is renewed with every look; a log gets the pairs taken, and now and then the advice.
        const now = performance.now();
        const news = look.verdict === "taken" || (look.text !== said.text && now - said.ms > LOG_MS);
        if (!process.stderr.isTTY && !news) return;
        line.show(guidanceLine(look));
        said = { text: look.text, ms: now };
      },
      onTaken: (pair, images) => saver?.save(pair, images),
      onNotice: (text) => {
        line.finish();
        note(`note: ${text}`);
        feed?.notice(text);
      },
    });
    await saver?.done();
    return {
      capture,
      async finish(result) {
        feed?.finished(result);
        // A page that is open gets to see how it ended.
        if (feed !== undefined) await new Promise((resolve) => setTimeout(resolve, 200));
        await close();
      },
    };
  } catch (error) {
    await page?.close();
    throw error;
  } finally {
    line.finish();
    for (const name of END_SIGNALS) process.removeListener(name, end);
    await source.stop();
  }
}
