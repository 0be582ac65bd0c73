// SPDX-License-Identifier: Apache-2.0
// The engine and a peer in turn on one pair: a disturbance of the machine meets both.
import { quantile } from "../../../core/index.js";
import { OPENCV_MODES, type OpencvMode, type OpencvPeer } from "./opencv-peer.js";

export interface PeerFigures {
  name: "OpenCV StereoSGBM";
  version: string;
  mode: OpencvMode;
  paths: number;
  threads: number;
  /** The peer's time, milliseconds a frame. */
  medianMs: number;
  /** The engine's time in the same rounds. */
  engineMedianMs: number;
  /** The peer's median over the engine's: how many times as fast the engine is. */
  ratio: number;
}

/**
 * @param computeFrame one frame of the engine; its milliseconds
 * @param rounds in each of which the engine and every mode compute for `seconds`
 * @param onRound called before each round
 */
export async function compareWithOpencv(
  computeFrame: () => Promise<number>,
  peer: OpencvPeer,
  { rounds, seconds, onRound }: { rounds: number; seconds: number; onRound?: (round: number) => void },
): Promise<PeerFigures[]> {
  const modes = Object.keys(OPENCV_MODES) as OpencvMode[];
  const engine: number[] = [];
  const theirs = new Map(modes.map((mode) => [mode, [] as number[]]));
  for (let round = 0; round < rounds; ++round) {
    onRound?.(round);
    const end = performance.now() + 1000 * seconds;
    do engine.push(await computeFrame());
    while (performance.now() < end);
    for (const mode of modes) theirs.get(mode)!.push(...(await peer.run(mode, seconds)));
  }
  const engineMedianMs = quantile(engine, 0.5);
  return modes.map((mode) => {
    const medianMs = quantile(theirs.get(mode)!, 0.5);
    const { version, threads } = peer;
    const paths = OPENCV_MODES[mode];
    const ratio = medianMs / engineMedianMs;
    return { name: "OpenCV StereoSGBM", version, mode, paths, threads, medianMs, engineMedianMs, ratio };
  });
}
