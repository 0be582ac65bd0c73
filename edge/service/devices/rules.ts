// SPDX-License-Identifier: Apache-2.0
// The unit's DeviceAllow= lines for GPU nodes: which ones a board needs, and which nodes a unit allows. systemd compares
// "char-NAME" with the names of /proc/devices, wildcards included; a path has no wildcards and is looked up at each start.

export interface DeviceNode {
  path: string;
  major: number;
  minor: number;
}

/** Names of character drivers by major number: several drivers may share one. */
export type DriverNames = ReadonlyMap<number, readonly string[]>;

/** Nodes of NVIDIA's drivers on every JetPack and on cards. */
const GPU_NODES =
  /^\/dev\/(nvmap|nvhost-.+|nvgpu\/.+|host1x-fence|nvsciipc|dri\/renderD\d+|nvidia(\d+|ctl|-uvm.*|-modeset|-caps\/.+))$/;

/** The nodes among them that CUDA opens. Debuggers and profilers use others. */
const CUDA_NODES =
  /^\/dev\/(nvmap|host1x-fence|nvhost-(ctrl|(ctrl-|as-|tsg-)?gpu)|nvgpu\/igpu\d+\/(ctrl|as|channel|tsg)|dri\/renderD\d+|nvidia(\d+|ctl|-uvm))$/;

export const isGpuNode = (path: string): boolean => GPU_NODES.test(path);
export const isCudaNode = (path: string): boolean => CUDA_NODES.test(path);

/** Names of major numbers that many drivers share: a rule by such a name would allow foreign devices. */
const SHARED_DRIVERS = ["misc", "mem"];

/** Parses /proc/devices: "Character devices:", then lines of a major number and a name. */
export function parseDrivers(text: string): DriverNames {
  const names = new Map<number, string[]>();
  const [characters = ""] = text.split(/^Block devices:/m);
  for (const [, major, name] of characters.matchAll(/^ *(\d+) (.+)$/gm))
    names.set(Number(major), [...(names.get(Number(major)) ?? []), name!]);
  return names;
}

/** Returns the rule that allows a node: its driver by name, which also covers nodes that appear later, or its path. */
export function ruleFor({ path, major }: DeviceNode, drivers: DriverNames): string {
  const name = drivers.get(major)?.find((one) => !SHARED_DRIVERS.includes(one));
  return name === undefined ? path : `char-${name}`;
}

/** Returns the rules of a unit's text, drop-ins included. An empty assignment forgets the lines above it. */
export function unitRules(text: string): string[] {
  let rules: string[] = [];
  for (const [, value] of text.matchAll(/^DeviceAllow=[ \t]*(.*)$/gm)) {
    const [pattern = "", rights = "rwm"] = value!.trim().split(/\s+/);
    if (pattern === "") rules = [];
    else if (rights.includes("r") && rights.includes("w")) rules.push(pattern);
  }
  return rules;
}

/** Returns whether a name matches a pattern with * and ?, as systemd compares them. */
function matches(name: string, pattern: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`).test(name);
}

/** Returns whether rules allow a node. */
export function isAllowed(node: DeviceNode, rules: readonly string[], drivers: DriverNames): boolean {
  const names = drivers.get(node.major) ?? [];
  return rules.some((rule) =>
    rule.startsWith("char-") ? names.some((name) => matches(name, rule.slice(5))) : rule === node.path,
  );
}

/** Returns the nodes that rules do not allow, each with the rule that is missing. */
export function missingRules(
  nodes: readonly DeviceNode[],
  rules: readonly string[],
  drivers: DriverNames,
): { path: string; rule: string }[] {
  return nodes
    .filter((node) => !isAllowed(node, rules, drivers))
    .map((node) => ({ path: node.path, rule: `DeviceAllow=${ruleFor(node, drivers)} rw` }));
}

/** Returns the text of the drop-in for these nodes; undefined without nodes. */
export function dropInFor(nodes: readonly DeviceNode[], drivers: DriverNames): string | undefined {
  if (nodes.length === 0) return undefined;
  const rules = [...new Set(nodes.map((node) => ruleFor(node, drivers)))].sort();
  return `# Written by depthwatt-devices.service from the GPU nodes of this board.
[Service]
${rules.map((rule) => `DeviceAllow=${rule} rw\n`).join("")}`;
}
