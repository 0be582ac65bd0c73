// SPDX-License-Identifier: Apache-2.0
// OpenCV next to the engine: the same pair, the same machine, in turn.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { DepthwattError } from "../../../core/index.js";

const SCRIPT = fileURLToPath(new URL("opencv_peer.py", import.meta.url));
/** Debian's own Python, because another one on the PATH does not see Debian's packages. */
const PYTHONS = ["python3", "/usr/bin/python3"];

/** StereoSGBM's modes by how many paths they aggregate. */
export const OPENCV_MODES = { "3WAY": 3, HH4: 4, HH: 8 } as const;
export type OpencvMode = keyof typeof OPENCV_MODES;

export interface PeerPair {
  width: number;
  height: number;
  numDisparities: number;
  threads: number;
  left: Uint8Array;
  right: Uint8Array;
}

export interface OpencvPeer {
  version: string;
  threads: number;
  /** @returns the milliseconds of each frame that was computed in that time, at least one */
  run(mode: OpencvMode, seconds: number): Promise<number[]>;
  close(): void;
}

/**
 * Opens OpenCV from Python on one pair of grey pictures, width x height bytes each.
 * @param pythons where to look, in this order
 * @throws DepthwattError PEER_UNAVAILABLE where no Python has OpenCV, or it fails; USAGE for disparities that it cannot search
 */
export async function openOpencvPeer(pair: PeerPair, pythons = PYTHONS): Promise<OpencvPeer> {
  const { width, height, numDisparities, threads } = pair;
  if (numDisparities % 16 !== 0) {
    throw new DepthwattError(
      "USAGE",
      `--peer opencv: expected a number of disparities that 16 divides, as OpenCV demands, got ${numDisparities}`,
    );
  }
  const python = pythons.find((name) => spawnSync(name, ["-c", "import cv2"]).status === 0);
  if (python === undefined) {
    throw new DepthwattError(
      "PEER_UNAVAILABLE",
      `--peer opencv: expected a Python with OpenCV, ${pythons.join(" and ")} cannot import cv2`,
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-peer-"));
  const files = (["left", "right"] as const).map((name) => {
    const file = join(folder, name);
    writeFileSync(file, pair[name]);
    return file;
  });
  const words = [width, height, numDisparities, threads].map(String);
  const child = spawn(python, [SCRIPT, ...words, ...files], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (piece) => {
    said += piece;
  });
  child.stdin.on("error", () => {}); // the missing line of output reports it
  child.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const close = () => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next();
    if (!done) return value;
    close();
    const last = said.trim().split("\n").at(-1) || "nothing was said";
    throw new DepthwattError("PEER_UNAVAILABLE", `--peer opencv: ${python} ended: ${last}`);
  };
  const { version, threads: used } = JSON.parse(await nextLine()) as { version: string; threads: number };
  return {
    version,
    threads: used,
    async run(mode, seconds) {
      child.stdin.write(`${mode} ${seconds}\n`);
      return JSON.parse(await nextLine()) as number[];
    },
    close,
  };
}
