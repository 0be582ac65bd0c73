// SPDX-License-Identifier: Apache-2.0
// The head of the page: which device, how it is, the four figures that count.
import { useEffect } from "preact/hooks";
import { Choice } from "./controls.js";
import { finiteNumber, member } from "./documents.js";
import { type Options, setOptions, useOptions } from "./options.js";
import { chooseDevice, useDocuments, useStore } from "./store.js";
import { S } from "./strings.js";

const T = S.headline;

export function Head() {
  const { theme } = useOptions();
  const devices = useStore((state) => state.devices);
  const device = useStore((state) => state.device);
  const link = useStore((state) => state.link);
  const brokerLost = useStore(({ hello, source }) => hello?.kind === "view" && !source.connected);
  const { metrics, state } = useDocuments();
  const choices = Object.fromEntries(
    devices.map(({ name, state: said }) => [
      name,
      said === "online" || said === "unknown" ? name : `${name} (${said})`,
    ]),
  );
  // The speed of a device that does not answer is unknown; its last figures are in their tab.
  const isGone = link !== "open" || brokerLost || state?.state === "offline" || state?.state === "stopped";
  const figures: [string, string, number | undefined, number][] = isGone
    ? []
    : [
        ["fps", T.fps, finiteNumber(metrics?.fps), 1],
        ["latency", T.latency, finiteNumber(member(metrics?.latencyMs, "p50")), 1],
        ["watts", T.watts, finiteNumber(member(metrics?.power, "watts")), 2],
        ["efficiency", T.efficiency, finiteNumber(member(metrics?.power, "fpsPerWatt")), 2],
      ];
  const known = brokerLost ? undefined : state?.state;
  const shownState = link === "open" ? (known ?? "unknown") : link;
  useEffect(() => {
    document.title = device === undefined ? S.title : S.tabTitle(device, shownState);
  }, [device, shownState]);
  return (
    <header>
      <h1>{S.title}</h1>
      {devices.length === 0 ? (
        <p class="device">{S.noDevice}</p>
      ) : devices.length === 1 ? (
        <p class="device" data-device={device}>
          {device}
        </p>
      ) : (
        <Choice label={S.device} value={device ?? ""} choices={choices} onChange={chooseDevice} />
      )}
      <p class={`badge ${shownState}`} data-state={shownState}>
        {shownState}
      </p>
      <ul class="headline">
        {figures.map(([name, label, value, digits]) =>
          value === undefined ? null : (
            <li key={name}>
              <b data-headline={name}>{value.toFixed(digits)}</b> {label}
            </li>
          ),
        )}
      </ul>
      <Choice
        label={S.theme.label}
        value={theme}
        choices={{ auto: S.theme.auto, light: S.theme.light, dark: S.theme.dark }}
        onChange={(chosen) => setOptions({ theme: chosen as Options["theme"] })}
      />
    </header>
  );
}
