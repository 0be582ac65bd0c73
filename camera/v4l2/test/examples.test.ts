// SPDX-License-Identifier: Apache-2.0
// The example server: what a browser gets of a camera, on loopback, and how it ends.
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { serve } from "../examples/serve-jpeg.mjs";
import { type Camera, open } from "../src/index.js";
import { fakeVideo } from "./fake-video/fake-video.js";
import { now, until } from "./fake-video/helpers.js";
import { motionJpeg } from "./motion-jpeg.js";

const PATH = "/dev/fake0";

async function jpegCamera() {
  const fake = fakeVideo();
  fake.plugIn({ path: PATH, formats: [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }] });
  const camera = await open(
    PATH,
    { format: "MJPEG" },
    { system: fake.system, folders: { sysfs: "/nowhere" } },
  );
  return { fake, camera };
}

const getResponse = (server: Awaited<ReturnType<typeof serve>>, path = "/") =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    get({ host: "127.0.0.1", port, path }, resolve).on("error", reject);
  });

test("frames go out as the camera sent them, one part each, until the camera is closed", async () => {
  const { fake, camera } = await jpegCamera();
  const server = await serve(camera);
  expect((server.address() as AddressInfo).address).toBe("127.0.0.1");
  expect((await getResponse(server, "/else")).statusCode).toBe(404);
  const answer = await getResponse(server);
  expect(answer.headers["content-type"]).toBe("multipart/x-mixed-replace; boundary=frame");
  const chunks: Buffer[] = [];
  answer.on("data", (chunk) => chunks.push(chunk));
  const over = new Promise((resolve) => answer.on("end", resolve));
  await until(() => fake.state(PATH).streaming, "stream on");
  const jpegs = await Promise.all(
    [90, 200].map((luma) => motionJpeg({ width: 64, height: 48, pixel: () => [luma, 128, 128] })),
  );
  for (const [sequence, bytes] of jpegs.entries()) {
    expect(fake.deliver(PATH, { timestampNs: now(), sequence, bytes })).toBe(true);
    await until(() => Buffer.concat(chunks).includes(bytes), `picture ${sequence}`);
  }
  await camera.close();
  await over;
  const body = Buffer.concat(chunks);
  for (const jpeg of jpegs) {
    const head = `--frame\r\ncontent-type: image/jpeg\r\ncontent-length: ${jpeg.length}\r\n\r\n`;
    expect(body.includes(Buffer.concat([Buffer.from(head), jpeg, Buffer.from("\r\n")]))).toBe(true);
  }
  expect(body.subarray(-11).toString()).toBe("--frame--\r\n");
  server.closeAllConnections();
});

test("a camera without Motion JPEG is refused", async () => {
  const fake = fakeVideo();
  fake.plugIn({ path: PATH });
  const camera: Camera = await open(PATH, {}, { system: fake.system, folders: { sysfs: "/nowhere" } });
  await expect(serve(camera)).rejects.toThrow(
    /expected a camera that sends Motion JPEG, this one keeps GREY/,
  );
  await camera.close();
});

test("the README begins with the first picture as the example has it, in ten lines", () => {
  const folder = new URL("..", import.meta.url);
  const example = readFileSync(new URL("examples/first-picture.mjs", folder), "utf8").split("\n");
  const lines = example.filter((line) => line !== "" && !line.startsWith("//"));
  expect(lines.length).toBeLessThanOrEqual(10);
  const readme = readFileSync(new URL("README.md", folder), "utf8");
  const code = /```js\n([\s\S]*?)```/
    .exec(readme)![1]!
    .split("\n")
    .filter((line) => line !== "");
  expect(
    code
      .map((line) => line.trim())
      .join(" ")
      .replace(/ +/g, " "),
  ).toBe(
    lines
      .map((line) => line.replace('process.argv[2] ?? "/dev/video0"', '"/dev/video0"').trim())
      .join(" ")
      .replace(/ +/g, " "),
  );
});
