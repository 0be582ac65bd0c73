// SPDX-License-Identifier: Apache-2.0
// The composition root: what depthwatt is made of, in the order in which a frame passes.
//   capture -> pair -> rectify -> match -> refine -> depth -> encode -> publish, and power beside it
import { createEngine } from "../cuda/index.js";
import { loadNative } from "./native.js";
import { chooseBoard, type Config } from "./config/index.js";
import { AdjustableEngine, isGoverned, openGovernor, RateGate } from "./governor/index.js";
import { geometryOf, uncalibrated } from "./pipeline/geometry.js";
import {
  forcedInstructionSet,
  matchParameters,
  refineParameters,
  regionParameters,
} from "./pipeline/parameters.js";
import { Pipeline } from "./pipeline/pipeline.js";
import { Reporter } from "./pipeline/reporter.js";
import { publishingOf } from "./outputs/mqtt/publishing.js";
import { Station, type StationEvents } from "./pipeline/station.js";
import { openMeter } from "./power/open-meter.js";
import { openSource } from "./sources/index.js";

/**
 * Opens everything the configuration asks for; `run()` of the result starts it.
 * @param frames ends the run after this many frames
 * @throws DepthwattError of whatever cannot be opened; what was opened before is closed again
 */
export async function openStation(
  config: Config,
  frames: number | undefined,
  events: StationEvents,
): Promise<Station> {
  const station = new Station(events);
  try {
    // capture, pair
    const { source: opened, calibration, warnings } = await openSource(config);
    const gate = new RateGate(opened, () => station.frameDropped("governor"));
    const governed = isGoverned(config.power);
    const source = governed ? gate : opened;
    station.owns(() => source.stop());
    const { width: inputWidth, height: inputHeight, ...formats } = source.description;
    const geometry = calibration
      ? geometryOf(calibration, config.calibration.crop)
      : uncalibrated(inputWidth, inputHeight);
    const { width, height } = geometry;

    // publish
    const publishing = await publishingOf(config, geometry, station, source.description.rateHz);

    // rectify, match, refine, depth, encode
    const match = matchParameters(config.match);
    const region = regionParameters(config.region, geometry);
    const engineOptions = {
      ...{ inputWidth, inputHeight, width, height, match, ...geometry.maps },
      leftFormat: formats.leftFormat,
      rightFormat: formats.rightFormat,
      leftStrideBytes: formats.leftStrideBytes,
      rightStrideBytes: formats.rightStrideBytes,
      refine: refineParameters(config.refine),
      ...region,
      ...(geometry.depth && { geometry: geometry.depth }),
      ...publishing.encodings,
      ...forcedInstructionSet(),
      ...(source.inputMemory && { inputMemory: source.inputMemory }),
      ...config.engine,
    };
    const adjustable = governed
      ? new AdjustableEngine(engineOptions, {
          onProblem: (problem) => station.notice(problem.message),
          onChange: () => station.matchChanged(),
        })
      : undefined;
    const engine = adjustable ?? createEngine(engineOptions);
    station.owns(() => engine.close());

    // power
    const { totalRule } = chooseBoard(config.board);
    const meter = openMeter({ ...config.power, native: loadNative(), ...(totalRule && { totalRule }) });
    station.owns(() => meter.close());

    const pipeline = new Pipeline({
      ...{
        source,
        engine,
        width,
        height,
        sinks: publishing.sinks,
        onDegraded: (reason) => station.degraded(reason),
        onBackendLost: (reason) => station.backendLost(reason),
        onWarning: (message) => station.notice(message),
      },
      ...(frames !== undefined && { frames }),
      onFrame: (frame) => station.frameDone(frame),
    });
    const governor =
      adjustable &&
      openGovernor({
        ...{ config, source, engine: adjustable, gate, meter },
        frames: () => pipeline.frames,
        onChange: (reason) => station.notice(`governor: ${reason}`),
        onProblem: (problem) => station.notice(`governor: ${problem.message}`),
      });
    const { publisher } = publishing;
    const reporter = new Reporter({
      pipeline,
      source,
      publisher,
      meter,
      engine,
      governor,
      match,
      ...region,
      width,
      height,
    });
    station.assemble({
      ...{ config, source, geometry, engine, meter, governor, pipeline, publishing, reporter, warnings },
      match: () => adjustable?.match ?? match,
    });
    return station;
  } catch (error) {
    await station.close();
    throw error;
  }
}
