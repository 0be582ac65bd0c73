// SPDX-License-Identifier: Apache-2.0
// Tests that impossible stereo pairs are refused in a sentence that names file, key, expected and found; odd units are
// a warning.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  type LoadCalibrationOptions,
  loadStereoCalibration,
  loadStereoCalibrationAsync,
  rectify,
  type StereoCalibration,
  stringifyCalibration,
} from "../../../../camera/calibration/index.js";
import { isDepthwattError } from "../../../../core/index.js";
import { needsData } from "../../../doubles/needs.js";
import {
  barrel,
  kalibrCamchain,
  openCvExtrinsics,
  openCvIntrinsics,
  rational,
  rosCameraInfo,
  temporaryFiles,
} from "./fixtures.js";

const write = temporaryFiles();
const stereoYaml = (calibration: StereoCalibration): string =>
  openCvIntrinsics(calibration) + openCvExtrinsics(calibration).replace(/^.*\n.*\n/, "");

/** Asserts the four parts of the sentence, and the machine-readable context next to it. */
function expectRefusal(
  source: string | string[],
  parts: { code?: string; file?: string; key: string | RegExp; expected: RegExp; found: RegExp },
  options: LoadCalibrationOptions = {},
): void {
  let error: unknown;
  try {
    loadStereoCalibration(source, options);
  } catch (caught) {
    error = caught;
  }
  if (!isDepthwattError(error)) throw new Error(`not refused: ${String(error)}`);
  expect(error.code).toBe(parts.code ?? "CALIBRATION_INVALID");
  const { file, key, expected, found } = error.context as Record<string, string>;
  expect(file).toBe(parts.file ?? [source].flat()[0]);
  expect(key).toMatch(parts.key);
  expect(expected).toMatch(parts.expected);
  expect(found).toMatch(parts.found);
  for (const part of [file, key, expected, found]) expect(error.message).toContain(part);
  expect(error.hint.length).toBeGreaterThan(10);
}

describe("depthwatt's own file, damaged by hand", () => {
  /** The file with one value exchanged; undefined takes the key out. */
  const own = (path: string, value: unknown) => {
    const tree: unknown = JSON.parse(stringifyCalibration(barrel));
    const parts = path.split(".");
    const last = parts.pop()!;
    const node = parts.reduce<unknown>((group, part) => (group as Record<string, unknown>)[part], tree);
    (node as Record<string, unknown>)[last] = value;
    return write("own.json", JSON.stringify(tree));
  };
  test.each<[string, unknown, string, RegExp, RegExp]>([
    ["version", undefined, "version", /^1$/, /^nothing$/],
    ["left.cameraMatrix", null, "left.cameraMatrix", /^a list of numbers$/, /^nothing$/],
    ["left.cameraMatrix", Array(8).fill(1), "left.cameraMatrix", /^9 numbers$/, /^a list of 8$/],
    ["rotation", Array(10).fill(1), "rotation", /^9 numbers$/, /^a list of 10$/],
    ["rotation", Array(9).fill("1"), "rotation.0", /^a number$/, /^'1'$/],
    ["imageSize.width", 0, "imageSize.width", /^a whole number above 0$/, /^0$/],
    ["imageSize.width", 1.5, "imageSize.width", /^a whole number$/, /^1\.5$/],
    ["left.foo", 1, "left", /^only keys of this format$/, /^"foo"$/],
    ["left.distortion.model", "x", "left.distortion.model", /"plumb_bob" or/, /^'x'$/],
    [
      "left.distortion.coefficients",
      Array(7).fill(0.1),
      "left.distortion.coefficients",
      /^0, 4, 5, 8, 12 or 14 coefficients$/,
      /^7$/,
    ],
    ["left.cameraMatrix.0", 1e300, "left.cameraMatrix[0]", /1 to 10000000/, /^1e\+300$/],
    ["right.cameraMatrix.4", 1e-9, "right.cameraMatrix[4]", /1 to 10000000/, /^1e-9$/],
    ["translationMetres", [-1e200, 0, 0], "translationMetres", /at most 10000000 m/, /m$/],
  ])("%s: %j", (path, value, key, expected, found) => {
    expectRefusal(own(path, value), { key, expected, found });
  });

  test("a key that stands twice, of which JSON takes the last", () => {
    const text = stringifyCalibration(barrel).replace('"version": 1', '"version": 2, "version": 1');
    const path = write("twice.json", text);
    expect(() => loadStereoCalibration(path)).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_UNREADABLE",
        message: `${path}: expected each key once, found one twice (line 3).`,
      }),
    );
  });

  test.each(["[", "a: [", "{"])("nesting without end is not the stack's problem: %s...", (opening) => {
    const path = write("deep.yaml", opening.repeat(50_000));
    expect(() => loadStereoCalibration(path)).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_UNREADABLE",
        message: expect.not.stringMatching(/call stack/),
      }),
    );
  });
});

describe("wrong sizes", () => {
  test("another image size than the camera's", () => {
    const path = write("size.yml", stereoYaml(barrel));
    expectRefusal(
      path,
      {
        code: "CALIBRATION_SIZE_MISMATCH",
        key: "image_width x image_height",
        expected: /^1280 x 720/,
        found: /^640 x 480$/,
      },
      { imageSize: { width: 1280, height: 720 } },
    );
  });

  test("twice the size is refused too, unless scaling is asked for", () => {
    const path = write("twice.yml", stereoYaml(barrel));
    const imageSize = { width: 1280, height: 960 };
    const mismatch = {
      code: "CALIBRATION_SIZE_MISMATCH",
      key: "image_width",
      expected: /1280 x 960/,
      found: /640 x 480/,
    };
    expectRefusal(path, mismatch, { imageSize });
    const { left, imageSize: size } = loadStereoCalibration(path, {
      imageSize,
      allowScaling: true,
    }).calibration;
    expect(size).toEqual(imageSize);
    // The pixel (cx, cy) becomes a block of 2 x 2 whose middle is at 2 c + 1/2.
    expect(left.K).toEqual([2 * 520.3, 0, 2 * 322.7 + 0.5, 0, 2 * 519.1, 2 * 236.2 + 0.5, 0, 0, 1]);
    expectRefusal(
      path,
      { ...mismatch, expected: /960 x 720/ },
      { imageSize: { width: 960, height: 720 }, allowScaling: true },
    );
  });

  test("left and right calibrated at different sizes", () => {
    const { R1, R2, P1, P2 } = rectify(barrel);
    const left = write("left.yaml", rosCameraInfo(barrel, "left", { R: R1, P: P1 }));
    const text = rosCameraInfo(barrel, "right", { R: R2, P: P2 }).replace(
      "image_height: 480",
      "image_height: 400",
    );
    const right = write("right.yaml", text);
    expectRefusal([left, right], {
      file: right,
      key: "image_width x image_height",
      expected: /640 x 480/,
      found: /640 x 400/,
    });
  });
});

describe("values that are no numbers", () => {
  test.each([
    [".Nan", /NaN/],
    ["-.Inf", /-Infinity/],
    [".inf", /Infinity/],
  ])("%s, as OpenCV writes it", (text, found) => {
    const path = write("nan.yml", stereoYaml(barrel).replace("520.3,", `${text},`));
    expectRefusal(path, { key: /M1\.data\[0\]/, expected: /finite/, found });
  });

  test("words", () => {
    const path = write(
      "word.yaml",
      kalibrCamchain(barrel).replace("intrinsics: [520.3", "intrinsics: [wide"),
    );
    expectRefusal(path, { key: /cam0\.intrinsics\[0\]/, expected: /a number/, found: /'wide'/ });
  });

  test("nothing at all", () => {
    const path = write(
      "none.yaml",
      kalibrCamchain(barrel).replace(/ {2}intrinsics: .*\n/, "  intrinsics:\n"),
    );
    expectRefusal(path, { key: "cam0.intrinsics", expected: /4 numbers/, found: /nothing/ });
  });
});

describe("wrong matrices", () => {
  test("too few numbers for rows and columns", () => {
    const path = write(
      "short.yml",
      stereoYaml(barrel)
        .replace("0, 0, 1 ]", "0, 0 ]")
        .replace(/,\s+1 \]/, " ]"),
    );
    expectRefusal(path, { key: "M1.data", expected: /9 numbers/, found: /8/ });
  });

  test("a 3 x 3 where a 4 x 4 belongs", () => {
    const path = write(
      "t33.yaml",
      kalibrCamchain(barrel).replace(/T_cn_cnm1:\n(.*\n){4}/, "T_cn_cnm1: [1,0,0,0,1,0,0,0,1]\n"),
    );
    expectRefusal(path, { key: "cam1.T_cn_cnm1", expected: /16 numbers/, found: /9/ });
  });

  test("fx of 0", () => {
    const content = JSON.parse(stringifyCalibration(barrel));
    content.right.cameraMatrix[0] = 0;
    const path = write("fx.json", JSON.stringify(content));
    expectRefusal(path, { key: /right\.cameraMatrix\[0\]/, expected: /fx above 0/, found: /^0$/ });
  });

  test.each([
    ["mirrored", (R: number[]) => R.map((value, i) => (i < 3 ? -value : value)), /det -1/],
    ["stretched", (R: number[]) => R.map((value) => value * 1.05), /det 1\.15/],
    ["sheared", (R: number[]) => R.map((value, i) => value + (i === 1 ? 0.1 : 0)), /R\^T R - I/],
  ])("R %s", (_name, change, found) => {
    const content = JSON.parse(stringifyCalibration(barrel));
    content.rotation = change(content.rotation);
    expectRefusal(write("r.json", JSON.stringify(content)), { key: "rotation", expected: /rotation/, found });
  });

  test("R rounded to four digits is taken and made orthonormal", () => {
    const content = JSON.parse(stringifyCalibration(barrel));
    content.rotation = content.rotation.map((value: number) => Number(value.toFixed(4)));
    const { R } = loadStereoCalibration(write("r4.json", JSON.stringify(content))).calibration;
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) {
        const dot = R[i]! * R[j]! + R[i + 3]! * R[j + 3]! + R[i + 6]! * R[j + 6]!;
        expect(dot).toBeCloseTo(i === j ? 1 : 0, 14);
      }
    }
    for (const [i, value] of barrel.R.entries()) expect(R[i]).toBeCloseTo(value, 3);
  });

  test("more coefficients than the model has, and an unknown model", () => {
    const tooMany = kalibrCamchain(barrel).replace(/distortion_coeffs: \[/, "distortion_coeffs: [0, ");
    expectRefusal(write("many.yaml", tooMany), {
      key: /distortion_coeffs/,
      expected: /4 numbers/,
      found: /5/,
    });
    const fov = kalibrCamchain(barrel).replace("distortion_model: radtan", "distortion_model: fov");
    expectRefusal(write("fov.yaml", fov), {
      key: "cam0.distortion_model",
      expected: /radtan/,
      found: /'fov'/,
    });
    const omni = kalibrCamchain(barrel).replace("camera_model: pinhole", "camera_model: omni");
    expectRefusal(write("omni.yaml", omni), {
      key: "cam0.camera_model",
      expected: /pinhole/,
      found: /'omni'/,
    });
  });
});

describe("wrong pairs", () => {
  test("T = 0", () => {
    const path = write("zero.yml", stereoYaml({ ...barrel, T: [0, 0, 0] }));
    expectRefusal(path, { key: /^T/, expected: /baseline/, found: /T = 0/ });
  });

  test("left and right swapped", () => {
    const [x, y, z] = barrel.T;
    const path = write("swapped.yml", stereoYaml({ ...barrel, T: [-x, y, z] }));
    expectRefusal(path, { key: /^T/, expected: /to the right of/, found: /swapped/ });
  });

  test("ROS files in the wrong order", () => {
    const { R1, R2, P1, P2 } = rectify(barrel);
    const left = write("l.yaml", rosCameraInfo(barrel, "left", { R: R1, P: P1 }));
    const right = write("r.yaml", rosCameraInfo(barrel, "right", { R: R2, P: P2 }));
    expectRefusal([right, left], {
      file: left,
      key: /projection_matrix/,
      expected: /right camera's file/,
      found: /swapped/,
    });
  });

  test("one camera above the other", () => {
    const path = write("vertical.yml", stereoYaml({ ...barrel, T: [0.001, -0.06, 0] }));
    expectRefusal(path, { key: /^T/, expected: /next to the left/, found: /left camera's frame/ });
  });

  test("intrinsics without extrinsics", () => {
    const path = write("only.yml", openCvIntrinsics(barrel));
    expectRefusal(path, { key: "R", expected: /rotation/, found: /no such key/ });
  });

  test("only one file of a ROS pair", () => {
    const { R1, P1 } = rectify(barrel);
    const path = write("alone.yaml", rosCameraInfo(barrel, "left", { R: R1, P: P1 }));
    expectRefusal(path, { key: "files", expected: /left and the right/, found: /1/ });
  });

  test("a given rectification that was not given", () => {
    expect(() => rectify(rational, { crop: "given" })).toThrow(/expected a rectification/);
    expect(() => rectify(rational, { crop: 1.5 })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: expect.stringContaining("calibration.crop"),
      }),
    );
  });
});

describe("files that are none", () => {
  test.each([
    ["empty.yaml", "", /empty/],
    ["list.yaml", "- 1\n- 2\n", /mapping.*a list/],
    ["header.yaml", "%YAML:1.0\n", /mapping.*nothing/],
    [
      "bomb.yaml",
      `a: &a [x]\n${["ba", "cb", "dc"].map(([name, of]) => `${name}: &${name} [${Array(9).fill(`*${of}`)}]\n`).join("")}`,
      /few aliases/,
    ],
    ["broken.yaml", "a: [1, 2\nb: 3\n", /YAML/],
    ["broken.json", '{"format": ', /JSON/],
    ["other.xml", "<html><body/></html>", /opencv_storage/],
    ["cut.xml", "<opencv_storage><M1>", /<\/M1>|<\/opencv_storage>/],
    [
      "deep.xml",
      `<opencv_storage>${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}</opencv_storage>`,
      /at most 64/,
    ],
    ["other.yaml", "broker: mqtt://x\n", /found the keys broker/],
  ])("%s", (name, text, message) => {
    const path = write(name, text);
    expect(() => loadStereoCalibration(path)).toThrow(
      expect.objectContaining({ code: "CALIBRATION_UNREADABLE", message: expect.stringMatching(message) }),
    );
  });

  test("a comma with nothing on one side", () => {
    expect(() => loadStereoCalibration("left.yaml,")).toThrow(
      expect.objectContaining({ code: "CALIBRATION_UNREADABLE", message: expect.stringContaining("comma") }),
    );
  });

  test("a device, which has no end, is not read", () => {
    expect(() => loadStereoCalibration("/dev/zero")).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_UNREADABLE",
        message: expect.stringMatching(/\/dev\/zero.*a device, where a file was expected/),
      }),
    );
  });

  test("a pipe is refused before it is opened", async () => {
    const pipe = write("pipe.yaml", "");
    rmSync(pipe);
    execFileSync("mkfifo", [pipe]);
    const refusal = expect.objectContaining({
      code: "CALIBRATION_UNREADABLE",
      message: `${pipe}: expected a calibration file, found a pipe, where a file was expected.`,
    });
    expect(() => loadStereoCalibration(pipe)).toThrow(refusal);
    await expect(loadStereoCalibrationAsync(pipe)).rejects.toThrow(refusal);
  });

  // A parser whose time grows with the square of the size takes up to hours for these, or ends the process.
  const LIMIT = 1 << 18;
  const keys = (count: number, formatLine: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => formatLine(i)).join("");
  test.each<[string, string, RegExp]>([
    ["more than 256 KiB", `a: ${"1".repeat(LIMIT)}`, /262147 bytes, where at most 262144 were/],
    ["YAML of 20001 keys", keys(20_001, (i) => `k${i}: 1\n`), /at most 20000 lines and values, found 20001/],
    ["JSON of 20002 keys", `{${keys(20_001, (i) => `"k${i}":1,`)}"k":1}`, /lines and values, found 20001/],
    ["a list without end", "a: [1".padEnd(LIMIT, ",1"), /lines and values, found 1\d{5}/],
    ["nested lists", "[".repeat(LIMIT), /nesting of more than 100 levels/],
    ["nested lists with quoted brackets", '["]",'.repeat(1000), /nesting of more than 100 levels/],
    ["nested keys", "? ".repeat(LIMIT / 2), /nesting of more than 100 levels/],
    ["nested block lists", "- ".repeat(LIMIT / 2), /nesting of more than 100 levels/],
    ["tags of one value", "a: ".padEnd(LIMIT, "! "), /nesting of more than 100 levels/],
    ["XML comments without end", "<!--".repeat(LIMIT / 4), /an <opencv_storage> element/],
    ["XML declarations without end", "<?".repeat(LIMIT / 2), /an <opencv_storage> element/],
    ["an XML name without end", `<${"a".repeat(LIMIT - 1)}`, /an <opencv_storage> element/],
  ])("%s is refused", (name, text, message) => {
    const path = write(`${name.replaceAll(" ", "-")}.txt`, text);
    expect(() => loadStereoCalibration(path)).toThrow(
      expect.objectContaining({ code: "CALIBRATION_UNREADABLE", message: expect.stringMatching(message) }),
    );
  });

  test("a path that is not there", () => {
    expect(() => loadStereoCalibration("/no/such/calibration.yaml")).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_UNREADABLE",
        message: expect.stringContaining("no such file"),
      }),
    );
  });
});

describe("warnings", () => {
  test.each([
    ["millimetres", 1000, /60.* m; expected metres, this looks like millimetres/],
    ["chessboard squares", 40, /2\.4.* m; expected metres, this looks like chessboard squares/],
    ["metres", 1, undefined],
  ])("%s", (name, factor, message) => {
    const T = barrel.T.map((value) => value * factor) as unknown as typeof barrel.T;
    const path = write(`unit-${name.length}.yml`, stereoYaml({ ...barrel, T }));
    const { warnings, calibration } = loadStereoCalibration(path);
    if (message === undefined) expect(warnings).toEqual([]);
    else {
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(message);
      expect(warnings[0]).toContain(`${path}: T`);
    }
    expect(calibration.T[0]).toBe(T[0]);
    const mended = loadStereoCalibration(path, { lengthUnitMetres: 1 / factor });
    expect(mended.warnings).toEqual([]);
    expect(mended.calibration.T[0]).toBeCloseTo(barrel.T[0], 15);
  });

  test("a principal point outside the image", () => {
    const content = JSON.parse(stringifyCalibration(barrel));
    content.imageSize = { width: 320, height: 240 };
    const { warnings } = loadStereoCalibration(write("outside.json", JSON.stringify(content)));
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/left\.cameraMatrix: expected the principal point inside 320 x 240/);
  });
});

needsData("calib/ros_camera_info/stereopi_placeholder_BAD").suite(
  "a published pair that is broken",
  (folder) => {
    test("has no baseline, and reports it", () => {
      expectRefusal(folder, {
        file: `${folder}/right.yaml`,
        key: /projection_matrix\.data\[3\]/,
        expected: /baseline/,
        found: /^0, and every number of .*left\.yaml again/,
      });
    });
  },
);
