// SPDX-License-Identifier: Apache-2.0
// depthwatt bench: how long a matcher takes on this machine.
import { type Command, Option } from "commander";
import { qualityWords } from "../../../cuda/index.js";
import { wholeNumber } from "../../cli/numbers.js";
import { type ConfigOptions, loadFlagConfig, withConfig, withExamples, withJson } from "../../cli/options.js";
import { printJson, printLine } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { type SettingOptions, settingFlags, withSettingFlags } from "../../cli/setting-flags.js";
import { parseRepeatedStage } from "../../profile/repeated-stage.js";
import { type BenchFigures, type PeerFigures, timeMatcher } from "./index.js";

const SETTINGS = ["numDisparities", "algorithm", "threads", "backend"] as const;

interface BenchFlags extends ConfigOptions, SettingOptions<(typeof SETTINGS)[number]> {
  width: string;
  height: string;
  frames?: string;
  peer?: "opencv";
  repeatStage?: string;
  json?: boolean;
}

function powerWords({
  measured,
  watts,
  joulesPerFrame,
  joulesPerFrameNet,
  fpsPerWatt,
}: BenchFigures): string {
  if (typeof watts !== "number") return `watts not measured: ${watts.reason}`;
  const parts = [`${watts.toFixed(2)} W`];
  if (typeof joulesPerFrame === "number") {
    const net =
      typeof joulesPerFrameNet === "number"
        ? `${joulesPerFrameNet.toFixed(4)} net of idle`
        : `net not measured: ${joulesPerFrameNet.reason}`;
    parts.push(`${joulesPerFrame.toFixed(4)} J a frame (${net})`);
  }
  if (typeof fpsPerWatt === "number") parts.push(`${fpsPerWatt.toFixed(2)} fps/W`);
  const of = measured === null ? "" : `; measured: ${measured.what}`;
  return `${parts.join(", ")}${of}`;
}

function settingsWords({ changedSettings }: BenchFigures): string {
  const changed = Object.entries(changedSettings).map(([key, value]) => `${key}=${value ?? ""}`);
  return changed.length === 0 ? "the defaults" : `the defaults, but ${changed.join(" ")}`;
}

const peerWords = ({ name, version, mode, paths, threads, medianMs, engineMedianMs, ratio }: PeerFigures) =>
  `${name} ${version}, ${mode} (${paths} paths), ${threads} ${threads === 1 ? "thread" : "threads"}: median ` +
  `${medianMs.toFixed(2)} ms; depthwatt in turn ${engineMedianMs.toFixed(2)} ms, ${ratio.toFixed(2)} times as fast`;

/** Returns the figures as lines for a person. */
export function benchLines(figures: BenchFigures): string[] {
  const { medianMs, p95Ms, minMs, fps, megaDisparitiesPerSecond } = figures;
  const stages = Object.entries(figures.stages).map(([name, ms]) => `${name} ${ms.toFixed(2)}`);
  const { repeatedStage } = figures;
  const repeated =
    repeatedStage === null ? "" : ` (${repeatedStage.stage} ${repeatedStage.times} times a frame)`;
  return [
    `${figures.algorithm} ${figures.width}x${figures.height}, ${[`${figures.numDisparities} disparities`, ...qualityWords(figures)].join(", ")}${figures.halfResolution ? ", half resolution" : ""}`,
    `${figures.backend} ${figures.instructionSet}, ${figures.threads} ${figures.threads === 1 ? "thread" : "threads"}, ${figures.frames} frames`,
    `median ${medianMs.toFixed(2)} ms, p95 ${p95Ms.toFixed(2)} ms, minimum ${minMs.toFixed(2)} ms: ${fps.toFixed(1)} fps, ${megaDisparitiesPerSecond.toFixed(0)} million disparities/s`,
    `stages, median ms: ${stages.join(", ")}${repeated}`,
    `peak memory ${figures.peakResidentMb.toFixed(0)} MB, ${powerWords(figures)}`,
    `settings: ${settingsWords(figures)}`,
    ...figures.peers.map(peerWords),
  ];
}

async function run(flags: BenchFlags): Promise<void> {
  const { config } = loadFlagConfig(flags, settingFlags(flags));
  const progress = new Progress();
  const figures = await timeMatcher({
    config,
    width: wholeNumber("--width", flags.width, 16, 16_384),
    height: wholeNumber("--height", flags.height, 16, 16_384),
    frames: flags.frames === undefined ? undefined : wholeNumber("--frames", flags.frames, 1, 1_000_000),
    peer: flags.peer,
    ...(flags.repeatStage !== undefined && {
      repeatStage: parseRepeatedStage("--repeat-stage", flags.repeatStage),
    }),
    onStep: (done, total, step) => progress.show(done, total, step),
  }).finally(() => progress.clear());
  if (flags.json) printJson(figures);
  else for (const line of benchLines(figures)) printLine(line);
}

export function define(command: Command): void {
  command.option("--width <pixels>", "image width", "640").option("--height <pixels>", "image height", "480");
  withSettingFlags(command, ...SETTINGS)
    .option("--frames <n>", "timed frames (default: as many as 2 seconds hold, at least 20)")
    .option("--repeat-stage <name=n>", "run one stage n times in every frame, to measure its cost")
    .addOption(new Option("--peer <name>", "also time another program on the same pair").choices(["opencv"]));
  withJson(withConfig(command), "print one line of JSON");
  withExamples(
    command,
    "depthwatt bench --num-disparities 128 --set match.sgm.paths=8 --json",
    "depthwatt bench --repeat-stage median=50",
    "depthwatt bench --peer opencv --num-disparities 128",
    "DEPTHWATT_ISA=avx2 depthwatt bench --width 1280 --height 720 --threads 1",
  );
  command.action(run);
}
