// SPDX-License-Identifier: Apache-2.0
// An obstacle at a known distance, from the cameras' images to what Home Assistant shows: two planes of noise, shifted by whole
// pixels, in front of constructed cameras.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import mqtt from "mqtt";
import { afterEach, expect, test } from "vitest";
import { encodePng } from "../../camera/index.js";
import { until } from "../doubles/frames.js";
import { startMosquitto } from "../doubles/mosquitto.js";
import { needs, PYTHON } from "../doubles/needs.js";
import { startProgram } from "../doubles/program.js";
import { seededRandom } from "../doubles/rvl-pictures.js";

const [WIDTH, HEIGHT] = [192, 128];
const [FOCAL_PIXELS, BASELINE_METRES] = [200, 0.12];
/** Pixels of disparity: 24 / 8 = 3 m, and 24 / 24 = 1 m. */
const [WALL, OBSTACLE] = [8, 24];

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** The wall everywhere; in front of it, in the right half of the left image, the obstacle. */
async function recording(folder: string): Promise<string> {
  const random = seededRandom(11);
  const noise = () => Uint8Array.from({ length: WIDTH * HEIGHT }, () => Math.floor(random() * 256));
  const [wall, box, left, right] = [noise(), noise(), new Uint8Array(WIDTH * HEIGHT), noise()];
  const inBox = (x: number, y: number) => x >= 110 && x < 160 && y >= 40 && y < 90;
  for (let y = 0; y < HEIGHT; y++)
    for (const [texture, disparity, shown] of [
      [wall, WALL, (x: number) => !inBox(x, y)],
      [box, OBSTACLE, (x: number) => inBox(x, y)],
    ] as const)
      for (let x = 0; x < WIDTH; x++) {
        if (!shown(x)) continue;
        left[y * WIDTH + x] = texture[y * WIDTH + x]!;
        if (x >= disparity) right[y * WIDTH + x - disparity] = texture[y * WIDTH + x]!;
      }
  for (const [side, data] of [
    ["left", left],
    ["right", right],
  ] as const) {
    mkdirSync(join(folder, side));
    for (let index = 0; index < 4; index++)
      writeFileSync(
        join(folder, side, `${index}.png`),
        await encodePng({ data, width: WIDTH, height: HEIGHT }),
      );
  }
  const camera = (name: string) => ({
    name,
    cameraMatrix: [FOCAL_PIXELS, 0, WIDTH / 2, 0, FOCAL_PIXELS, HEIGHT / 2, 0, 0, 1],
    distortion: { model: "none", coefficients: [] },
  });
  const file = join(folder, "calibration.json");
  writeFileSync(
    file,
    JSON.stringify({
      format: "depthwatt-calibration",
      version: 1,
      imageSize: { width: WIDTH, height: HEIGHT },
      left: camera("left"),
      right: camera("right"),
      rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1],
      translationMetres: [-BASELINE_METRES, 0, 0],
    }),
  );
  return file;
}

needs("mosquitto", "jinja2").suite("the nearest obstacle", () => {
  test("is reported by topic and by Home Assistant at the distance where it stands", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-obstacle-"));
    cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
    const calibration = await recording(folder);
    const broker = await startMosquitto();
    cleanups.push(() => broker.stop());
    const settings = [
      ...["match.numDisparities=48", "outputs.viewer.enabled=false", "power.sensor=none"],
      ...["source.replay.loop=true", "outputs.derived.enabled=true", "outputs.homeAssistant.enabled=true"],
      "outputs.derived.zones=right 0.5,0 1,0 1,1 0.5,1; left 0.1,0 0.5,0 0.5,1 0.1,1; corner 0,0 0.02,0 0.02,0.02 0,0.02",
    ];
    const run = startProgram([
      ...["run", "--left", join(folder, "left"), "--right", join(folder, "right")],
      ...["--calibration", calibration, "--broker", broker.url, "--device", "robot", "--rate", "10"],
      ...settings.flatMap((one) => ["--set", one]),
    ]);
    cleanups.push(async () => {
      run.child.kill("SIGTERM");
      await run.ended;
    });
    const heard = new Map<string, string>();
    const client = await mqtt.connectAsync(broker.url);
    cleanups.push(() => client.endAsync(true));
    client.on("message", (topic, payload) => heard.set(topic, payload.toString()));
    await client.subscribeAsync(["homeassistant/device/+/config", "depthwatt/robot/zones"]);
    const config = () => [...heard].find(([topic]) => topic.startsWith("homeassistant/"))?.[1];
    await until(
      "announcement and zones",
      () => config() !== undefined && heard.has("depthwatt/robot/zones"),
      30_000,
    ).catch((error: Error) => expect.fail(`${error.message}\n${run.stderr()}`));
    const topic = heard.get("depthwatt/robot/zones")!;
    const { zones } = JSON.parse(topic);
    // The nearest of many pixels: a quarter of a pixel of disparity is 10 mm at 1 m and 94 mm at 3 m.
    const quarter = (metres: number) => (0.25 * metres * metres) / (FOCAL_PIXELS * BASELINE_METRES);
    expect(Math.abs(zones.right.nearestMetres - 1)).toBeLessThan(quarter(1));
    expect(Math.abs(zones.left.nearestMetres - 3)).toBeLessThan(quarter(3));
    expect(zones.corner.nearestMetres).toMatchObject({ available: false });

    // Home Assistant renders value_template by Jinja with the message as value_json; None is "unknown".
    const { components } = JSON.parse(config()!);
    const render = [
      "import jinja2, json, sys",
      "t, m = sys.argv[1:]",
      "print(jinja2.Environment().from_string(t).render(value_json=json.loads(m)))",
    ].join("\n");
    const states = ["right", "left", "corner"].map((zone) => {
      const entity = components[`zone_${zone}`];
      expect(entity).toMatchObject({
        platform: "sensor",
        state_topic: "depthwatt/robot/zones",
        unit_of_measurement: "m",
        device_class: "distance",
      });
      return execFileSync(PYTHON, ["-c", render, entity.value_template, topic], { encoding: "utf8" }).trim();
    });
    expect(states).toEqual([String(zones.right.nearestMetres), String(zones.left.nearestMetres), "None"]);
  });
});
