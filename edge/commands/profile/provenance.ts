// SPDX-License-Identifier: Apache-2.0
// On what a profile was measured: without it a joule cannot be repeated.
import { readFileSync } from "node:fs";
import { cpus, hostname, release } from "node:os";
import type { EngineInfo } from "../../../cuda/index.js";
import type { Meter, PowerNative } from "../../../power/index.js";
import type { Detection } from "../../boards/index.js";
import { VERSION } from "../../contracts/version.js";
import type { ProfileProvenance } from "../../profile/types.js";

/** x86 names itself in /proc/cpuinfo; many ARM boards only say which core they have. */
function cpuName(): string {
  const model = cpus()[0]?.model.trim();
  if (model && model !== "unknown") return model;
  try {
    const part = /^CPU part\s*:\s*(\S+)/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1];
    return part === undefined ? process.arch : `${process.arch}, core ${part}`;
  } catch {
    return process.arch;
  }
}

function describeSensor(meter: Meter): ProfileProvenance["sensor"] {
  const { sensor } = meter;
  if (!("rails" in sensor)) return sensor;
  if (!("rails" in sensor.total)) return sensor.total;
  const rails = sensor.rails.map(({ label, kind, updateIntervalMs, step }) => ({
    label,
    kind,
    updateIntervalMs: updateIntervalMs ?? null,
    step: step ?? null,
  }));
  const { rails: totalRails, reason } = sensor.total;
  return {
    name: sensor.name,
    total: `${totalRails.join(" + ")}: ${reason}`,
    totalRails: [...totalRails],
    rails,
  };
}

function gpuName(native: PowerNative | undefined): string | null {
  const opened = native?.nvmlOpen();
  if (opened === undefined || !opened.available) return null;
  return `${opened.devices.map((device) => device.name).join(", ")} (driver ${opened.driver})`;
}

export function collectProvenance(
  detection: Detection,
  meter: Meter,
  engine: EngineInfo,
  native: PowerNative | undefined,
): ProfileProvenance {
  const { board, reason, level, evidence } = detection;
  return {
    version: VERSION,
    machine: hostname(),
    board: { name: board?.name ?? null, title: board?.title ?? "unknown board", reason, level },
    processor: cpuName(),
    cores: cpus().length,
    kernel: release(),
    node: process.version,
    l4t: evidence.l4t?.version ?? null,
    gpu: gpuName(native),
    sensor: describeSensor(meter),
    backend: engine.backend,
    backendReason: engine.backendReason,
  };
}
