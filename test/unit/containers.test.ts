// SPDX-License-Identifier: Apache-2.0
// The files for containers without a container engine: test/packages builds the image and runs it.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";

const root = mkdtempSync(join(tmpdir(), "containers-"));
afterAll(() => rmSync(root, { recursive: true }));

const nodes = (...files: string[]) => {
  const folder = mkdtempSync(join(root, "host-"));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  }
  return execFileSync("sh", ["packaging/container/nodes.sh", folder], { encoding: "utf8" });
};

test("nodes.sh prints the groups of the nodes that exist, and the socket of Argus", () => {
  const { gid } = statSync(root);
  expect(nodes()).toBe("");
  expect(nodes("dev/video0")).toBe(`DEPTHWATT_VIDEO_GID=${gid}\n`);
  expect(nodes("dev/nvmap", "dev/dri/renderD128", "tmp/argus_socket")).toBe(
    `DEPTHWATT_VIDEO_GID=${gid}\nDEPTHWATT_RENDER_GID=${gid}\nDEPTHWATT_ARGUS_SOCKET=/tmp/argus_socket\n`,
  );
});

test("compose.yaml has a service for each kind of machine, with the variables that nodes.sh prints", () => {
  const text = readFileSync("packaging/container/compose.yaml", "utf8");
  const { services } = parse(text, { merge: true }) as {
    services: Record<string, Record<string, unknown>>;
  };
  expect(Object.keys(services)).toEqual(["plain", "jetpack4", "jetpack6"]);
  for (const [name, service] of Object.entries(services))
    expect(service, name).toMatchObject({ image: "depthwatt", profiles: [name], network_mode: "host" });
  expect(services.jetpack4).toMatchObject({ runtime: "nvidia" });
  expect(services.jetpack6).toMatchObject({ devices: ["nvidia.com/gpu=all"] });
  const targets = (services.jetpack6!.volumes as { target: string }[]).map(({ target }) => target);
  expect(targets).toContain("/tmp/argus_socket");
  expect(targets).toContain("/proc/device-tree/compatible");
  const page = readFileSync("docs/start/containers.md", "utf8");
  for (const name of Object.keys(services)) expect(page).toContain(`| \`${name}\` |`);
  const script = readFileSync("packaging/container/nodes.sh", "utf8");
  const variables = [...text.matchAll(/\$\{(\w+)/g)].map(([, variable]) => variable!);
  for (const variable of new Set(variables)) expect(script).toContain(variable);
});
