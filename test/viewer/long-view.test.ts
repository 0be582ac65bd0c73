// SPDX-License-Identifier: Apache-2.0
// depthwatt view over each way to a broker, without a browser: what was published there arrives at the page's own socket.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import mqtt from "mqtt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { PictureStream } from "../../core/frame/frame-format.js";
import { parseFrame } from "../../core/frame/payload.js";
import type { FromPage, ToPage } from "../../edge/outputs/viewer/protocol.js";
import { openBrowser } from "../doubles/browser.js";
import { type Certificates, makeCertificates } from "../doubles/certificates.js";
import { sleep, until } from "../doubles/frames.js";
import { type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { frameMessage, knownFrame } from "../doubles/page-feed.js";
import { startProgram } from "../doubles/program.js";

const SIZE = { width: 64, height: 48 };
const SENT = knownFrame(11, SIZE.width * SIZE.height);
const STREAMS: PictureStream[] = ["left", "depth"];

const SECRET = "a secret of the test";

/** Everything a page would receive, from its first message on. */
function openPage(address: string) {
  const reported: ToPage[] = [];
  const sets: Uint8Array[] = [];
  const socket = new WebSocket(`${address.replace("http", "ws")}/live`, { origin: address });
  const say = (message: FromPage) => socket.send(JSON.stringify(message));
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) sets.push(new Uint8Array(data));
    else reported.push(JSON.parse(String(data)) as ToPage);
  });
  return { reported, sets, say, socket };
}

needs("mosquitto").suite("depthwatt view over each way to a broker", () => {
  let certificates: Certificates;
  let open: Mosquitto;
  let secure: Mosquitto;

  beforeAll(async () => {
    certificates = makeCertificates();
    const { caFile, broker } = certificates;
    open = await startMosquitto({ websockets: true });
    secure = await startMosquitto({ websockets: true, tls: { caFile, ...broker } });
  });

  afterAll(async () => {
    await open?.stop();
    await secure?.stop();
    certificates?.remove();
  });

  const WAYS = {
    ws: () => ({ url: open.webSocketUrl!, publishAt: open.url, words: [] as string[] }),
    mqtts: () => ({
      url: secure.url,
      publishAt: secure.url,
      words: ["--ca-file", certificates.caFile],
    }),
    wss: () => ({
      url: secure.webSocketUrl!,
      publishAt: secure.url,
      words: ["--ca-file", certificates.caFile],
    }),
  };

  test.each(Object.keys(WAYS) as (keyof typeof WAYS)[])("%s: the frames that were published", async (way) => {
    const { url, publishAt, words } = WAYS[way]();
    expect(url).toMatch(new RegExp(`^${way}://`));
    const viewing = startProgram(["view", url, "--port", "0", ...words]);
    const device = mqtt.connect(publishAt, { rejectUnauthorized: false });
    let number = 0;
    const publishing = setInterval(() => {
      number++;
      for (const stream of STREAMS) {
        const message = frameMessage(stream, SENT[stream as "left" | "depth"], SIZE, number);
        device.publish(`depthwatt/${way}-robot/${stream}`, Buffer.from(message));
      }
    }, 50);
    try {
      const address = () => /^page +(\S+)$/m.exec(viewing.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const { reported, sets, say, socket } = openPage(address()!);
      await until(
        "the device is informed",
        () =>
          reported.some(
            (message) => message.type === "devices" && message.devices[0]?.name === `${way}-robot`,
          ),
        15_000,
      );
      say({ type: "watch", device: `${way}-robot`, streams: STREAMS });
      say({ type: "next" });
      await until("both streams of a moment came", () => sets.length >= 2, 15_000);
      const pictures = sets.slice(0, 2).map((message) => parseFrame(message));
      expect(pictures.map(({ header }) => header.stream).sort()).toEqual(["depth", "left"]);
      for (const { header, body } of pictures) {
        const counts = SENT[header.stream as "left" | "depth"];
        const bytes = new Uint8Array(counts.buffer, counts.byteOffset, counts.byteLength);
        expect([...body]).toEqual([...bytes]);
      }
      expect(reported).toContainEqual(expect.objectContaining({ type: "source", connected: true }));
      socket.close();
    } finally {
      clearInterval(publishing);
      await device.endAsync(true);
      viewing.child.kill("SIGTERM");
      await viewing.ended;
    }
  });

  test("a broker with an unknown certificate is reported, and nothing of it is shown", async () => {
    const { url } = WAYS.wss();
    const viewing = startProgram(["view", url, "--port", "0", "--ca-file", certificates.otherCaFile]);
    try {
      const address = () => /^page +(\S+)$/m.exec(viewing.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const { reported, socket } = openPage(address()!);
      const refused = () =>
        reported.flatMap((message) => (message.type === "source" ? [message] : [])).at(-1)?.reason ?? "";
      await until("the page shows the reason", () => /certificate/.test(refused()), 15_000);
      expect(reported.filter((message) => message.type === "source" && message.connected)).toEqual([]);
      socket.close();
    } finally {
      viewing.child.kill("SIGTERM");
      await viewing.ended;
    }
  });
});

needs("chromium", "mosquitto").suite("control from the page of depthwatt view", () => {
  test("the page signs, the broker carries: settings open, change and go back; unsigned requests are not passed on", async () => {
    const cleanups: (() => unknown)[] = [];
    try {
      const folder = mkdtempSync(join(tmpdir(), "depthwatt-view-control-"));
      cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
      const secretFile = join(folder, "secret");
      writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
      const broker = await startMosquitto();
      cleanups.push(() => broker.stop());
      const settings = [
        "power.sensor=none",
        "control.enabled=true",
        `control.secretFile=${secretFile}`,
        "source.synthetic.width=160",
        "source.synthetic.height=96",
        "match.numDisparities=32",
        "outputs.viewer.enabled=false",
        "source.synthetic.rateHz=5",
      ].flatMap((one) => ["--set", one]);
      const device = startProgram(["run", "--broker", broker.url, "--device", "robot-5", ...settings]);
      const viewing = startProgram(["view", broker.url, "--port", "0"]);
      for (const { child, ended } of [device, viewing])
        cleanups.push(() => {
          child.kill("SIGTERM");
          return ended;
        });
      // All that is ever sent through the broker.
      const listener = mqtt.connect(broker.url);
      cleanups.push(() => listener.endAsync(true));
      const heard: string[] = [];
      listener.subscribe(["+/+/request/#", "+/+/response/#"]);
      listener.on("message", (topic, payload) => heard.push(`${topic} ${String(payload)}`));

      const address = () => /^page +(\S+)$/m.exec(viewing.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const browser = await openBrowser(address()!);
      cleanups.push(() => browser.close());
      const { page } = browser;
      await page.locator("[data-device=robot-5]").waitFor({ timeout: 30_000 });
      await page
        .getByText(/^online/)
        .first()
        .waitFor();
      await page.getByRole("tab", { name: "Settings" }).click();

      const secret = page.getByLabel("Control secret");
      const open = page.getByRole("button", { name: "Open settings" });
      await secret.fill("another secret, no less");
      await open.click();
      await page.locator("[data-said=refused]").getByText("signature").waitFor();
      expect(await page.locator("[data-setting]").count()).toBe(0);

      await secret.fill(SECRET);
      await open.click();
      const row = page.locator('[data-setting="match.sgm.uniqueness"]');
      const input = row.locator("input");
      await input.waitFor();
      const before = await input.inputValue();
      expect(before).not.toBe("23");
      await input.fill("23");
      await input.press("Enter");
      await row.locator("[data-said=ok]").getByText("running with 23").waitFor();
      expect(device.stderr()).toContain("match.sgm.uniqueness=23");
      await page.locator("[data-step=undo]").click();
      await expect.poll(() => input.inputValue(), { timeout: 15_000 }).toBe(before);

      // Another client changes it: the page gets it with the next info.
      const words = ["--device", "robot-5", "--broker", broker.url, "--secret-file", secretFile];
      expect((await startProgram(["set", "match.sgm.uniqueness=24", ...words]).ended).code).toBe(0);
      await expect.poll(() => input.inputValue(), { timeout: 15_000 }).toBe("24");

      // A device serves ten requests a second, of all who ask; a fast machine has made about as many by now.
      await sleep(1000);
      const download = page.waitForEvent("download");
      await page.locator("[data-command=snapshot]").click();
      const files = unzipSync(readFileSync(await (await download).path()));
      expect(Object.keys(files)).toEqual(expect.arrayContaining(["left.png", "depth.png", "frame.json"]));

      const restart = page.locator("[data-command=restart]");
      await restart.click();
      expect(heard.filter((line) => line.includes("request/restart"))).toEqual([]);
      await restart.click();
      await page.locator(".commands [data-said=ok]").getByText("restarting").waitFor();
      // The value of the start holds again.
      await expect.poll(() => input.inputValue(), { timeout: 20_000 }).toBe(before);

      // Not with the credentials of the process that runs the view.
      const sets = () => heard.filter((line) => line.includes("request/set")).length;
      const passed = sets();
      const { reported, say, socket } = openPage(address()!);
      await until("the socket is open", () => reported.length > 0);
      const plain = JSON.stringify({ id: "7", body: { values: { "match.sgm.uniqueness": 9 } } });
      say({ type: "ask", id: 7, device: "robot-5", command: "set", payload: plain });
      const answer = () =>
        reported.flatMap((message) =>
          message.type === "answer" && message.id === 7 ? [message.answer] : [],
        )[0];
      await until("an answer", () => answer() !== undefined);
      expect(answer()).toMatchObject({ ok: false, code: "CONTROL_SECRET" });
      await sleep(300);
      expect(sets()).toBe(passed);
      socket.close();

      expect(sets()).toBe(3);
      expect(heard.join("\n")).not.toContain(SECRET);
      expect(browser.complaints).toEqual([]);
      expect(browser.foreign).toEqual([]);
    } finally {
      for (const cleanup of cleanups.reverse()) await cleanup();
    }
  }, 90_000);
});
