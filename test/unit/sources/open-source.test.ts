// SPDX-License-Identifier: Apache-2.0
// The messages of opening a source, in addition to the source.
import { expect, test } from "vitest";
import { loadConfig } from "../../../edge/config/index.js";
import { openSource } from "../../../edge/run/open-source.js";

test("a calibration next to the synthetic scene, which brings its own, is reported as not used", async () => {
  const { config } = loadConfig({});
  const plain = await openSource(config);
  await plain.source.stop();
  expect(plain.warnings).toEqual([]);
  const given = { ...config, calibration: { ...config.calibration, file: "/rig/camchain.yaml" } };
  const { source, calibration, warnings } = await openSource(given);
  await source.stop();
  expect(calibration).toEqual(plain.calibration);
  expect(warnings).toEqual([
    'calibration.file (/rig/camchain.yaml) is not used: the source "synthetic" brings its own calibration',
  ]);
});

test.each([
  [undefined, "none"],
  ["right", "right"],
  ["rgb", undefined],
])("a third camera with registration.camera %s is reported as %s", async (camera, found) => {
  const set = [
    "source.synthetic.other=true",
    ...(camera === undefined ? [] : [`registration.camera=${camera}`]),
  ];
  const { source, warnings } = await openSource(loadConfig({ set, environment: {} }).config);
  await source.stop();
  expect(warnings).toEqual(
    found === undefined
      ? []
      : [
          "the third camera's images (source.synthetic.other) are not used: expected its name in " +
            `registration.camera, found ${found}`,
        ],
  );
});
