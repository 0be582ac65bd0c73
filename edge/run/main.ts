// SPDX-License-Identifier: Apache-2.0
// The composition root: what depthwatt is made of, in the order in which a frame passes.
//   capture -> pair -> rectify -> match -> refine -> depth -> encode -> publish, and power next to it
import { qualityWords } from "../../cuda/index.js";
import type { Meter } from "../../power/index.js";
import { type BoardChoice, type Config, chooseBoard } from "../config/index.js";
import { loadNative } from "../contracts/native.js";
import { CountsByCause } from "../contracts/statistics.js";
import { Snapshots } from "../control/snapshot.js";
import { DutyCycle } from "../duty/index.js";
import { RateGate } from "../governor/index.js";
import { GpuRetry } from "../gpu/index.js";
import { SharedHttp } from "../http/index.js";
import { MatchWatch } from "../match/match-watch.js";
import { Outputs, PreparedOutputs } from "../outputs/outputs.js";
import { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { Pipeline } from "../pipeline/pipeline.js";
import { EnergyLog } from "../power/energy-log.js";
import { openMeter } from "../power/open-meter.js";
import { RigWatch } from "../rig/health/index.js";
import { runEngineOptions } from "./engine-options.js";
import { cameraInfo, runtimeInfo } from "./info.js";
import { LiveInput } from "./live-input.js";
import { openControl } from "./open-control.js";
import type { RuntimeParts } from "./parts.js";
import { Reporter } from "./reporter.js";
import { Runtime, type RuntimeEvents, type RuntimeHost } from "./runtime.js";
import type { SharedParts } from "./shared-parts.js";

/**
 * Opens everything the configuration asks for; `run()` of the result starts it.
 * @param frames ends the run after this many frames
 * @param host requests that control accepts in addition to settings
 * @param shared the parts that this process has once for several rigs; default: the run opens them itself
 * @throws DepthwattError of the part that cannot be opened; the parts opened before are closed again
 */
export async function openRuntime(
  config: Config,
  frames: number | undefined,
  events: RuntimeEvents,
  host: RuntimeHost = {},
  shared?: SharedParts,
): Promise<Runtime> {
  const runtime = new Runtime(config, events);
  try {
    // Outputs with their own thread start it now, while the rest is opened.
    const prepared = runtime.owns(shared?.prepare(config.outputs) ?? new PreparedOutputs(config.outputs));
    const drops = new CountsByCause();
    const input = await openInput(runtime, drops);
    const duty = createDutyCycle(runtime);
    const source = new RateGate(
      input.source,
      (cause) => drops.add(cause),
      (pair) => duty.admit(pair),
    );
    const engine = openEngine(runtime, input, source, shared);
    const gpu = openGpuRetry(runtime, engine);
    const health = openRigWatch(runtime, input, engine);
    const matching = openMatchWatch(runtime, engine, health);
    const snapshots = openSnapshots(runtime, input);
    const outputs = await openOutputs(runtime, host, { prepared, input, engine, snapshots, shared });
    const board = chooseBoard(config.board);
    const meter = shared?.meter ?? openPower(runtime, board);
    const pipeline = joinPipeline(runtime, { source, input, engine, outputs, snapshots }, drops, frames);
    const energyLog = shared ? NO_LOG : openEnergyLog(runtime, { meter, engine, pipeline, duty });
    const parts = {
      board,
      source,
      input,
      duty,
      engine,
      gpu,
      meter,
      energyLog,
      health,
      matching,
      pipeline,
      outputs,
      snapshots,
      shared,
    };
    runtime.assemble({ ...parts, reporter: createReporter(runtime, parts) });
    return runtime;
  } catch (error) {
    await runtime.close();
    throw error;
  }
}

/** The energy log of a rig: its board has one for all of them. */
const NO_LOG: RuntimeParts["energyLog"] = { begin() {}, end() {} };

/** Opens capture and pairing. */
async function openInput(runtime: Runtime, drops: CountsByCause): Promise<LiveInput> {
  return runtime.owns(await LiveInput.open(runtime.config, (pairs, cause) => drops.add(cause, pairs)));
}

/** Decides when the cameras are closed to save energy. */
function createDutyCycle(runtime: Runtime): DutyCycle {
  return new DutyCycle({
    settings: runtime.config.power.dutyCycle,
    sleep: (isWanted) => runtime.sleep(isWanted),
    wake: (isWanted) => runtime.wake(isWanted),
    framesInWork: () => runtime.parts.pipeline.inWork,
    joules: () => {
      const power = runtime.parts.meter.sinceStart();
      return power.available ? power.joules : { available: false, reason: power.reason };
    },
    onState: (reason) => runtime.dutyChanged(reason),
    onProblem: (problem) => runtime.degraded(problem),
    onNotice: (notice) => runtime.notice(notice),
  });
}

/** Opens the engine: rectify, match, refine, depth, encode. */
function openEngine(
  runtime: Runtime,
  { geometry }: LiveInput,
  source: RateGate,
  shared: SharedParts | undefined,
): AdjustableEngine {
  const engine = new AdjustableEngine(runEngineOptions(runtime.config, source, geometry, shared), {
    onProblem: (problem) => runtime.notice(problem.message),
    onChange: (options) => runtime.engineChanged(options),
  });
  return runtime.owns(engine);
}

/** Looks for the GPU again if the CPU had to begin. */
function openGpuRetry(runtime: Runtime, engine: AdjustableEngine): GpuRetry {
  const events = {
    onMissing: (reason: string, code: string) => runtime.backendLost(reason, code),
    onFound: () => runtime.backendFound(),
  };
  return runtime.owns(new GpuRetry({ engine, events }));
}

/** Watches whether the cameras still match their calibration. */
function openRigWatch(runtime: Runtime, input: LiveInput, engine: AdjustableEngine): RigWatch {
  const health = new RigWatch({
    onProblem: (problem) => runtime.rigProblem(problem),
    onCorrection: (sentence) => runtime.rigCorrection(sentence),
    onReset: () => runtime.rigReset(),
    onDrift: (problem) => runtime.rigDrift(problem),
    setRightMap: (map) => engine.setRightMap(map),
  });
  runtime.owns(health).open(runtime.config, input.source.description, input.geometry);
  return health;
}

/** Warns of a search range that is too short, and of frames with few matched pixels. */
function openMatchWatch(runtime: Runtime, engine: AdjustableEngine, health: RigWatch): MatchWatch {
  return runtime.owns(
    new MatchWatch({
      options: () => engine.options,
      hasRigProblem: () => health.problem !== undefined,
      onWarning: (sentence) => runtime.notice(sentence),
    }),
  );
}

/** Serves single frames that are requested over control. */
function openSnapshots(runtime: Runtime, input: LiveInput): Snapshots {
  return new Snapshots(() => ({
    info: runtimeInfo(runtime.config, runtime.parts),
    cameraInfo: cameraInfo(input, runtime.parts.source),
  }));
}

interface Published extends Pick<RuntimeParts, "input" | "engine" | "snapshots" | "shared"> {
  prepared: PreparedOutputs;
}

/** Opens the outputs, and the HTTP server when the first of them needs it. */
async function openOutputs(
  runtime: Runtime,
  host: RuntimeHost,
  { prepared, input, engine, snapshots, shared }: Published,
): Promise<Outputs> {
  const { config } = runtime;
  const onProblem = (problem: Error) => runtime.notice(`http: ${problem.message}`);
  const http = shared === undefined ? runtime.owns(new SharedHttp(config.http, onProblem)) : undefined;
  const outputs = new Outputs({
    onNotice: (text) => runtime.notice(text),
    onProblem: (problem) => runtime.outputProblem(problem),
  });
  runtime.owns(outputs);
  // Closed before the outputs, which answer the requests that still wait.
  runtime.owns(snapshots);
  const context = {
    ...input.picture,
    base: config.base,
    device: config.device,
    http: () => shared?.http() ?? (http as SharedHttp).access(),
    control: openControl(runtime, snapshots, host),
    totals: () => runtime.totals,
    searched: () => {
      const { minDisparity, numDisparities } = engine.match;
      return { min: minDisparity, max: minDisparity + numDisparities };
    },
  };
  await outputs.open(config.outputs, prepared, context, shared && { energy: "all rigs have one energy log" });
  return outputs;
}

function openPower(runtime: Runtime, board: BoardChoice): RuntimeParts["meter"] {
  return runtime.owns(openBoardMeter(runtime.config, board));
}

/** Opens the meter of the board. @throws DepthwattError CONFIG_INVALID */
export function openBoardMeter({ power }: Config, { totalRule }: BoardChoice): Meter {
  return openMeter({ ...power, native: loadNative(), ...(totalRule && { totalRule }) });
}

/** Describes the matching, such as "sgm, 4 paths, 128 disparities". */
export function matcherWords({ match }: Pick<AdjustableEngine, "match">): string {
  return [match.algorithm, ...qualityWords(match), `${match.numDisparities} disparities`].join(", ");
}

/** Logs frame rate, power and energy per frame at intervals. */
function openEnergyLog(
  runtime: Runtime,
  { meter, engine, pipeline, duty }: Pick<RuntimeParts, "meter" | "engine" | "pipeline" | "duty">,
): EnergyLog {
  return runtime.owns(
    new EnergyLog({
      report: (window) => {
        meter.sample();
        return meter.report(window);
      },
      frames: () => pipeline.frames,
      asleepSeconds: () => duty.asleepSeconds,
      matcher: () => matcherWords(engine),
      onRecord: (record) => runtime.energyLogged(record),
    }),
  );
}

/** Connects source, engine and outputs. */
function joinPipeline(
  runtime: Runtime,
  parts: Pick<RuntimeParts, "source" | "input" | "engine" | "outputs" | "snapshots">,
  drops: CountsByCause,
  frames: number | undefined,
): Pipeline {
  const { source, input, engine, outputs, snapshots } = parts;
  const { width, height } = input.geometry;
  return new Pipeline({
    source,
    engine,
    drops,
    width,
    height,
    sinks: [...outputs.sinks, snapshots.sink],
    computed: () => engine.computed,
    onRest: () => engine.rest(),
    onDegraded: (reason, code) => runtime.degraded(reason, code),
    onBackendLost: (reason) => runtime.backendLost(reason),
    onWarning: (text) => runtime.notice(text),
    onFrame: (frame) => runtime.frameDone(frame),
    ...(frames !== undefined && { frames }),
  });
}

/** Collects the run's figures from all of its parts. */
function createReporter(runtime: Runtime, parts: Omit<RuntimeParts, "reporter">): Reporter {
  const { engine, health } = parts;
  return new Reporter({
    ...parts,
    health: () => health.figures(),
    options: () => engine.options,
    governor: () => runtime.governor,
    searchChanged: () => runtime.searchChanged,
  });
}
