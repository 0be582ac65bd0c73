// SPDX-License-Identifier: Apache-2.0
// depthwatt/consumer: subscribe to a depth stream in Node or in a browser.
//
//   import { connectConsumer } from "depthwatt/consumer";
//   const consumer = connectConsumer("mqtt://127.0.0.1:1883");
//   consumer.on("frame", (frame) => console.log(frame.header.frameNumber, frame.values()));
export type { BrokerStatus } from "../../../core/mqtt/connection.js";
export {
  Consumer,
  type ConsumerEvents,
  type ConsumerOptions,
  connectConsumer,
  type ReceivedFrame,
} from "./consumer.js";
export * from "./frames.js";
export { type ConsumerSummary, StreamStatistics, type Unknown } from "./statistics.js";
