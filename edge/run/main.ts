// SPDX-License-Identifier: Apache-2.0
// The composition root: what depthwatt is made of, in the order in which a frame passes.
//   capture -> pair -> rectify -> match -> refine -> depth -> encode -> publish, and power beside it
import { chooseBoard, type Config } from "../config/index.js";
import { openControl } from "./open-control.js";
import { Snapshots } from "../control/snapshot.js";
import { RateGate } from "../governor/index.js";
import { isGoverned, openGovernor } from "./open-governor.js";
import { SharedHttp } from "../http/index.js";
import { RigWatch } from "../rig/health/index.js";
import { loadNative } from "../contracts/native.js";
import { Outputs } from "../outputs/outputs.js";
import { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { runEngineOptions } from "./engine-options.js";
import type { PipelineGeometry } from "../pipeline/geometry.js";
import { runtimeInfo } from "./info.js";
import { LiveInput, type NextInput } from "./live-input.js";
import { Pipeline } from "../pipeline/pipeline.js";
import { Reporter } from "./reporter.js";
import { openMeter } from "../power/open-meter.js";
import { Runtime, type RuntimeEvents, type RuntimeHost } from "./runtime.js";

/**
 * Opens everything the configuration asks for; `run()` of the result starts it.
 * @param frames ends the run after this many frames
 * @param host what can be asked for over control beside settings
 * @throws DepthwattError of whatever cannot be opened; what was opened before is closed again
 */
export async function openRuntime(
  config: Config,
  frames: number | undefined,
  events: RuntimeEvents,
  host: RuntimeHost = {},
): Promise<Runtime> {
  const runtime = new Runtime(config, events);
  const notice = (text: string) => runtime.notice(text);
  try {
    // What publishes may begin with threads of its own, which start while the rest is opened.
    const outputs = new Outputs({
      onNotice: notice,
      onProblem: (problem) => runtime.outputProblem(problem),
    });
    runtime.owns(() => outputs.close());
    outputs.prepare(config.outputs);

    // capture, pair
    const input = await LiveInput.open(config, (pairs) => pipeline.drops.add("sourceChanged", pairs));
    runtime.owns(() => input.source.stop());
    const source = new RateGate(input.source, () => pipeline.drops.add("governor"));
    const { rateHz } = source.description;
    const { width, height, depth } = input.geometry;

    // whether the cameras still lie as they were calibrated
    const health = new RigWatch({
      onProblem: (problem) => runtime.rigProblem(problem),
      onCorrection: (sentence) => runtime.rigCorrection(sentence),
      setRightMap: (map) => engine.setRightMap(map),
    });
    runtime.owns(() => health.close());
    health.open(config, source.description, input.geometry);

    // rectify, match, refine, depth, encode
    const corrected = (geometry: PipelineGeometry): PipelineGeometry => {
      const rightMap = health.correctedMap;
      return geometry.maps && rightMap ? { ...geometry, maps: { ...geometry.maps, rightMap } } : geometry;
    };
    const engineOptions = (of: Config, next?: NextInput) =>
      runEngineOptions(of, next?.source ?? source, next?.geometry ?? corrected(input.geometry));
    const engine = new AdjustableEngine(engineOptions(config), {
      onProblem: (problem) => notice(problem.message),
      onChange: ({ rightMap }) => {
        // It was opened before the map was turned, or turned back.
        const wanted = corrected(input.geometry).maps?.rightMap;
        if (wanted !== undefined && rightMap !== undefined && wanted !== rightMap) engine.setRightMap(wanted);
        runtime.tellInfo();
      },
    });
    runtime.owns(() => engine.close());

    // publish
    const http = new SharedHttp(config.http, (problem) => notice(`http: ${problem.message}`));
    runtime.owns(() => http.close());
    runtime.owns(() => outputs.close()); // before what it was lent frames of
    const snapshots = new Snapshots(() => ({
      info: runtimeInfo(runtime.config, runtime.parts),
      cameraInfo: input.geometry.cameraInfo,
    }));
    runtime.owns(() => snapshots.close());
    await outputs.open(config.outputs, {
      base: config.base,
      device: config.device,
      width,
      height,
      rateHz,
      hasDepth: depth !== undefined,
      rig: input.geometry.rig,
      input: source.description,
      http: () => http.access(),
      control: openControl(runtime, snapshots, host),
      totals: () => runtime.totals,
      searched: () => {
        const { minDisparity, numDisparities } = engine.match;
        return { min: minDisparity, max: minDisparity + numDisparities };
      },
    });

    // power
    const { totalRule } = chooseBoard(config.board);
    const meter = openMeter({ ...config.power, native: loadNative(), ...(totalRule && { totalRule }) });
    runtime.owns(() => meter.close());

    const pipeline: Pipeline = new Pipeline({
      source,
      engine,
      width,
      height,
      sinks: [...outputs.sinks, snapshots.sink],
      computed: () => engine.computed,
      onRest: () => engine.rest(),
      onDegraded: (reason) => runtime.degraded(reason),
      onBackendLost: (reason) => runtime.backendLost(reason),
      onWarning: notice,
      ...(frames !== undefined && { frames }),
      onFrame: (frame) => runtime.frameDone(frame),
    });
    const govern = (of: Config, next?: NextInput) =>
      isGoverned(of.power)
        ? openGovernor({
            config: of,
            source: next?.source ?? source,
            engine,
            gate: source,
            meter,
            frames: () => pipeline.frames,
            onChange: (reason) => notice(`governor: ${reason}`),
            onProblem: (problem) => notice(`governor: ${problem.message}`),
          })
        : undefined;
    const reporter = new Reporter({
      pipeline,
      source,
      outputs,
      meter,
      engine,
      health: () => health.figures(),
      options: () => engine.options,
      governor: () => runtime.governor,
      searchChanged: () => runtime.searchChanged,
    });
    runtime.assemble({
      source,
      input,
      engine,
      meter,
      health,
      pipeline,
      outputs,
      snapshots,
      reporter,
      engineOptions,
      govern,
      warnings: input.warnings,
    });
    return runtime;
  } catch (error) {
    await runtime.close();
    throw error;
  }
}
