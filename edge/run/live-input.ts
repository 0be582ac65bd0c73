// SPDX-License-Identifier: Apache-2.0
// Opens the source and its rectification, and changes them during the run. Everything that can fail happens next to the
// running source.
import { realpathSync } from "node:fs";
import type { PairSource, SourceDescription, StereoCalibration } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { Config } from "../config/index.js";
import type { OutputPicture } from "../contracts/output.js";
import { configuredGeometry, type PipelineGeometry } from "../pipeline/geometry.js";
import { ExchangeableSource, type FeedDropCause, type Successor } from "../sources/exchangeable-source.js";
import { calibrationFor, openSource } from "./open-source.js";
import { sourceRequirements } from "./source-requirements.js";

/** Another source, another calibration, or both, ready to be used. Exactly one of its methods must be called. */
export interface NextInput {
  source: PairSource;
  geometry: PipelineGeometry;
  warnings: readonly string[];
  /** From here on it is this run's. */
  takeOver(): void;
  discard(): Promise<void>;
}

const LAYOUT = [
  "width",
  "height",
  "leftFormat",
  "rightFormat",
  "leftStrideBytes",
  "rightStrideBytes",
] as const;

const isSameLayout = (one: SourceDescription, other: SourceDescription): boolean =>
  LAYOUT.every((key) => one[key] === other[key]) && JSON.stringify(one.other) === JSON.stringify(other.other);

/** Devices that this configuration opens, by the name of their node. */
function inputDevices({ source }: Config): string[] {
  if (source.kind !== "v4l2") return [];
  const { left, right, sideBySide, other } = source.v4l2;
  return [left, right, sideBySide, other.device].flatMap((path) => {
    if (path === undefined) return [];
    try {
      return [realpathSync(path)];
    } catch {
      return [path];
    }
  });
}

/**
 * A command may take its time until the first frame: the request is answered when the run ends, and a source that opens
 * later is stopped.
 */
async function openUnlessEnded(config: Config, signal: AbortSignal): ReturnType<typeof openSource> {
  const ended = () => new DepthwattError("RUN_ENDED", "the run ended before the new source was open");
  if (signal.aborted) throw ended();
  const opening = openSource(config);
  let end = () => {};
  const ending = new Promise<void>((resolve) => {
    end = resolve;
    signal.addEventListener("abort", end);
  });
  await Promise.race([opening, ending]).finally(() => signal.removeEventListener("abort", end));
  if (!signal.aborted) return opening;
  void opening.then(({ source }) => source.stop()).catch(() => {});
  throw ended();
}

/** Sources that can be opened a second time while they are in use: a camera cannot, and a command may read one. */
const OPENS_TWICE: readonly string[] = ["replay", "synthetic"];

export class LiveInput {
  readonly source: ExchangeableSource;
  readonly warnings: readonly string[];
  /** The configuration that the source in use was opened with. */
  #config: Config;
  #geometry: PipelineGeometry;
  /** The calibration that the source brought; undefined: the configured one is used. */
  #brought: StereoCalibration | undefined;

  private constructor(
    config: Config,
    source: ExchangeableSource,
    geometry: PipelineGeometry,
    brought: StereoCalibration | undefined,
    warnings: readonly string[],
  ) {
    this.#config = config;
    this.source = source;
    this.warnings = warnings;
    this.#geometry = geometry;
    this.#brought = brought;
  }

  /**
   * @param onDropped pairs that a change of the source or a sleep left behind
   * @throws DepthwattError of the source or of its calibration; what was opened is stopped again
   */
  static async open(
    config: Config,
    onDropped: (pairs: number, cause: FeedDropCause) => void,
  ): Promise<LiveInput> {
    const { source, calibration, brought, warnings } = await openSource(config);
    try {
      const geometry = configuredGeometry(config, source.description, calibration);
      const exchangeable = new ExchangeableSource(source, { onDropped });
      return new LiveInput(config, exchangeable, geometry, brought ? calibration : undefined, warnings);
    } catch (error) {
      await source.stop();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.source.stop();
  }

  get geometry(): PipelineGeometry {
    return this.#geometry;
  }

  /** Describes the frames. */
  get picture(): OutputPicture {
    const { width, height, depth, rig } = this.#geometry;
    const { description } = this.source;
    const { rateHz } = description;
    const { camera } = this.#config.registration;
    const hasDepth = depth !== undefined;
    return { width, height, hasDepth, rig, input: description, rateHz, camera };
  }

  /**
   * @param changed keys whose value in `config` is another than before
   * @param signal the run ends: nothing is waited for any more
   * @returns undefined where none of them changes what comes in
   * @throws DepthwattError of the source or of its calibration; the running source continues
   */
  async prepare(
    config: Config,
    changed: readonly string[],
    signal: AbortSignal,
  ): Promise<NextInput | undefined> {
    const { kind } = config.source;
    if (changed.some((key) => key === "source.kind" || key.startsWith(`source.${kind}.`)))
      return this.#prepareSource(config, signal);
    // A run that is started with this matcher would have opened it with, or without, colours.
    const recoloured = sourceRequirements(config).colours !== sourceRequirements(this.#config).colours;
    if (recoloured && OPENS_TWICE.includes(kind)) return this.#prepareSource(config, signal);
    if (changed.some((key) => /^(calibration|rig)\./.test(key))) return this.#prepareCalibration(config);
    return undefined;
  }

  async #prepareSource(config: Config, signal: AbortSignal): Promise<NextInput> {
    const inUse = inputDevices(this.#config);
    const again = inputDevices(config).find((device) => inUse.includes(device));
    if (again !== undefined) {
      throw new DepthwattError(
        "SETTING_NEEDS_RESTART",
        `expected a camera that is not in use, but the running source has ${again}, and a camera cannot be opened twice; nothing was changed`,
        { hint: "Restart depthwatt with the setting changed.", context: { device: again } },
      );
    }
    const { source, calibration, brought, warnings } = await openUnlessEnded(config, signal);
    let geometry: PipelineGeometry;
    let successor: Successor;
    try {
      geometry = configuredGeometry(config, source.description, calibration);
      successor = await this.source.prepare(source, signal);
    } catch (error) {
      await source.stop();
      throw error;
    }
    const takeOver = () => {
      this.#config = config;
      this.#geometry = geometry;
      this.#brought = brought ? calibration : undefined;
      successor.takeOver();
    };
    return { source, geometry, warnings, takeOver, discard: () => successor.discard() };
  }

  /**
   * Opens the source again after source.suspend().
   * @returns with its geometry; `isSame`: images and geometry are those of before
   * @throws DepthwattError of the source or of its calibration
   */
  async reopen(config: Config, signal: AbortSignal): Promise<{ next: NextInput; isSame: boolean }> {
    const { source, calibration, brought, warnings } = await openUnlessEnded(config, signal);
    const isSame = isSameLayout(source.description, this.source.description);
    try {
      const geometry = isSame ? this.#geometry : configuredGeometry(config, source.description, calibration);
      const takeOver = () => {
        this.#config = config;
        this.#geometry = geometry;
        this.#brought = brought ? calibration : undefined;
        this.source.resume(source);
      };
      return { next: { source, geometry, warnings, takeOver, discard: () => source.stop() }, isSame };
    } catch (error) {
      await source.stop();
      throw error;
    }
  }

  async #prepareCalibration(config: Config): Promise<NextInput> {
    const { source } = this;
    const { calibration = this.#brought, warnings } =
      this.#brought === undefined ? await calibrationFor(config, source) : { warnings: [] };
    const geometry = configuredGeometry(config, source.description, calibration);
    const takeOver = () => {
      this.#geometry = geometry;
    };
    return { source, geometry, warnings, takeOver, discard: async () => {} };
  }
}
