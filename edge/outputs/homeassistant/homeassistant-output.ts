// SPDX-License-Identifier: Apache-2.0
// Announces the device to Home Assistant: at the start, when Home Assistant has started, and after changes. Passes the
// values of its switches and selects to control.
import { makeTopics } from "../../../core/frame/topics.js";
import { DepthwattError } from "../../../core/index.js";
import type { RunControl } from "../../contracts/control.js";
import type { BrokerAccess, Output, OutputContext, OutputCounters } from "../../contracts/output.js";
import { VERSION } from "../../contracts/version.js";
import { requireBroker, SideTopics } from "../../mqtt/side-topics.js";
import {
  type ControlledSetting,
  discoveryPayload,
  discoveryTopic,
  haCommandTopic,
  haStateTopic,
} from "./discovery.js";
import type { HomeAssistantSettings } from "./settings.js";

/** Many devices hear the birth message at the same moment. */
const MAX_DELAY_MS = 500;

const splitKeys = (list: string | undefined): string[] => list?.split(",") ?? [];

function refuse(key: string, setting: string, expected: string): never {
  const text = `outputs.homeAssistant.${setting}: expected ${expected}, got ${key}`;
  throw new DepthwattError("CONFIG_INVALID", text, { context: { key: `outputs.homeAssistant.${setting}` } });
}

/** @throws DepthwattError CONFIG_INVALID where a setting is none, not live, or neither a switch nor a choice */
export function controlledSettings(
  control: Pick<RunControl, "settings">,
  { switches, selects }: Pick<HomeAssistantSettings, "switches" | "selects">,
): ControlledSetting[] {
  const live = new Map(control.settings().settings.map((setting) => [setting.key, setting]));
  const liveSchema = (key: string, of: string) => {
    const setting = live.get(key);
    return setting?.schema ?? refuse(key, of, "a setting that takes effect live");
  };
  return [
    ...splitKeys(switches).map((key) => {
      if (liveSchema(key, "switches").type !== "boolean")
        refuse(key, "switches", "a setting of true and false");
      return { key };
    }),
    ...splitKeys(selects).map((key) => {
      const options = liveSchema(key, "selects").enum as unknown;
      if (!Array.isArray(options)) return refuse(key, "selects", "a setting with a choice");
      return { key, options: options.map(String) };
    }),
  ];
}

export async function openHomeAssistant(context: OutputContext<HomeAssistantSettings>): Promise<Output> {
  const { settings, control, notice } = context;
  const hint = "Set outputs.mqtt.broker to the URL of the broker that Home Assistant uses.";
  const broker = requireBroker(context, "homeAssistant", hint);
  if (broker.embedded)
    notice("homeAssistant: the embedded broker is reached from this machine only; give the URL of another");
  let controlled: ControlledSetting[] = [];
  if (control !== undefined && control.off === undefined) {
    if (control.brokerAuthenticates) controlled = controlledSettings(control, settings);
    else
      notice(
        "homeAssistant: no switches and selects, because Home Assistant cannot sign requests; they need control.authentication broker",
      );
  }
  return new HomeAssistantOutput(context, broker, controlled);
}

class HomeAssistantOutput implements Output {
  readonly streams = [];
  readonly ready: Promise<unknown>;
  readonly #context: OutputContext<HomeAssistantSettings>;
  readonly #controlled: readonly ControlledSetting[];
  readonly #side: SideTopics;
  readonly #topic: string;
  #announced: boolean;
  #values: Record<string, unknown> = {};
  #board: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #refused = 0;

  constructor(
    context: OutputContext<HomeAssistantSettings>,
    broker: BrokerAccess,
    controlled: readonly ControlledSetting[],
  ) {
    const { base, device, settings, notice } = context;
    this.#context = context;
    this.#controlled = controlled;
    this.#announced = settings.announced;
    this.#topic = discoveryTopic(settings.discoveryPrefix, base, device);
    const birth = `${settings.discoveryPrefix}/status`;
    this.#side = new SideTopics({
      broker,
      name: `${device}-ha`,
      notice: (text) => notice(`homeAssistant: ${text}`),
      subscriptions: [birth, ...controlled.map(({ key }) => haCommandTopic(base, device, key))],
      onMessage: (topic, text, retained) => {
        // A birth message that was kept says nothing of now; the announcement is kept as well.
        if (topic === birth) {
          if (text === "online" && !retained) this.#announceSoon();
        } else if (!retained) this.#change(topic, text);
      },
    });
    this.ready = this.#side.ready;
  }

  frame(): void {}

  info(info: object): void {
    const { board } = info as { board?: unknown };
    this.#board = typeof board === "string" && board !== "auto" ? board : undefined;
    this.#announce();
  }

  settings(values: object): void {
    const before = this.#values;
    this.#values = { ...before, ...values };
    const { base, device } = this.#context;
    for (const { key } of this.#controlled) {
      const value = this.#values[key];
      if (value === before[key]) continue;
      const text = typeof value === "boolean" ? (value ? "ON" : "OFF") : String(value);
      this.#side.keep(haStateTopic(base, device, key), text);
    }
    this.#announce();
  }

  configure({ announced }: HomeAssistantSettings): void {
    if (announced === this.#announced) return;
    this.#announced = announced;
    if (announced) this.#announce();
    else {
      clearTimeout(this.#timer);
      this.#side.keep(this.#topic, "");
    }
  }

  #announceSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#announce(), Math.random() * MAX_DELAY_MS).unref();
  }

  #announce(): void {
    if (!this.#announced) return;
    const { base, device } = this.#context;
    const payload = discoveryPayload({
      base,
      device,
      version: VERSION,
      board: this.#board,
      topics: makeTopics(base, device),
      preview: this.#values["outputs.mqtt.preview.enabled"] === true,
      zones: this.#context.zones?.() ?? [],
      alarms: this.#context.alarms?.() ?? [],
      controlled: this.#controlled,
      page: undefined,
    });
    this.#side.keep(this.#topic, JSON.stringify(payload));
  }

  /** Turns the value of a switch or a select into a request to control. */
  #change(topic: string, text: string): void {
    const { base, device, control, notice } = this.#context;
    const setting = this.#controlled.find(({ key }) => haCommandTopic(base, device, key) === topic);
    if (setting === undefined || control === undefined) return;
    const { key, options } = setting;
    const value = options !== undefined ? text : text === "ON" ? true : text === "OFF" ? false : undefined;
    if (value === undefined) {
      this.#refused++;
      return;
    }
    void control.perform("set", { values: { [key]: value } }, "Home Assistant").then((answer) => {
      if (answer.ok) return;
      this.#refused++;
      notice(`homeAssistant: ${key} was not changed: ${answer.message}`);
      // Home Assistant shows what it asked for until it hears what holds.
      const held = this.#values[key];
      this.#side.keep(
        haStateTopic(base, device, key),
        typeof held === "boolean" ? (held ? "ON" : "OFF") : String(held),
      );
    });
  }

  counters(): OutputCounters {
    const { sent, bytes, drops, connected } = this.#side;
    const details = { connected, announced: this.#announced, refused: this.#refused };
    return { sent, bytes, drops: { ...drops }, details };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#side.close();
  }
}
