// SPDX-License-Identifier: Apache-2.0
// The publishers in JavaScript for bench/run/load.mjs. Words: "depthwatt" or "mqtt.js", port, topic, file of the payload, frames a
// second, seconds. At most two messages wait for the socket; what comes meanwhile is dropped. Prints one JSON line.
import { readFileSync } from "node:fs";
import mqtt from "mqtt";
import { parseFrame } from "../../dist/clients/javascript/src/index.js";
import { FRAME_HEADER_BYTES, FRAME_HEADROOM_BYTES } from "../../dist/core/frame/frame-format.js";
import { createPublisher } from "../../dist/edge/outputs/mqtt/index.js";

const [kind, port, topic, file, hertz, seconds] = process.argv.slice(2);
const payload = readFileSync(file);
const url = `mqtt://127.0.0.1:${port}`;
const STAMP_AT = 32;
const MAX_WAITING = 2;
let [published, dropped, waiting] = [0, 0, 0];

/** Header, CRC and all, as in a run; what it drops automatically it counts. */
async function depthwatt() {
  const [base, device] = topic.split("/");
  const publisher = createPublisher({ broker: url, base, device, framePeriodMs: 1000 / Number(hertz) });
  await publisher.firstAttempt;
  const { header, body } = parseFrame(new Uint8Array(payload));
  const { clock, realtimeOffsetNs, leftSequence, rightSequence, width, height, encoding, element } = header;
  // As many slots as a run has.
  const free = Array.from({ length: 3 }, () => {
    const buffer = new Uint8Array(FRAME_HEADROOM_BYTES + body.length);
    buffer.set(body, FRAME_HEADROOM_BYTES);
    return buffer;
  });
  return {
    send() {
      const buffer = free.pop();
      if (buffer === undefined) {
        dropped++;
        return;
      }
      const now = process.hrtime.bigint();
      const frame = { stream: "depth", encoding, element, width, height, clock, realtimeOffsetNs };
      Object.assign(frame, { leftTimestampNs: now, rightTimestampNs: now, leftSequence, rightSequence });
      publisher.publish(buffer, FRAME_HEADROOM_BYTES, body.length, frame, (sent) => {
        free.push(buffer);
        if (sent) published++;
        else dropped++;
      });
    },
    end: () => publisher.close(),
  };
}

async function bare() {
  const client = await mqtt.connectAsync(url, { protocolVersion: 4 });
  return {
    send() {
      if (waiting >= MAX_WAITING) {
        dropped++;
        return;
      }
      payload.writeBigUInt64LE(process.hrtime.bigint(), STAMP_AT);
      waiting++;
      client.publish(topic, payload, { qos: 0 }, (error) => {
        waiting--;
        if (error) dropped++;
        else published++;
      });
    },
    end: () => client.endAsync(),
  };
}

if (payload.length < FRAME_HEADER_BYTES) throw new Error(`expected a frame in ${file}`);
const { send, end } = kind === "depthwatt" ? await depthwatt() : await bare();
const before = process.cpuUsage();
const began = performance.now();
const periodMs = 1000 / Number(hertz);
await new Promise((resolve) => {
  let next = began;
  const tick = () => {
    const now = performance.now();
    if (now - began >= 1000 * Number(seconds)) return resolve();
    // Frames that were due while the process waited for the CPU are sent late, as the C publisher does.
    while (next <= now) {
      send();
      next += periodMs;
    }
    setTimeout(tick, next - performance.now());
  };
  tick();
});
const { user, system } = process.cpuUsage(before);
const maxResidentKb = process.resourceUsage().maxRSS;
console.log(JSON.stringify({ published, dropped, cpuSeconds: (user + system) / 1e6, maxResidentKb }));
await end();
