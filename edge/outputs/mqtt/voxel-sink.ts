// SPDX-License-Identifier: Apache-2.0
// Publishes points as voxels: packs the engine's list, and merges voxels into larger ones until the message fits.
import type { Reduction } from "../../../core/frame/frame-format.js";
import type { FrameDescription } from "../../../core/frame/payload.js";
import { encodeVoxels, mergedVoxels, sortedVoxels, voxelsMaxBytes } from "../../../core/frame/voxels.js";
import { DepthwattError } from "../../../core/index.js";
import { ENCODED_HEADROOM_BYTES, listedVoxels } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import { messageBytes, type StreamOptions, type StreamSink } from "./stream-sink.js";

/** The form of a frame's voxels, so many times as large as they were computed. */
export function describeVoxels(
  { encodings: { voxels } }: ComputedFrame,
  reduction: Reduction = 1,
): Pick<FrameDescription, "element" | "points"> {
  if (voxels === undefined) throw new DepthwattError("INTERNAL", "expected an engine that makes voxels");
  const voxelMetres = (voxels.sizeMillimetres / 1000) * reduction;
  return { element: "i16", points: { frame: voxels.frame, colour: "none", voxelMetres } };
}

/** @param fits merges voxels that do not fit */
export function voxelSink(
  describe: (frame: ComputedFrame) => FrameDescription,
  { publisher, onReduced }: StreamOptions,
  fits: boolean,
): StreamSink {
  const spare: Uint8Array[] = [];
  return (frame, done) => {
    const whole = describe(frame);
    let keys = sortedVoxels(listedVoxels(frame.slot));
    const needed = ENCODED_HEADROOM_BYTES + voxelsMaxBytes(keys.length);
    const kept = spare.pop();
    const buffer =
      kept !== undefined && kept.length >= needed ? kept : new Uint8Array(Math.ceil(1.25 * needed));
    let bytes = encodeVoxels(keys, buffer, ENCODED_HEADROOM_BYTES);
    let reduction: Reduction = 1;
    while (fits && reduction < 8 && messageBytes(whole, bytes) > publisher.maxMessageBytes) {
      keys = mergedVoxels(keys);
      reduction = (2 * reduction) as Reduction;
      bytes = encodeVoxels(keys, buffer, ENCODED_HEADROOM_BYTES);
    }
    const description =
      reduction === 1 ? whole : { ...whole, ...describeVoxels(frame, reduction), reduction };
    publisher.publish(buffer, ENCODED_HEADROOM_BYTES, bytes, description, (ok) => {
      spare.push(buffer);
      if (ok && reduction !== 1) onReduced("points", reduction);
      done(ok);
    });
  };
}
