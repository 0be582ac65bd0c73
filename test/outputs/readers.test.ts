// SPDX-License-Identifier: Apache-2.0
// The readers in Python and C++ on golden and on fuzzed frames, held to what depthwatt's own reader says of each; then at a real
// broker.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { FRAME_HEADROOM_BYTES } from "../../core/frame/frame-format.js";
import { writeFrame } from "../../core/frame/payload.js";
import { packageRoot } from "../../core/index.js";
import { createPublisher } from "../../edge/outputs/mqtt/publisher.js";
import { makeFrame, sleep } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import {
  fuzzedMessages,
  goldenMessages,
  hostileMessages,
  joined,
  reseal,
  verdict,
} from "../doubles/readers/corpus.js";

const root = packageRoot();
const folder = mkdtempSync(join(tmpdir(), "depthwatt-readers-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const seed = Number(process.env.DEPTHWATT_SEED ?? Date.now() % 1_000_000_007);

/** The compiled helper is in a cache of the test's own. */
const python = (decoder: "c" | "numpy", ...words: string[]) => {
  const ran = spawnSync(PYTHON, ["test/doubles/readers/read_frames.py", "clients/python", ...words], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 << 20,
    env: { ...process.env, XDG_CACHE_HOME: folder, ...(decoder === "numpy" && { DEPTHWATT_RVL: "numpy" }) },
  });
  expect(ran.stderr, `seed ${seed}`).toBe("");
  return ran.stdout.trim().split("\n");
};

function written(name: string, messages: readonly Uint8Array[]): string {
  const file = join(folder, name);
  writeFileSync(file, joined(messages));
  return file;
}

function mismatches(
  messages: readonly Uint8Array[],
  said: readonly string[],
  readsImages: boolean,
): string[] {
  expect(said).toHaveLength(messages.length);
  return messages.flatMap((message, index) => {
    const { text, image } = verdict(message);
    const expected = image && !readsImages && said[index] === "unsupported" ? "unsupported" : text;
    return said[index] === expected
      ? []
      : [`message ${index} (seed ${seed}): ${said[index]}, ours: ${expected}`];
  });
}

/** Messages with a coloured JPEG: the form that `registered` has, then forms that no stream has. */
function colouredJpegs(): Uint8Array[] {
  const forms = [
    { stream: "registered", encoding: "jpeg" },
    { stream: "registered", encoding: "png" },
    { stream: "registeredConfidence", encoding: "jpeg" },
    { stream: "left", encoding: "jpeg" },
  ] as const;
  return forms.map((form) => {
    const { buffer, bodyBytes, frame } = makeFrame(5);
    const description = { ...frame, ...form, element: "rgb8" } as const;
    const identity = { frameNumber: 0, runId: 1, clockDomain: 0 };
    return writeFrame(buffer, FRAME_HEADROOM_BYTES, bodyBytes, description, identity).slice();
  });
}

describe("the corpus", () => {
  test("holds frames that are whole and frames that are not", () => {
    const texts = fuzzedMessages(4000, seed).map((message) => verdict(message).text);
    const whole = texts.filter((text) => text.startsWith("ok")).length;
    expect(whole).toBeGreaterThan(200);
    expect(texts.length - whole).toBeGreaterThan(200);
    expect(hostileMessages().length).toBeGreaterThan(5000);
  });
});

needs("paho", "numpy").suite("the Python reader", () => {
  test.each(["c", "numpy"] as const)(
    "reads golden frames and refuses what we refuse, RVL by %s",
    (decoder) => {
      const messages = [...goldenMessages(), ...hostileMessages(), ...fuzzedMessages(4000, seed)];
      const [by, ...said] = python(decoder, written("frames", messages));
      expect(by).toBe(decoder);
      expect(mismatches(messages, said, true)).toEqual([]);
    },
  );

  test("accepts colours as JPEG of registered alone", () => {
    const program = [
      "import sys; sys.path.insert(0, 'clients/python')",
      "import depthwatt",
      "data = open(sys.argv[1], 'rb').read()",
      "while data:",
      "    length = int.from_bytes(data[:4], 'little')",
      "    message, data = data[4:4 + length], data[4 + length:]",
      "    try:",
      "        header, body = depthwatt.parse_frame(message)",
      "        print(header.element, header.quantity, header.unit_scale, len(body) == length - 96)",
      "    except depthwatt.FrameError as error:",
      "        print(str(error).split(':')[0])",
    ].join("\n");
    const file = written("coloured", colouredJpegs());
    const said = execFileSync(PYTHON, ["-c", program, file], { cwd: root, encoding: "utf8" });
    const refused = colouredJpegs()
      .slice(1)
      .map(() => "element");
    expect(said.trim().split("\n")).toEqual(["rgb8 colourValue 1.0 True", ...refused]);
  });

  needs("pip").suite("with pip", () => {
    test("is installed without a network, and a program elsewhere reads frames", () => {
      const [venv, copy] = [join(folder, "venv"), join(folder, "source")];
      const venvPython = join(venv, "bin/python");
      // pip writes build folders next to the source.
      cpSync(join(root, "clients/python"), copy, { recursive: true });
      execFileSync(PYTHON, ["-m", "venv", "--system-site-packages", "--without-pip", venv]);
      const words = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", copy];
      execFileSync(PYTHON, ["-m", "pip", "--python", venvPython, ...words], {
        env: { ...process.env, PIP_ROOT_USER_ACTION: "ignore" },
      });
      const messages = goldenMessages();
      const reader = join(root, "test/doubles/readers/read_frames.py");
      const said = execFileSync(venvPython, [reader, join(folder, "nothing"), written("pip", messages)], {
        cwd: folder,
        encoding: "utf8",
        env: { ...process.env, XDG_CACHE_HOME: folder },
      });
      const [, ...lines] = said.trim().split("\n");
      expect(mismatches(messages, lines, true)).toEqual([]);
      const about =
        "import depthwatt, importlib.metadata as m; print(m.version('depthwatt'), depthwatt.__file__)";
      const place = execFileSync(venvPython, ["-c", about], { cwd: folder, encoding: "utf8" });
      const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
      expect(place.startsWith(`${version} ${venv}/`), place).toBe(true);
    });
  });

  needs("mosquitto").suite("at Mosquitto", () => {
    test.each([
      ["depth", "depth"],
      ["registered", "registered/rgb"],
    ] as const)("for frame in Depthwatt(..., stream=%s)", async (stream, leaf) => {
      const mosquitto = await startMosquitto();
      const program = [
        "import sys, numpy; sys.path.insert(0, 'clients/python')",
        "from depthwatt import Depthwatt",
        "with Depthwatt(sys.argv[1], stream=sys.argv[2], timeout=20) as stream:",
        "    for frame in stream:",
        "        metres = frame.metres",
        "        print(frame.device, metres.shape, round(float(numpy.nansum(metres)), 3), stream.invalid, flush=True)",
        "        if stream.invalid: break",
      ].join("\n");
      const reader = spawn(PYTHON, ["-c", program, mosquitto.url, stream], { cwd: root });
      const publisher = createPublisher({ broker: mosquitto.url, base: "depthwatt", device: "test" });
      try {
        let [output, errors] = ["", ""];
        reader.stdout.on("data", (chunk) => {
          output += chunk;
        });
        reader.stderr.on("data", (chunk) => {
          errors += chunk;
        });
        const ended = new Promise((resolve) => reader.once("exit", resolve));
        await publisher.firstAttempt;
        const { buffer, bodyBytes, frame: made, pixels } = makeFrame(5);
        const frame = { ...made, stream, camera: "rgb" };
        for (let round = 0; round < 600 && !output.includes("\n") && errors === ""; round++) {
          publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
          await sleep(50);
        }
        const sum = pixels.reduce((total, value) => total + value, 0) / 1000;
        const [, , , , found] = /^(test) \((48), (64)\) ([\d.]+) 0$/m.exec(output) ?? [];
        expect(Math.abs(Number(found) - sum), errors).toBeLessThan(0.1);
        // A stranger's bytes on the topic are counted, and the frames after them still come.
        execFileSync("mosquitto_pub", [
          "-p",
          String(mosquitto.port),
          "-t",
          `depthwatt/test/${leaf}`,
          "-m",
          "hello",
        ]);
        for (let round = 0; round < 600 && reader.exitCode === null; round++) {
          publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
          await sleep(50);
        }
        expect(await ended, errors).toBe(0);
      } finally {
        reader.kill();
        await publisher.close();
        await mosquitto.stop();
      }
    });
  });
});

needs("toolchain").suite("the C++ reader", () => {
  test("reads golden frames and refuses what we refuse, under the sanitizers", () => {
    const program = join(folder, "read_frames");
    const flags = ["-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wconversion"];
    const sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    execFileSync("g++", [...flags, ...sanitizers, "test/doubles/readers/read_frames.cc", "-o", program], {
      cwd: root,
    });
    const messages = [...goldenMessages(), ...hostileMessages(), ...fuzzedMessages(40_000, seed)];
    const ran = spawnSync(program, [written("cpp", messages)], { encoding: "utf8", maxBuffer: 64 << 20 });
    expect(ran.stderr, `seed ${seed}`).toBe("");
    expect(mismatches(messages, ran.stdout.trim().split("\n"), false)).toEqual([]);
    // It leaves a JPEG body to an image library, and accepts colours as JPEG of registered alone.
    const coloured = execFileSync(program, [written("coloured", colouredJpegs())], { encoding: "utf8" });
    expect(coloured.trim().split("\n")).toEqual(["unsupported", "refused", "refused", "refused"]);
  });

  test("a body whose size has more than 32 bits is missed also where size_t has no more", () => {
    const program = join(folder, "short_sizes");
    const flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror"];
    execFileSync("g++", [...flags, "test/doubles/readers/short_sizes.cc", "-o", program], { cwd: root });
    const golden = goldenMessages();
    // Stream points, element f32: 16 bytes each.
    const points = golden.find((message) => message[8] === 5 && message[10] === 3)!;
    const empty = points.slice(0, 96);
    const view = new DataView(empty.buffer);
    for (const side of [16, 20]) view.setUint32(side, 16_384, true);
    const ran = execFileSync(program, [written("short", [...golden, reseal(empty)])], { encoding: "utf8" });
    const whole = golden.map(() => "a frame");
    expect(ran.trim().split("\n")).toEqual([...whole, "expected a body as long as the header says"]);
  });

  needs("libmosquitto", "mosquitto").suite("with libmosquitto", () => {
    test("the example prints the nearest published depth", async () => {
      const program = join(folder, "nearest");
      execFileSync(
        "g++",
        [
          "-std=c++17",
          "-O2",
          "-Wall",
          "-Wextra",
          "-Werror",
          "clients/cpp/nearest.cc",
          "-lmosquitto",
          "-o",
          program,
        ],
        { cwd: root },
      );
      const mosquitto = await startMosquitto();
      const reader = spawn(program, ["127.0.0.1", String(mosquitto.port), "depthwatt/test/depth"]);
      const publisher = createPublisher({ broker: mosquitto.url, base: "depthwatt", device: "test" });
      try {
        let output = "";
        reader.stdout.on("data", (chunk) => {
          output += chunk;
        });
        await publisher.firstAttempt;
        const { buffer, bodyBytes, frame, pixels } = makeFrame(5);
        for (let round = 0; round < 600 && !output.includes("\n"); round++) {
          publisher.publish(buffer, FRAME_HEADROOM_BYTES, bodyBytes, frame, () => {});
          await sleep(50);
        }
        const nearest = Math.min(...pixels.filter((value) => value > 0)) / 1000;
        expect(output).toContain(`64x48 nearest ${nearest.toFixed(3)} m`);
      } finally {
        reader.kill();
        await publisher.close();
        await mosquitto.stop();
      }
    });
  });
});
