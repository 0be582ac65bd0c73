// SPDX-License-Identifier: Apache-2.0
// Every format, written from one rig, reads back as that rig; and so do the real files of the research data.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import {
  loadStereoCalibration,
  rectify,
  type StereoCalibration,
  stringifyCalibration,
} from "../../../../camera/calibration/index.js";
import { needsData } from "../../../doubles/needs.js";
import {
  barrel,
  fisheye,
  kalibrCamchain,
  openCvExtrinsics,
  openCvIntrinsics,
  openCvXml,
  plumbBob,
  rational,
  rigs,
  rosCameraInfo,
  temporaryFiles,
  thinPrism,
} from "./fixtures.js";

const write = temporaryFiles();

function expectSameRig(got: StereoCalibration, expected: StereoCalibration, digits = 12): void {
  expect(got.imageSize).toEqual(expected.imageSize);
  for (const side of ["left", "right"] as const) {
    expect(got[side].distortion.model).toBe(expected[side].distortion.model);
    for (const [i, value] of expected[side].K.entries()) expect(got[side].K[i]).toBeCloseTo(value, digits);
    for (const [i, value] of expected[side].distortion.coefficients.entries()) {
      expect(got[side].distortion.coefficients[i]).toBeCloseTo(value, digits);
    }
  }
  for (const [i, value] of expected.R.entries()) expect(got.R[i]).toBeCloseTo(value, digits);
  for (const [i, value] of expected.T.entries()) expect(got.T[i]).toBeCloseTo(value, digits);
}

describe("OpenCV FileStorage", () => {
  test.each([
    ["barrel", barrel],
    ["rational", rational],
    ["thinPrism", thinPrism],
  ])("YAML in one file and in two, %s", (name, expected) => {
    const intrinsics = openCvIntrinsics(expected);
    const extrinsics = openCvExtrinsics(expected);
    const one = write(`${name}-stereo.yml`, intrinsics + extrinsics.replace(/^.*\n.*\n/, ""));
    const two = [write(`${name}-intr.yml`, intrinsics), write(`${name}-extr.yml`, extrinsics)];
    for (const source of [one, two, two.join(",")]) {
      const { calibration, warnings, format } = loadStereoCalibration(source);
      expect(format).toBe("OpenCV FileStorage");
      expect(warnings).toEqual([]);
      expectSameRig(calibration, expected);
      expect(calibration.files).toEqual([source].flat().flatMap((path) => path.split(",")));
    }
  });

  test("nothing is reported on stderr about OpenCV's dialect of YAML", () => {
    const said: unknown[] = [];
    const listen = (warning: Error): void => void said.push(warning.message);
    process.on("warning", listen);
    loadStereoCalibration([
      write("quiet-i.yml", openCvIntrinsics(barrel)),
      write("quiet-e.yml", openCvExtrinsics(barrel)),
    ]);
    return new Promise<void>((resolve) => {
      setImmediate(() => {
        process.off("warning", listen);
        expect(said).toEqual([]);
        resolve();
      });
    });
  });

  test("XML", () => {
    expectSameRig(loadStereoCalibration(write("stereo.xml", openCvXml(barrel))).calibration, barrel);
  });

  test("a file without the document mark, and the other key names", () => {
    const text = (openCvIntrinsics(barrel) + openCvExtrinsics(barrel).replace(/^.*\n.*\n/, ""))
      .replace("---\n", "")
      .replace("M1:", "camera_matrix_left:")
      .replace("D1:", "distCoeffsLeft:")
      .replace("M2:", "right_camera_matrix:")
      .replace("D2:", "D_r:");
    expectSameRig(loadStereoCalibration(write("names.yml", text)).calibration, barrel);
  });

  test("one intrinsics file per camera next to the extrinsics", () => {
    const single = (side: "left" | "right"): string => {
      const [, k, d] = side === "left" ? [0, "M1", "D1"] : [0, "M2", "D2"];
      const head = "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\n";
      const part = (key: string): string =>
        new RegExp(`${key}:[^\\]]*\\]\\n`).exec(openCvIntrinsics(barrel))![0];
      return (
        head +
        part(k as string).replace(/^M\d/, "camera_matrix") +
        part(d as string).replace(/^D\d/, "distortion_coefficients")
      );
    };
    const files = [
      write("cam-left.yml", single("left")),
      write("cam-right.yml", single("right")),
      write("cam-extrinsics.yml", openCvExtrinsics(barrel)),
    ];
    expectSameRig(loadStereoCalibration(files).calibration, barrel);
  });

  test("without a size in the file, the size comes from the caller", () => {
    const path = write(
      "nosize.yml",
      openCvIntrinsics(barrel, false) + openCvExtrinsics(barrel).replace(/^.*\n.*\n/, ""),
    );
    expectSameRig(loadStereoCalibration(path, { imageSize: barrel.imageSize }).calibration, barrel);
    expect(() => loadStereoCalibration(path)).toThrow(/image_width: expected an image size/);
  });
});

describe("ROS camera_info", () => {
  test.each([
    ["barrel", barrel],
    ["rational", rational],
    ["fisheye", fisheye],
  ])("R and T come back out of R1, R2 and P2, %s", (name, expected) => {
    const { R1, R2, P1, P2, baselineMetres } = rectify(expected);
    const left = write(`${name}-left.yaml`, rosCameraInfo(expected, "left", { R: R1, P: P1 }));
    const right = write(`${name}-right.yaml`, rosCameraInfo(expected, "right", { R: R2, P: P2 }));
    const { calibration, format, warnings } = loadStereoCalibration([left, right]);
    expect(format).toBe("ROS camera_info");
    expect(warnings).toEqual([]);
    expectSameRig(calibration, expected, 10);
    expect(calibration.left.name).toBe("stereo/left");
    const given = rectify(calibration, { crop: "given" });
    expect(given.P2).toEqual(P2);
    expect(given.baselineMetres).toBeCloseTo(baselineMetres, 12);
  });
});

describe("Kalibr camchain", () => {
  const expected = {
    ...barrel,
    left: { ...barrel.left, distortion: plumbBob(-0.31, 0.12, 0.0008, -0.0005, 0) },
  };
  const radtan: StereoCalibration = {
    ...expected,
    right: { ...barrel.right, distortion: plumbBob(-0.3, 0.11, -0.0004, 0.0007, 0) },
  };

  test.each([
    ["nested lists", kalibrCamchain(radtan, "nested")],
    ["one flow list", kalibrCamchain(radtan, "flow")],
    ["a %YAML line", kalibrCamchain(radtan, "flow", "%YAML:1.0\n---\n")],
  ])("radtan, %s", (name, text) => {
    const { calibration, format } = loadStereoCalibration(write(`${name.replaceAll(/\W/g, "-")}.yaml`, text));
    expect(format).toBe("Kalibr camchain");
    expectSameRig(calibration, radtan);
    expect(calibration.left.name).toBe("cam0");
  });

  test("equidistant", () => {
    expectSameRig(loadStereoCalibration(write("equi.yaml", kalibrCamchain(fisheye))).calibration, fisheye);
  });

  test("a chain whose first camera is the right one, with leftName", () => {
    const forward = loadStereoCalibration(write("forward.yaml", kalibrCamchain(radtan))).calibration;
    // The same rig with the roles exchanged: cam0 is the right camera, and the transform is inverted.
    const turned = [0, 3, 6, 1, 4, 7, 2, 5, 8].map((i) => radtan.R[i]!) as unknown as typeof radtan.R;
    const back = [0, 1, 2].map(
      (row) =>
        -(
          turned[3 * row]! * radtan.T[0] +
          turned[3 * row + 1]! * radtan.T[1] +
          turned[3 * row + 2]! * radtan.T[2]
        ),
    ) as unknown as typeof radtan.T;
    const path = write(
      "backward.yaml",
      kalibrCamchain({ ...radtan, left: radtan.right, right: radtan.left, R: turned, T: back }),
    );
    expect(() => loadStereoCalibration(path)).toThrow(/left and right are swapped/);
    expectSameRig(loadStereoCalibration(path, { leftName: "cam1" }).calibration, forward);
  });
});

describe("depthwatt's own JSON", () => {
  test.each(Object.entries(rigs))("%s keeps every bit, and the hash", (name, expected) => {
    const path = write(`${name}.json`, stringifyCalibration(expected));
    const { calibration } = loadStereoCalibration(path);
    expect(calibration.left).toEqual(expected.left);
    expect(calibration.T).toEqual(expected.T);
    const again = loadStereoCalibration(
      write(`${name}-2.json`, stringifyCalibration(calibration)),
    ).calibration;
    expect(again.hash).toBe(calibration.hash);
  });

  test("the example in the documentation is read", () => {
    const page = readFileSync(
      new URL("../../../../docs/reference/calibration-files.md", import.meta.url),
      "utf8",
    );
    const example = /```json\n([\s\S]*?)```/.exec(page)![1]!;
    const { calibration, format } = loadStereoCalibration(write("example.json", example));
    expect(format).toBe("depthwatt JSON");
    expect(calibration.left.K).toEqual(barrel.left.K);
    expect(rectify(calibration).baselineMetres).toBeCloseTo(0.06, 12);
  });

  test("another version and an unknown key are refused by name", () => {
    const content = JSON.parse(stringifyCalibration(barrel));
    const refused = (change: object): unknown => {
      try {
        return loadStereoCalibration(write("bad.json", JSON.stringify({ ...content, ...change })));
      } catch (error) {
        return error;
      }
    };
    expect(refused({ version: 2 })).toMatchObject({
      code: "CALIBRATION_INVALID",
      message: expect.stringContaining("version"),
    });
    expect(refused({ baseline: 1 })).toMatchObject({ message: expect.stringContaining("baseline") });
  });

  test("the hash answers to every number and to nothing else", () => {
    const hash = (change: Partial<StereoCalibration>): string => {
      const text = stringifyCalibration({ ...barrel, ...change });
      return loadStereoCalibration(write("hash.json", text)).calibration.hash;
    };
    const same = hash({});
    expect(hash({ left: { ...barrel.left, name: "another" } })).toBe(same);
    expect(hash({ T: [barrel.T[0] - 1e-12, barrel.T[1], barrel.T[2]] })).not.toBe(same);
    expect(
      hash({ left: { ...barrel.left, distortion: plumbBob(-0.31, 0.12, 0.0008, -0.0005, -0.021) } }),
    ).not.toBe(same);
  });
});

needsData("calib/kalibr/camchain-imucam-euroc.yaml").suite("real files: Kalibr", (path) => {
  test("EuRoC: radtan, a 110 mm baseline", () => {
    const { calibration, warnings } = loadStereoCalibration(path);
    expect(warnings).toEqual([]);
    expect(calibration.left.K).toEqual([458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1]);
    expect(calibration.right.distortion).toEqual(
      plumbBob(-0.28368365, 0.07451284, -0.00010473, -3.555907e-5, 0),
    );
    const { focalPixels, baselineMetres } = rectify(calibration);
    expect(focalPixels).toBeCloseTo(436.2346, 3);
    expect(baselineMetres).toBeCloseTo(0.1100778, 6);
  });

  test("FLA: equidistant, a 200 mm baseline", () => {
    const { calibration } = loadStereoCalibration(path.replace("euroc", "fla"));
    expect(calibration.left.distortion.model).toBe("equidistant");
    expect(calibration.imageSize).toEqual({ width: 960, height: 800 });
    expect(rectify(calibration).baselineMetres).toBeCloseTo(0.200062, 6);
  });
});

needsData("calib/ros_camera_info/chusei").suite("real files: ROS", (folder) => {
  test.each(["chusei", "zed_cpu_ros"])(
    "%s as a folder: our rectification agrees with the one in the file",
    (name) => {
      const { calibration, warnings } = loadStereoCalibration(`${dirname(folder)}/${name}`);
      expect(warnings).toEqual([]);
      const own = rectify(calibration);
      for (const [matrix, given] of [
        [own.R1, calibration.given!.R1],
        [own.R2, calibration.given!.R2],
      ] as const) {
        // Six digits in the file, and its turn about the baseline is a free choice of the calibrator's version.
        for (const [i, value] of given.entries()) expect(matrix[i]).toBeCloseTo(value, 3);
      }
      expect(own.baselineMetres).toBeCloseTo(-calibration.given!.P2[3]! / calibration.given!.P2[0]!, 6);
    },
  );
});

describe("benchmarks, whose images are rectified", () => {
  const calibTxt = [
    "cam0=[1000 0 310; 0 1000 240; 0 0 1]",
    "cam1=[1000 0 330; 0 1000 240; 0 0 1]",
    "doffs=20",
    "baseline=193.5",
    "width=640",
    "height=480",
    "ndisp=64",
    "",
  ].join("\r\n");

  test("Middlebury's calib.txt: millimetres, and the offset of the principal points with crop: given", () => {
    const { calibration, warnings, format } = loadStereoCalibration(write("calib.txt", calibTxt));
    expect([format, warnings]).toEqual(["Middlebury calib.txt", []]);
    expect(calibration.imageSize).toEqual({ width: 640, height: 480 });
    expect([...calibration.T]).toEqual([-0.1935, 0, 0]);
    const given = rectify(calibration, { crop: "given" });
    expect(given.disparityOffsetPixels).toBeCloseTo(20, 9);
    expect(given.baselineMetres).toBeCloseTo(0.1935, 9);
  });

  test("KITTI: the colour cameras, in both spellings, else the grey ones", () => {
    const P = (shift: number) => `7.2e+02 0 6.1e+02 ${shift} 0 7.2e+02 1.7e+02 0 0 0 1 0`;
    const raw = `calib_time: 09-Jan-2012 13:57:47\nS_rect_02: 1242 375\nP_rect_00: ${P(0)}\nP_rect_01: ${P(-387)}\nP_rect_02: ${P(45)}\nP_rect_03: ${P(-340)}\n`;
    const one = loadStereoCalibration(write("000000.txt", raw));
    expect([one.format, one.calibration.imageSize]).toEqual([
      "KITTI calibration",
      { width: 1242, height: 375 },
    ]);
    expect(one.calibration.T[0]).toBeCloseTo(-385 / 720, 12);
    const stereo2012 = `P0: ${P(0)}\nP1: ${P(-387)}\nP2: ${P(45)}\nP3: ${P(-340)}\n`;
    const two = loadStereoCalibration(write("000001.txt", stereo2012), {
      imageSize: { width: 1242, height: 375 },
    });
    expect(two.calibration.T[0]).toBeCloseTo(-385 / 720, 12);
    const grey = loadStereoCalibration(write("000002.txt", `P0: ${P(0)}\nP1: ${P(-387)}\n`), {
      imageSize: { width: 1242, height: 375 },
    });
    expect(grey.calibration.T[0]).toBeCloseTo(-387 / 720, 12);
  });

  test.each([
    ["a baseline that is infinite", calibTxt.replace("193.5", "inf"), "baseline"],
    ["a matrix that is cut", calibTxt.replace("; 0 0 1]", "]"), "cam0"],
    ["a value that is no number", calibTxt.replace("310", "nan"), "cam0"],
    ["no second camera", calibTxt.replace("cam1", "cam2"), "cam1"],
    ["a projection matrix that is cut", "P2: 1 0 0\nP3: 1 0 0\n", "P2"],
    ["no baseline", `P2: ${"1000 0 9 0 0 1000 9 0 0 0 1 0"}\nP3: 1000 0 9 0 0 1000 9 0 0 0 1 0\n`, "T"],
  ])("refuses %s", (_, text, key) => {
    const file = write("bad.txt", text);
    const imageSize = { width: 640, height: 480 };
    expect(() => loadStereoCalibration(file, { imageSize })).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_INVALID",
        message: expect.stringContaining(key === "T" ? "baseline" : key),
      }),
    );
  });
});
