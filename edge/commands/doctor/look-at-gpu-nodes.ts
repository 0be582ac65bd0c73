// SPDX-License-Identifier: Apache-2.0
// Checks the device nodes that CUDA opens: opens each one, and compares the rules of the installed service with them.
import { spawnSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import type { BoardEvidence } from "../../boards/index.js";
import { gpuNodes, readDrivers } from "../../service/devices/nodes.js";
import {
  type DeviceNode,
  type DriverNames,
  isCudaNode,
  missingRules,
  ruleFor,
  unitRules,
} from "../../service/devices/rules.js";
import type { Finding } from "./finding.js";
import { isJetson } from "./look-at-program.js";

export interface GpuNodeFacts {
  /** GPU nodes of this machine. */
  nodes: readonly DeviceNode[];
  drivers: DriverNames;
  /** Text of the installed unit with its drop-ins; undefined where there is no service. */
  unit: string | undefined;
  /** Opens a node for reading and writing. @returns the error's code, such as EPERM; undefined if it opened */
  open: (path: string) => string | undefined;
}

function openNode(path: string): string | undefined {
  try {
    closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

/** Returns the text of an installed unit with its drop-ins; undefined without systemd or without the unit. */
export function installedUnit(name = "depthwatt.service"): string | undefined {
  const { status, stdout } = spawnSync("systemctl", ["cat", name], { encoding: "utf8" });
  return status === 0 ? stdout : undefined;
}

const gatherNodes = (): GpuNodeFacts => ({
  nodes: gpuNodes(),
  drivers: readDrivers(),
  unit: installedUnit(),
  open: openNode,
});

const REASONS: Record<string, (rule: string) => string> = {
  EACCES: () => "this user is not in the group of the node",
  EPERM: (rule) => `the device rules forbid it: DeviceAllow=${rule} rw is missing`,
};

const NO_DRIVER: Finding = {
  name: "nodes",
  state: "absent",
  text: "this Jetson has no GPU device node in /dev",
  hint: "The GPU driver is not loaded: look at 'sudo dmesg | grep -i -e nvgpu -e nvidia', then power-cycle the board. In a container, pass the devices through.",
  facts: { nodes: [], refused: [], missingRules: [] },
};

const RENEW = "sudo systemctl restart depthwatt-devices depthwatt";

/**
 * Undefined where this machine has no NVIDIA GPU.
 * @param wanted engine.backend: with cuda a refused node is an error
 */
export function lookAtGpuNodes(
  wanted: string,
  evidence: BoardEvidence,
  facts: GpuNodeFacts = gatherNodes(),
): Finding | undefined {
  const { drivers, unit } = facts;
  const nodes = facts.nodes.filter(({ path }) => isCudaNode(path));
  // A graphics card of another maker has render nodes, too.
  if (!nodes.some(({ path }) => path.includes("nv"))) return isJetson(evidence) ? NO_DRIVER : undefined;
  const refused = nodes.flatMap((node) => {
    const code = facts.open(node.path);
    if (code === undefined) return [];
    const reason = REASONS[code]?.(ruleFor(node, drivers)) ?? `the driver refuses it (${code})`;
    return [{ path: node.path, code, reason }];
  });
  const missing = unit === undefined ? [] : missingRules(nodes, unitRules(unit), drivers);
  const common = {
    name: "nodes",
    facts: { nodes: nodes.map(({ path }) => path), refused, missingRules: missing },
  };
  if (refused.length === 0 && missing.length === 0)
    return { ...common, state: "ok", text: `${nodes.length} device nodes, all can be opened` };
  const details = [
    ...refused.map(({ path, reason }) => `${path}: ${reason}`),
    ...missing.map(({ path, rule }) => `${path}: the service needs ${rule}`),
  ];
  const texts = [
    ...(refused.length === 0 ? [] : [`${refused.length} of ${nodes.length} device nodes cannot be opened`]),
    ...(missing.length === 0 ? [] : [`the service may not open ${missing.length} of ${nodes.length}`]),
  ];
  const groups = refused.some(({ code }) => code === "EACCES");
  const rules = missing.length > 0 || refused.some(({ code }) => code === "EPERM");
  const commands = [...(groups ? ['sudo usermod -aG video,render "$USER"'] : []), ...(rules ? [RENEW] : [])];
  const hint = rules
    ? `Renew the device rules: ${RENEW}. If that does not help, add them with 'systemctl edit depthwatt'.`
    : groups
      ? "Join the groups video and render, then log in again."
      : "Look at 'sudo dmesg', then power-cycle the board.";
  const bad = wanted === "cuda" ? { state: "bad" as const, exitCode: 4 } : { state: "absent" as const };
  return {
    ...common,
    ...bad,
    text: texts.join("; "),
    hint,
    details,
    ...(commands.length > 0 && { commands }),
  };
}
