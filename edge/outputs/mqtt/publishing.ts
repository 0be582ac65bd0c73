// SPDX-License-Identifier: Apache-2.0
// Connects the pipeline to MQTT: the broker that the configuration names, the publisher, one sink per stream.
import type { EngineOptions } from "../../../cuda/index.js";
import type { Config } from "../../config/index.js";
import {
  createPublisher,
  type TrialBroker,
  type Publisher,
  startTrialBroker,
  type StreamName,
} from "./index.js";
import type { PipelineGeometry } from "../../pipeline/geometry.js";
import type { ComputedFrame, FrameSink } from "../../pipeline/pipeline.js";
import type { Station } from "../../pipeline/station.js";
import { previewSink } from "./preview.js";
import { RealtimeOffset, streamSinks } from "./streams.js";

export interface Publishing {
  /** undefined: publish.broker is none. */
  publisher: Publisher | undefined;
  /** Where to look, for people. */
  brokerUrl: string | undefined;
  broker: TrialBroker | undefined;
  streams: (StreamName | "preview")[];
  sinks: FrameSink[];
  /** What the engine must encode for these streams. */
  encodings: Pick<EngineOptions, "encodeDepth" | "encodeDisparity">;
}

/** The streams that are on. Without a calibration depth is unknown, and disparity takes its place. */
function streamsOf(config: Config, geometry: PipelineGeometry): Config["publish"] {
  const { publish } = config;
  if (geometry.depth !== undefined || !publish.depth.enabled) return publish;
  return { ...publish, disparity: { ...publish.disparity, enabled: true } };
}

function encodingsFor(streams: Config["publish"], hasDepth: boolean): Publishing["encodings"] {
  const depth = streams.depth.encoding;
  const disparity = streams.disparity.encoding;
  return {
    ...(hasDepth &&
      streams.depth.enabled &&
      (depth === "rvl" || depth === "compressedDepth") && { encodeDepth: "rvl" }),
    ...(streams.disparity.enabled &&
      (disparity === "rvl" || disparity === "raw") && { encodeDisparity: disparity }),
  };
}

export async function publishingOf(
  config: Config,
  geometry: PipelineGeometry,
  station: Station,
  sourceHz: number | undefined,
): Promise<Publishing> {
  const { publish } = config;
  if (publish.broker === "none") {
    return {
      publisher: undefined,
      brokerUrl: undefined,
      broker: undefined,
      streams: [],
      sinks: [],
      encodings: {},
    };
  }
  let broker: TrialBroker | undefined;
  if (publish.broker === "embedded") {
    broker = await startTrialBroker({ onFailed: (error) => station.notice(error.message) });
    station.owns(() => broker?.close());
    for (const notice of broker.notices) station.notice(notice);
  }
  const brokerUrl = broker?.url ?? publish.broker;
  const { base, device } = config;
  const publisher = createPublisher({
    ...{ broker: brokerUrl, base, device },
    ...given(publish, ["username", "passwordFile", "caFile", "certFile", "keyFile"]),
    protocolVersion: broker === undefined ? publish.protocolVersion : 4,
    maxPendingBytes: publish.maxPendingBytes,
    maxPayloadBytes: publish.maxPayloadBytes,
    ...(sourceHz !== undefined && { framePeriodMs: 1000 / sourceHz }),
    onStatus: (status) => station.brokerStatus(status),
    onNotice: (notice) => station.notice(notice),
  });
  station.owns(() => publisher.close());

  const hasDepth = geometry.depth !== undefined;
  const streams = streamsOf(config, geometry);
  const sinks = streamSinks(streams, hasDepth, {
    publisher,
    offset: new RealtimeOffset(),
    onSent: (frame: ComputedFrame) => station.frameSent(frame),
    onDropped: (cause) => station.frameDropped(cause),
  });
  if (streams.preview.enabled) {
    const { minDisparity, numDisparities } = config.match;
    const range = { min: minDisparity, max: minDisparity + numDisparities };
    const onDropped = (cause: string) => station.frameDropped(cause);
    sinks.push(previewSink({ publisher, encoding: streams.preview.encoding, range, onDropped }));
  }
  const names: Publishing["streams"] = ["depth", "disparity", "confidence", "left", "preview"];
  return {
    publisher,
    brokerUrl,
    broker,
    streams: names.filter((name) => streams[name].enabled && (name !== "depth" || hasDepth)),
    sinks,
    encodings: encodingsFor(streams, hasDepth),
  };
}

/** The named settings that have a value. */
function given<T extends object, K extends keyof T>(settings: T, keys: readonly K[]) {
  return Object.fromEntries(
    keys.filter((key) => settings[key] !== undefined).map((key) => [key, settings[key]]),
  ) as { [P in K]?: NonNullable<T[P]> };
}
