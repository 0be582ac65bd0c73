// SPDX-License-Identifier: Apache-2.0
// Publishing: frames as bytes, topics, the publisher, the trial broker.
export * from "../../../core/frame/frame-format.js";
export {
  type FrameDescription,
  type FrameHeader,
  parseFrame,
  writeFrame,
} from "../../../core/frame/payload.js";
export { encodeRvl, rvlMaxBytes } from "../../../core/frame/rvl.js";
export { checkBaseTopic, checkDeviceName, makeTopics, type Topics } from "../../../core/frame/topics.js";
export { startTrialBroker, type TrialBroker, type TrialBrokerOptions } from "../../broker/trial-broker.js";
export { FRAME_CONTENT_TYPE } from "./frame-properties.js";
export { createPublisher } from "./publisher.js";
export type * from "./publisher-types.js";
