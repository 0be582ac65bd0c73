// SPDX-License-Identifier: Apache-2.0
// The open output of ROS messages: each is written into a buffer that is used again when the socket has taken it.
import { encodePng, RIGHT_CAMERA } from "../../../camera/index.js";
import type { PointFrameName } from "../../../core/frame/frame-format.js";
import { makeTopics } from "../../../core/frame/topics.js";
import { voxelMiddles } from "../../../core/frame/voxels.js";
import { listedVoxels } from "../../../cuda/index.js";
import type { ComputedFrame } from "../../contracts/computed-frame.js";
import type {
  BrokerAccess,
  FrameLease,
  Output,
  OutputContext,
  OutputCounters,
  OutputPicture,
} from "../../contracts/output.js";
import { CountsByCause } from "../../contracts/statistics.js";
import {
  cameraInfoMessage,
  compressedDepthPngPrefix,
  compressedDepthPrefix,
  type ImagePrefix,
  imagePrefix,
  pointCloudPrefix,
  RIGHT_FRAME_ID,
  ROBOT_FRAME_ID,
  rectifiedCamera,
  registeredCamera,
  writeImage,
  writePointCloud,
} from "../../mcap/messages.js";
import { requireBroker, SideTopics } from "../../mqtt/side-topics.js";
import { RealtimeOffset } from "../mqtt/realtime-offset.js";
import type { RosSettings } from "./settings.js";

/** Buffers of one topic: one at the socket, and one that is being written. */
const BUFFERS = 2;

export async function openRos(context: OutputContext<RosSettings>): Promise<Output> {
  const broker = requireBroker(
    context,
    "ros",
    "Set outputs.mqtt.broker to the broker that mqtt_client connects to.",
  );
  return new RosOutput(context, broker);
}

/** Buffers for one size and one set of settings. */
interface Prepared {
  width: number;
  height: number;
  image: ImagePrefix;
  confidence: ImagePrefix;
  right: ImagePrefix;
  rvl: ImagePrefix;
  png: ImagePrefix;
  points: Record<PointFrameName, ImagePrefix>;
}

class RosOutput implements Output {
  readonly ready: Promise<unknown>;
  readonly #side: SideTopics;
  readonly #prefix: string;
  readonly #offset = new RealtimeOffset();
  readonly #drops = new CountsByCause();
  readonly #sentByTopic = new CountsByCause();
  readonly #spare = new Map<string, Uint8Array[]>();
  #settings: RosSettings;
  #picture: OutputPicture;
  #prepared: Prepared | undefined;
  #encoding = false;

  constructor(context: OutputContext<RosSettings>, broker: BrokerAccess) {
    const { base, device, notice } = context;
    this.#settings = context.settings;
    this.#picture = context;
    this.#prefix = makeTopics(base, device).ros;
    this.#side = new SideTopics({
      broker,
      name: `${device}-ros`,
      notice: (text) => notice(`ros: ${text}`),
    });
    this.ready = this.#side.ready;
  }

  get streams(): readonly string[] {
    const { image, compressedDepth, confidence, cameraInfo, points, voxels, right, registered } =
      this.#settings;
    if (!this.#picture.hasDepth) return [];
    return [
      ...(image ? ["depth"] : []),
      ...(compressedDepth === "off" ? [] : ["compressedDepth"]),
      ...(points ? ["points"] : []),
      ...(voxels ? ["voxels"] : []),
      ...(confidence ? ["confidence"] : []),
      ...(cameraInfo ? ["camera_info"] : []),
      ...(registered ? ["registered"] : []),
      ...(right ? ["right", ...(cameraInfo ? ["right/camera_info"] : [])] : []),
    ];
  }

  configure(settings: RosSettings, picture: OutputPicture): void {
    this.#settings = settings;
    this.#picture = picture;
    this.#prepared = undefined;
  }

  #prepare({ width, height }: ComputedFrame): Prepared {
    const there = this.#prepared;
    if (there?.width === width && there.height === height) return there;
    const layout = {
      frameId: this.#settings.frameId,
      width,
      height,
      encoding: "16UC1",
      strideBytes: 2 * width,
    };
    this.#prepared = {
      width,
      height,
      image: imagePrefix(layout),
      confidence: imagePrefix({ ...layout, encoding: "mono8", strideBytes: width }),
      right: imagePrefix({
        ...layout,
        frameId: RIGHT_FRAME_ID,
        encoding: "mono8",
        strideBytes: width,
      }),
      rvl: compressedDepthPrefix(layout),
      png: compressedDepthPngPrefix(layout),
      points: {
        camera: pointCloudPrefix(layout),
        robot: pointCloudPrefix({ ...layout, frameId: ROBOT_FRAME_ID }),
      },
    };
    return this.#prepared;
  }

  /** Each message is counted for itself; the frame has left with the first of them. */
  frame(lease: FrameLease): void {
    const { frame } = lease;
    const { image, compressedDepth, confidence, cameraInfo, points, right, frameId } = this.#settings;
    const prepared = this.#prepare(frame);
    const stampNs = frame.leftTimestampNs + (this.#offset.of(frame.clock) ?? 0n);
    const { slot, result } = frame;
    if (cameraInfo && this.#picture.rig !== undefined) {
      const message = cameraInfoMessage(rectifiedCamera(this.#picture.rig.rectification), frameId, stampNs);
      this.#send(lease, "camera_info", message);
    }
    if (this.#settings.voxels) this.#sendVoxels(lease, stampNs);
    if (this.#settings.registered) this.#sendRegistered(lease, stampNs);
    if (right) this.#sendRight(lease, prepared.right, stampNs);
    if (image) {
      const { buffer, byteOffset, byteLength } = slot.depthMillimetres;
      const body = new Uint8Array(buffer, byteOffset, byteLength);
      this.#sendImage(lease, "depth", prepared.image, 4, stampNs, body);
    }
    if (compressedDepth === "rvl") {
      const body = slot.encodedDepth.subarray(0, result.encodedDepthBytes);
      this.#sendImage(lease, "compressedDepth", prepared.rvl, 24, stampNs, body);
    }
    if (points && frame.encodings.points !== undefined) {
      const prefix = prepared.points[frame.encodings.points.frame];
      this.#sendPoints(lease, prefix, stampNs, slot.points);
    }
    if (confidence) this.#sendImage(lease, "confidence", prepared.confidence, 4, stampNs, slot.confidence);
    if (compressedDepth === "png") this.#sendPng(lease, prepared, stampNs);
    else lease.release();
  }

  #sendVoxels(lease: FrameLease, stampNs: bigint): void {
    const { slot, encodings } = lease.frame;
    // An engine that has not taken the change of settings yet computes none.
    if (encodings.voxels === undefined) return;
    const { frame, sizeMillimetres } = encodings.voxels;
    const metres = voxelMiddles(listedVoxels(slot), sizeMillimetres / 1000);
    const frameId = frame === "robot" ? ROBOT_FRAME_ID : this.#settings.frameId;
    const prefix = pointCloudPrefix({ frameId, width: metres.length / 3, height: 1, colours: false });
    this.#sendPoints(lease, prefix, stampNs, new Uint8Array(metres.buffer), "voxels");
  }

  #sendRight(lease: FrameLease, prefix: ImagePrefix, stampNs: bigint): void {
    const { slot, encodings } = lease.frame;
    // An engine that has not taken the change of settings yet computes none.
    if (!encodings.rightGrey) return;
    this.#sendImage(lease, "right", prefix, 4, stampNs, slot.right);
    const rig = this.#picture.rig;
    if (!this.#settings.cameraInfo || rig === undefined) return;
    const camera = rectifiedCamera(rig.rectification, "right");
    this.#send(lease, "right/camera_info", cameraInfoMessage(camera, RIGHT_FRAME_ID, stampNs));
  }

  /** Topics registered/CAMERA, registered/CAMERA/confidence and registered/CAMERA/camera_info. */
  #sendRegistered(lease: FrameLease, stampNs: bigint): void {
    const { slot, encodings } = lease.frame;
    const { rig } = this.#picture;
    // Without registration.camera, or before the engine has taken the change of settings, there is none.
    if (encodings.registration === undefined || rig === undefined) return;
    const { camera, width, height } = encodings.registration;
    const frameId = camera === RIGHT_CAMERA ? RIGHT_FRAME_ID : camera;
    const prefix = (encoding: string, pixelBytes: number) =>
      imagePrefix({ frameId, width, height, encoding, strideBytes: pixelBytes * width });
    const { buffer, byteOffset, byteLength } = slot.registered;
    const depth = new Uint8Array(buffer, byteOffset, byteLength);
    const topic = `registered/${camera}`;
    this.#sendImage(lease, topic, prefix("16UC1", 2), 4, stampNs, depth);
    this.#sendImage(lease, `${topic}/confidence`, prefix("mono8", 1), 4, stampNs, slot.registeredConfidence);
    const info = registeredCamera(rig.calibration, rig.rectification, camera);
    if (this.#settings.cameraInfo && info !== undefined)
      this.#send(lease, `${topic}/camera_info`, cameraInfoMessage(info, frameId, stampNs));
  }

  #sendPng(lease: FrameLease, { width, height, png: prefix }: Prepared, stampNs: bigint): void {
    if (this.#encoding) {
      this.#drops.add("compressedDepth.encoderBusy");
      lease.release();
      return;
    }
    this.#encoding = true;
    encodePng({ data: lease.frame.slot.depthMillimetres, width, height })
      .then((file) => this.#sendImage(lease, "compressedDepth", prefix, 16, stampNs, file))
      .catch(() => this.#drops.add("compressedDepth.encoderFailed"))
      .finally(() => {
        this.#encoding = false;
        lease.release();
      });
  }

  /** @param behind where the length of the data stands, counted from the end of the prefix */
  #sendImage(
    lease: FrameLease,
    name: string,
    prefix: ImagePrefix,
    behind: number,
    stampNs: bigint,
    body: Uint8Array,
  ): void {
    this.#sendWritten(lease, name, prefix.length + body.length, (buffer) =>
      writeImage(buffer, 0, prefix, prefix.length - behind, stampNs, body),
    );
  }

  #sendPoints(
    lease: FrameLease,
    prefix: ImagePrefix,
    stampNs: bigint,
    body: Uint8Array,
    name = "points",
  ): void {
    this.#sendWritten(lease, name, prefix.length + body.length + 1, (buffer) =>
      writePointCloud(buffer, 0, prefix, stampNs, body, name === "voxels"),
    );
  }

  #sendWritten(lease: FrameLease, name: string, needed: number, write: (buffer: Uint8Array) => number): void {
    const spare = this.#spare.get(name) ?? Array.from({ length: BUFFERS }, () => new Uint8Array(0));
    this.#spare.set(name, spare);
    let buffer = spare.pop();
    if (buffer === undefined) {
      this.#drops.add(`${name}.backpressure`);
      return;
    }
    // Bodies differ in length: room for a quarter more, so that it is rarely recreated.
    if (buffer.length < needed) buffer = new Uint8Array(Math.ceil(needed * 1.25));
    const kept = buffer;
    const bytes = write(kept);
    this.#send(lease, name, kept.subarray(0, bytes), () => spare.push(kept));
  }

  #send(lease: FrameLease, name: string, message: Uint8Array, done = () => {}): void {
    this.#side.sendBytes(`${this.#prefix}/${name}`, message, (dropped) => {
      done();
      if (dropped !== undefined) this.#drops.add(`${name}.${dropped}`);
      else {
        this.#sentByTopic.add(name);
        lease.sent();
      }
    });
  }

  counters(): OutputCounters {
    const { sent, bytes, connected } = this.#side;
    return {
      sent,
      bytes,
      drops: this.#drops.snapshot(),
      details: { connected, sentByTopic: this.#sentByTopic.snapshot() },
    };
  }

  close(): Promise<void> {
    return this.#side.close();
  }
}
