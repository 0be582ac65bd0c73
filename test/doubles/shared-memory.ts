// SPDX-License-Identifier: Apache-2.0
// An open output "sharedMemory" without a run: tests offer it frames.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ComputedFrame } from "../../edge/contracts/computed-frame.js";
import type { FrameLease, OutputContext } from "../../edge/contracts/output.js";
import type { SharedMemorySettings } from "../../edge/outputs/sharedMemory/settings.js";
import {
  openSharedMemoryOutput,
  type SharedMemoryOutput,
} from "../../edge/outputs/sharedMemory/shared-memory-output.js";

export interface SharedOutput {
  output: SharedMemoryOutput;
  path: string;
  notices: string[];
  /** Offers a frame as the run does: only if there are readers. @returns whether it was sent */
  offer(frame: ComputedFrame): boolean;
  close(): Promise<void>;
}

export async function openShared(
  settings: Partial<SharedMemorySettings> = {},
  picture: { hasDepth?: boolean } = {},
): Promise<SharedOutput> {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-shared-"));
  const path = settings.path ?? join(folder, "frames.sock");
  const notices: string[] = [];
  const output = await openSharedMemoryOutput({
    hasDepth: true,
    notice: (text: string) => notices.push(text),
    ...picture,
    settings: { path, slots: 4, points: true, leftColours: false, rateHz: "max", ...settings },
  } as unknown as OutputContext<SharedMemorySettings>);
  let number = 0;
  const offer = (frame: ComputedFrame) => {
    let [isSent, isReleased] = [false, false];
    if (output.streams.length === 0) return false;
    const lease = {
      frame,
      number: ++number,
      sent: () => {
        isSent = true;
      },
      release: () => {
        isReleased = true;
      },
    };
    output.frame(lease as unknown as FrameLease);
    if (!isReleased) throw new Error("expected a frame that is given back at once");
    return isSent;
  };
  const close = async () => {
    await output.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { output, path, notices, offer, close };
}

/** A frame of every stream whose values depend on `seed` and the place. */
export function sharedFrame(seed: number, width = 64, height = 48): ComputedFrame {
  const pixels = width * height;
  return {
    slot: {
      depthMillimetres: Uint16Array.from({ length: pixels }, (_, i) => (seed + i) % 65536),
      disparityQ4: Int16Array.from({ length: pixels }, (_, i) =>
        i % 7 === 0 ? -32768 : ((seed + i) % 4000) - 40,
      ),
      confidence: Uint8Array.from({ length: pixels }, (_, i) => (seed + 3 * i) % 256),
      left: Uint8Array.from({ length: pixels }, (_, i) => (seed + 5 * i) % 256),
      leftRgb: Uint8Array.from({ length: 3 * pixels }, (_, i) => (seed + 7 * i) % 256),
      registered: Uint16Array.from({ length: 40 * 30 }, (_, i) => (seed + 17 * i) % 65536),
      registeredConfidence: Uint8Array.from({ length: 40 * 30 }, (_, i) => (seed + 19 * i) % 256),
      right: Uint8Array.from({ length: pixels }, (_, i) => (seed + 13 * i) % 256),
      points: Uint8Array.from({ length: 16 * pixels }, (_, i) => (seed + 11 * i) % 128),
    },
    encodings: {
      leftRgb: true,
      rightGrey: true,
      registration: { camera: "rgb", width: 40, height: 30 },
      points: { element: "float32", frame: "camera", colours: true },
    },
    width,
    height,
    clock: "monotonic",
    leftTimestampNs: BigInt(1000 + seed),
    rightTimestampNs: BigInt(1001 + seed),
    leftSequence: seed,
    rightSequence: seed,
  } as unknown as ComputedFrame;
}
