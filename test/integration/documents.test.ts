// SPDX-License-Identifier: Apache-2.0
// The JSON documents of docs/reference/documents.md against those of a real run: the same keys, each of the same type.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import mqtt from "mqtt";
import { expect, test } from "vitest";
import { packageRoot } from "../../core/index.js";
import { chooseBoard } from "../../edge/config/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";

const NAMES = ["state", "info", "camera_info", "metrics"] as const;

function documented(name: string): Record<string, unknown> {
  const page = readFileSync(join(packageRoot(), "docs/reference/documents.md"), "utf8");
  const text = new RegExp(`\`\`\`json ${name}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1];
  expect(text, `an example of ${name}`).toBeDefined();
  return JSON.parse(text ?? "");
}

const valueTypes = (document: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(document).map(([key, value]) => [key, Array.isArray(value) ? value.length : typeof value]),
  );

needs("mosquitto").suite("documents of a run", () => {
  test("have the keys that the page shows", async () => {
    const mosquitto = await startMosquitto();
    const client = await mqtt.connectAsync(mosquitto.url);
    const seen: Record<string, Record<string, unknown>[]> = {};
    client.on("message", (topic, payload) => {
      const name = topic.split("/").at(-1) ?? "";
      seen[name] = [...(seen[name] ?? []), JSON.parse(payload.toString())];
    });
    await client.subscribeAsync(NAMES.map((name) => `depthwatt/test/${name}`));
    const size = [
      "source.synthetic.width=160",
      "source.synthetic.height=120",
      "match.numDisparities=16",
    ].flatMap((set) => ["--set", set]);
    const main = join(packageRoot(), "dist/edge/cli/main.js");
    const where = ["--broker", mosquitto.url, "--device", "test", "--frames", "8", "--json"];
    const child = spawn(process.execPath, [
      main,
      "run",
      ...where,
      ...size,
      "--set",
      "outputs.metricsIntervalMs=100",
    ]);
    let errors = "";
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    try {
      expect(await new Promise((resolve) => child.once("close", resolve)), errors).toBe(0);
      await until("its last word", () => seen.state?.at(-1)?.state === "stopped");
      for (const name of NAMES) {
        const newest = seen[name]?.at(-1) ?? {};
        const expected = valueTypes(documented(name));
        // These are figures on one machine and reasons on another.
        for (const key of ["validPercent", "matchedPercent", "latencyMs", "power"]) delete expected[key];
        expect(Object.keys(newest), name).toEqual(Object.keys(documented(name)));
        expect(valueTypes(newest), name).toMatchObject(expected);
      }
      expect(seen.state?.map(({ state }) => state)).toEqual(["online", "stopped"]);
      // The setting is auto, and the document says what was found.
      expect(seen.info?.at(-1)?.board).toBe(chooseBoard("auto").name ?? "unknown");
    } finally {
      child.kill();
      await client.endAsync(true);
      await mosquitto.stop();
    }
  });
});
