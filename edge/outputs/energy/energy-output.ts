// SPDX-License-Identifier: Apache-2.0
// The output "energy": adds each entry of the energy log to a file. On a full disk entries wait until there is room.
import { DepthwattError } from "../../../core/index.js";
import type { EnergyRecord } from "../../contracts/energy.js";
import type { Output, OutputContext } from "../../contracts/output.js";
import { EnergyFile } from "./energy-file.js";
import type { EnergySettings } from "./settings.js";

/** Entries that wait for a disk that refuses them: almost three hours of the usual ones. */
const MAX_WAITING = 1000;

export async function openEnergy({ settings, notice }: OutputContext<EnergySettings>): Promise<Output> {
  const path = settings.file!;
  const file = new EnergyFile(path, settings);
  try {
    await file.open();
  } catch (cause) {
    throw unwritable(path, cause);
  }
  const waiting: EnergyRecord[] = [];
  const counted = { sent: 0, bytes: 0, drops: {} as Record<string, number> };
  let failure: DepthwattError | undefined;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    let tried = waiting.length;
    try {
      for (let record = waiting[0]; record !== undefined; record = waiting[0]) {
        counted.bytes += await file.write(record);
        waiting.shift();
        tried = waiting.length;
        counted.sent++;
      }
      if (failure !== undefined) notice(`energy log: ${path} can be written again`);
      failure = undefined;
    } catch (cause) {
      if (failure === undefined) notice(`energy log: cannot write to ${path}: ${(cause as Error).message}`);
      failure = new DepthwattError("DISK_FULL", `cannot write to ${path}: ${(cause as Error).message}`, {
        cause,
        hint: "Free some space: the entries wait, and are written when there is room.",
      });
    }
    // An entry that came while the disk refused the one before may find room.
    writing = waiting.length > tried ? write() : undefined;
  };

  return {
    streams: [],
    frame: (lease) => lease.release(),
    energy(record) {
      waiting.push(record);
      if (waiting.length > MAX_WAITING) {
        waiting.shift();
        counted.drops.diskFull = (counted.drops.diskFull ?? 0) + 1;
      }
      writing ??= write();
    },
    counters: () => ({ ...counted, drops: { ...counted.drops }, details: { file: path } }),
    get failure() {
      return failure;
    },
    greeting: () => [["energy", path]],
    async close() {
      await writing;
      if (waiting.length > 0) await write();
    },
  };
}

function unwritable(path: string, cause: unknown): DepthwattError {
  return new DepthwattError("OUTPUT_UNWRITABLE", `cannot write to ${path}: ${(cause as Error).message}`, {
    cause,
    hint: "Check the folder of outputs.energy.file, its permissions and the free space.",
  });
}
