// SPDX-License-Identifier: Apache-2.0
// The package as others import it: by its name, from what the build made.
import { expect, test } from "vitest";

// A name that the compiler does not resolve: dist need not be there when types are checked.
const PACKAGE: string = "depthwatt";

test("settings, a runtime and its figures are their own library", async () => {
  const { loadConfig, openRuntime, VERSION, DepthwattError } = (await import(
    /* @vite-ignore */ PACKAGE
  )) as typeof import("../../edge/index.js");
  expect(VERSION).toMatch(/^\d+\.\d+\.\d+$/);
  const set = [
    "source.synthetic.width=96",
    "source.synthetic.height=64",
    "match.numDisparities=16",
    "outputs.mqtt.broker=none",
  ];
  const { config } = loadConfig({ set, environment: {} });
  const notices: string[] = [];
  const runtime = await openRuntime(config, 3, { onNotice: (notice) => notices.push(notice) });
  const figures = await runtime.run();
  expect(figures).toMatchObject({ frames: 3, width: 96, height: 64, algorithm: "sgm" });
  expect(() => loadConfig({ set: ["match.sgm.p1=0"], environment: {} })).toThrow(DepthwattError);
});
