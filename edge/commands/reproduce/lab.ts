// SPDX-License-Identifier: Apache-2.0
// Reads scenes and matches them for the rows of a paper. Rows that need the same result share it.
import { join } from "node:path";
import { SceneRenderer } from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { createEngine, readsColours } from "../../../cuda/index.js";
import { type Config, loadConfig } from "../../config/index.js";
import { loadNative } from "../../contracts/native.js";
import {
  type EngineMatched,
  engineMatcher,
  engineOptionsFor,
  evaluate,
  readDataset,
  readScene,
  type Scene,
  type SceneResult,
} from "../../eval/index.js";
import { openMeter } from "../../power/open-meter.js";
import type { KernelTimes } from "../../profile/kernel-times.js";

/** A preset with changed settings. */
export interface System {
  preset: string;
  /** "key=value", as --set takes them. */
  set?: readonly string[];
}

/** A scene of a data set, searched over the paper's own number of disparities. */
export interface Place {
  /** Folder below the data folder. */
  folder: string;
  scene: string;
  /** By default what the data set says. */
  numDisparities?: number;
}

export type Measured = SceneResult & { weight: number } & Pick<EngineMatched, "backend" | "stages">;

export interface LabOptions {
  /** Folder of the research data; undefined: every row that needs data is a gap. */
  data: string | undefined;
  backend: string;
  /** Timed frames, whose median counts. */
  frames: number;
  /** Times of the kernels before their optimisations; undefined: rows that need them are gaps. */
  kernels?: KernelTimes | undefined;
  onMatch?: (what: string) => void;
}

export const KERNELS_HINT =
  "make it on a machine with an NVIDIA GPU: bash cuda/check/check.sh --baselines --out OUT, then name OUT/baselines.json";

/** Clocks settle, then a window that a power sensor can fill. */
const WARM_UP_SECONDS = 0.5;
const POWER_SECONDS = 2;

/** A frame of the built-in scene in which the moving object is near. */
const SCENE_FRAME = 40;

export class Lab {
  readonly #options: LabOptions;
  /** Backend that computed the last result; undefined before the first. */
  usedBackend: string | undefined;
  readonly #results = new Map<string, Promise<unknown>>();

  constructor(options: LabOptions) {
    this.#options = options;
  }

  /** Returns the result of `compute`, which runs once for a key. A failure is kept too. */
  #once<T>(key: string, compute: () => Promise<T>): Promise<T> {
    const known = this.#results.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const result = compute();
    this.#results.set(key, result);
    return result;
  }

  /**
   * Milliseconds of a form of a kernel on the whole GPU, as bench_baselines names it.
   * @param where other fields of the row
   * @throws DepthwattError USAGE: --kernels was not given or lacks the form
   */
  kernelMs(what: string, where: Readonly<Record<string, unknown>>): number {
    const { kernels } = this.#options;
    if (kernels === undefined)
      throw new DepthwattError("USAGE", `expected --kernels with the times of this machine; ${KERNELS_HINT}`);
    const rows = kernels.rows.filter(
      (row) => row.what === what && Object.entries(where).every(([key, value]) => row[key] === value),
    );
    const [whole] = rows.sort((a, b) => b.multiprocessors - a.multiprocessors);
    if (whole === undefined)
      throw new DepthwattError("USAGE", `expected --kernels to hold "${what}"; ${KERNELS_HINT}`);
    return whole.medianMs;
  }

  #config({ preset, set = [] }: System): Config {
    const all = ["board=none", ...set, `engine.backend=${this.#options.backend}`];
    return loadConfig({ preset, set: all, environment: {} }).config;
  }

  /** The names of the scenes of a data set. @throws DepthwattError DATASET_INVALID */
  async scenes(folder: string): Promise<string[]> {
    return (await this.#entries(folder)).map(({ name }) => name);
  }

  #entries(folder: string) {
    const { data } = this.#options;
    if (data === undefined)
      throw new DepthwattError(
        "DATASET_INVALID",
        `expected a folder with ${folder}; set DEPTHWATT_DATA or --data`,
      );
    return this.#once(`entries ${folder}`, () => readDataset(join(data, folder)));
  }

  /** Reads a scene. @param colours RGB8 where the images have colours */
  scene({ folder, scene, numDisparities }: Place, colours: boolean): Promise<Scene> {
    return this.#once(JSON.stringify([folder, scene, numDisparities, colours]), async () => {
      const entry = (await this.#entries(folder)).find(({ name }) => name === scene);
      if (entry === undefined)
        throw new DepthwattError("DATASET_INVALID", `${folder}: expected a scene ${scene}, found none`);
      const read = await readScene(entry, colours);
      return { ...read, numDisparities: numDisparities ?? read.numDisparities };
    });
  }

  /**
   * Matches one scene and scores it.
   * @param timed false: one frame alone, and milliseconds is NaN
   * @throws DepthwattError for data or a backend that is missing or broken
   */
  match(system: System, place: Place, { timed = true } = {}): Promise<Measured> {
    const create = (colours: boolean) => this.scene(place, colours);
    return this.matchScene(system, JSON.stringify(place), create, { timed });
  }

  /** Matches and scores a scene that `create` makes. @param name another one for every scene */
  async matchScene(
    system: System,
    name: string,
    create: (colours: boolean) => Promise<Scene>,
    { timed = true } = {},
  ): Promise<Measured> {
    const config = this.#config(system);
    return this.#once(JSON.stringify([system, name, timed]), async () => {
      const scene = await create(readsColours(config.match.algorithm));
      this.#options.onMatch?.(`${[system.preset, ...(system.set ?? [])].join(" ")}: ${scene.name}`);
      const frames = timed ? this.#options.frames : 0;
      const match = engineMatcher({ config, fixedNumDisparities: false, frames, createEngine });
      let matched: EngineMatched | undefined;
      const { scenes } = await evaluate([scene], async (one) => (matched = await match(one)));
      const { backend, stages } = matched!;
      this.usedBackend = backend;
      return { ...scenes[0]!, weight: scene.weight ?? 1, backend, stages };
    });
  }

  /** Times a system on a pair of the built-in scene. */
  time(system: System, width: number, height: number, numDisparities: number): Promise<Measured> {
    return this.matchScene(system, `${width} x ${height} x ${numDisparities}`, async () => ({
      ...(await builtInPair(width, height)),
      name: `built-in scene, ${width} x ${height}`,
      format: "GREY",
      width,
      height,
      truth: new Float32Array(width * height).fill(Number.POSITIVE_INFINITY),
      masks: new Map(),
      numDisparities,
      badThresholdPx: 1,
    }));
  }

  /**
   * Returns frames per second and watt of the power sensor, idle power included, for two seconds at full rate.
   * @throws DepthwattError SENSOR_UNAVAILABLE
   */
  async framesPerWatt(
    system: System,
    width: number,
    height: number,
    numDisparities: number,
  ): Promise<number> {
    const config = this.#config(system);
    const { left, right } = await builtInPair(width, height);
    const engine = createEngine(engineOptionsFor(config, width, height, numDisparities));
    const meter = openMeter({ ...config.power, native: loadNative() });
    try {
      const compute = async (seconds: number, onFrame: (startedNs: bigint) => void) => {
        for (const until = performance.now() + 1000 * seconds; performance.now() < until; ) {
          const startedNs = process.hrtime.bigint();
          await engine.compute(left, right);
          onFrame(startedNs);
        }
      };
      await compute(WARM_UP_SECONDS, () => {});
      meter.start();
      await compute(POWER_SECONDS, (startedNs) => meter.frame(startedNs));
      const power = meter.sinceStart(width * height * numDisparities * 1e-6);
      const perWatt = power.available ? power.fpsPerWatt : power;
      if (typeof perWatt === "number") return perWatt;
      throw new DepthwattError("SENSOR_UNAVAILABLE", `expected a power sensor: ${perWatt.reason}`);
    } finally {
      meter.close();
      engine.close();
    }
  }
}

async function builtInPair(width: number, height: number) {
  const renderer = new SceneRenderer(loadNative(), { width, height, view: "rectified" });
  try {
    const { left, right } = await renderer.frame(SCENE_FRAME);
    return { left: left.data as Uint8Array, right: right.data as Uint8Array };
  } finally {
    renderer.close();
  }
}
