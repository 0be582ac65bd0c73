// SPDX-License-Identifier: Apache-2.0
// depthwatt view over each way to a broker, without a browser: what was published there arrives at the page's own socket.
import mqtt from "mqtt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { StreamName } from "../../edge/frame/frame-format.js";
import { parseFrame } from "../../edge/frame/payload.js";
import type { FromPage, ToPage } from "../../edge/outputs/viewer/protocol.js";
import { type Certificates, makeCertificates } from "../doubles/certificates.js";
import { until } from "../doubles/frames.js";
import { type Mosquitto, startMosquitto } from "../doubles/mosquitto.js";
import { needs } from "../doubles/needs.js";
import { knownFrame, messageOf } from "../doubles/page-feed.js";
import { startProgram } from "../doubles/program.js";

const SIZE = { width: 64, height: 48 };
const SENT = knownFrame(11, SIZE.width * SIZE.height);
const STREAMS: StreamName[] = ["left", "depth"];

/** What a page would be told and sent, from its first message on. */
function openPage(address: string) {
  const told: ToPage[] = [];
  const sets: Uint8Array[] = [];
  const socket = new WebSocket(`${address.replace("http", "ws")}/live`, { origin: address });
  const say = (message: FromPage) => socket.send(JSON.stringify(message));
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) sets.push(new Uint8Array(data));
    else told.push(JSON.parse(String(data)) as ToPage);
  });
  return { told, sets, say, socket };
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
        const message = messageOf(stream, SENT[stream as "left" | "depth"], SIZE, number);
        device.publish(`depthwatt/${way}-robot/${stream}`, Buffer.from(message));
      }
    }, 50);
    try {
      const address = () => /^page +(\S+)$/m.exec(viewing.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const { told, sets, say, socket } = openPage(address()!);
      await until(
        "the device is told",
        () =>
          told.some((message) => message.type === "devices" && message.devices[0]?.name === `${way}-robot`),
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
      expect(told).toContainEqual(expect.objectContaining({ type: "source", connected: true }));
      socket.close();
    } finally {
      clearInterval(publishing);
      await device.endAsync(true);
      viewing.child.kill("SIGTERM");
      await viewing.ended;
    }
  });

  test("a broker whose certificate nobody here signed is told, and nothing of it is shown", async () => {
    const { url } = WAYS.wss();
    const viewing = startProgram(["view", url, "--port", "0", "--ca-file", certificates.otherCaFile]);
    try {
      const address = () => /^page +(\S+)$/m.exec(viewing.stdout())?.[1];
      await until("the program names its page", () => address() !== undefined, 30_000);
      const { told, socket } = openPage(address()!);
      const refused = () =>
        told.flatMap((message) => (message.type === "source" ? [message] : [])).at(-1)?.reason ?? "";
      await until("the page is told why", () => /certificate/.test(refused()), 15_000);
      expect(told.filter((message) => message.type === "source" && message.connected)).toEqual([]);
      socket.close();
    } finally {
      viewing.child.kill("SIGTERM");
      await viewing.ended;
    }
  });
});
