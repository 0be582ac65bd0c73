// SPDX-License-Identifier: Apache-2.0
// A command that ends in the middle of a run: what the state says meanwhile, and that the run continues.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../edge/config/index.js";
import { openRuntime } from "../../edge/run/main.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-state-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("degraded with the last line, its password hidden, then online again", async () => {
  const [width, height] = [128, 48];
  const grey = Buffer.from(
    Array.from({ length: width * height }, (_, at) => ((at * 7919) ^ (at >> 3)) & 255),
  );
  writeFileSync(join(folder, "head"), `YUV4MPEG2 W${width} H${height} F20:1 Ip Cmono\n`);
  writeFileSync(join(folder, "frame"), Buffer.concat([Buffer.from("FRAME\n"), grey]));
  // Breaks off on request, as a camera that loses its network.
  const script = `cat head; while :; do cat frame; sleep 0.05;
    if [ -e break ]; then rm break; echo 'rtsp://anna:secret@cam: timed out' >&2; exit 1; fi; done`;
  writeFileSync(join(folder, "camera.sh"), script);
  const command = `sh -c 'cd ${folder} && exec sh camera.sh'`;
  const set = [
    "source.kind=command",
    `source.command.sideBySide=${command}`,
    "outputs.mqtt.broker=none",
    "match.numDisparities=16",
    "board=none",
  ];
  const { config } = loadConfig({ set, environment: {} });
  let reported = false;
  const states: [string, string][] = [];
  const runtime = await openRuntime(config, undefined, {
    onNotice: () => {},
    onFrame: () => {
      if (!reported) writeFileSync(join(folder, "break"), "");
      reported = true;
    },
    onState: (state, reason) => {
      states.push([state, reason]);
      if (states.length === 3) runtime.stop();
    },
  });
  const figures = await runtime.run();
  expect(states.slice(0, 3)).toEqual([
    ["online", "commands sh, live, y4m 128x48 (two images of 64x48) at 20 Hz"],
    [
      "degraded",
      'side by side command "sh": ended with exit code 1; its last line: rtsp://anna:(hidden)@cam: timed out. ' +
        "It is started again in 0.5 s.",
    ],
    ["online", "the source delivers again"],
  ]);
  expect(figures.frames).toBeGreaterThan(0);
});
