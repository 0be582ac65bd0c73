// SPDX-License-Identifier: Apache-2.0
// Defines the live page as an output: the process's own HTTP server shows the computed frames.
import { z } from "zod";
import { PICTURE_STREAMS, type PictureStream } from "../../../core/frame/frame-format.js";
import {
  type DeviceState,
  defineOutput,
  type FrameLease,
  type Output,
  type OutputContext,
  type OutputCounters,
  type OutputPicture,
} from "../../contracts/output.js";
import { rateSetting } from "../../contracts/rate-setting.js";
import { type Exact, section, setting } from "../../contracts/setting.js";
import { CountsByCause } from "../../contracts/statistics.js";
import { servePage } from "./assets.js";
import { createPageControl } from "./control.js";
import { Hub } from "./hub.js";
import { FrameMessages } from "./messages.js";

export const viewerSettings = section("The live page; http has the address of the server.", {
  enabled: setting(z.boolean(), { default: true, description: "Serves the live page." }),
  rateHz: rateSetting(),
});

type ViewerSettings = Exact<z.infer<typeof viewerSettings>>;

export const viewer = defineOutput({
  settings: viewerSettings,
  off: ({ enabled }) => (enabled ? undefined : "outputs.viewer.enabled is false"),
  // It uses the encodings that other outputs request, and the plain maps otherwise.
  encodings: () => ({}),
  framesHeld: 0,
  open: openViewer,
});

const STREAMS = PICTURE_STREAMS;

async function openViewer(context: OutputContext<ViewerSettings>): Promise<Output> {
  const { server, gate } = await context.http();
  const { control, device, notice } = context;
  const hub = new Hub({
    kind: "run",
    origin: `${context.base}/${device}`,
    gate,
    control:
      control &&
      createPageControl({ control, device: `${context.base}/${device}`, gated: gate !== undefined, notice }),
  });
  servePage(server, hub);
  return new ViewerOutput(context, hub, server.url as string);
}

class ViewerOutput implements Output {
  readonly #context: OutputContext<ViewerSettings>;
  readonly #hub: Hub;
  readonly #url: string;
  readonly #messages = new FrameMessages();
  readonly #drops = new CountsByCause();
  #hasDepth: boolean;
  #number = 0;
  #sent = 0;
  #bytes = 0;

  constructor(context: OutputContext<ViewerSettings>, hub: Hub, url: string) {
    this.#context = context;
    this.#hub = hub;
    this.#url = url;
    this.#hasDepth = context.hasDepth;
  }

  /** Without a page that shows it, no frame need be offered. */
  get streams(): readonly PictureStream[] {
    return this.#hub.watched(this.#context.device) ? STREAMS : [];
  }

  frame(lease: FrameLease): void {
    const { device } = this.#context;
    const number = this.#number;
    this.#number = (number + 1) >>> 0;
    const wanted = this.#hub.wanted(device);
    if (wanted.size === 0) {
      this.#drops.add("pageBusy");
      lease.release();
      return;
    }
    const { messages, release } = this.#messages.of(lease.frame, wanted, number, this.#hasDepth);
    lease.release();
    this.#hub.send(device, messages, () => {
      lease.sent();
      this.#sent++;
      for (const message of messages.values()) this.#bytes += message.length;
      release();
    });
  }

  state(state: DeviceState, reason: string, code?: string): void {
    this.#hub.document(this.#context.device, "state", { state, reason, ...(code && { code }) });
  }

  info(info: object): void {
    this.#hub.document(this.#context.device, "info", info);
  }

  cameraInfo(cameraInfo: object | undefined): void {
    this.#hub.document(this.#context.device, "cameraInfo", cameraInfo);
  }

  metrics(metrics: object): void {
    this.#hub.document(this.#context.device, "metrics", metrics);
  }

  grid(grid: object): void {
    this.#hub.document(this.#context.device, "grid", grid);
  }

  notice(text: string): void {
    this.#hub.log("warn", text);
  }

  configure(_settings: ViewerSettings, { hasDepth }: OutputPicture): void {
    this.#hasDepth = hasDepth;
    this.#hub.controlChanged();
  }

  counters(): OutputCounters {
    const details = { url: this.#url, pages: this.#hub.pages };
    return { sent: this.#sent, bytes: this.#bytes, drops: this.#drops.snapshot(), details };
  }

  greeting(): [label: string, text: string][] {
    const trial = "can be changed on the page without a secret: only this machine reaches it";
    return [
      ["page", this.#url],
      ...(this.#context.control?.trial ? [["settings", trial] as [string, string]] : []),
    ];
  }

  async close(): Promise<void> {
    this.#hub.close();
  }
}
