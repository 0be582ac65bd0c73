// SPDX-License-Identifier: Apache-2.0
// Renders the whole page: head, view, figures and settings, and notices about missing parts.
import type { PictureStream } from "depthwatt-consumer/frames";
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { Tabs } from "./controls.js";
import { Figures } from "./figures/figures.js";
import { Log } from "./figures/log.js";
import { Head } from "./head.js";
import { onFrames, watch } from "./live.js";
import { type Options, setOptions, useOptions } from "./options.js";
import { PasswordForm } from "./password.js";
import { PictureView } from "./picture/picture-view.js";
import { Settings } from "./settings/settings.js";
import { useStore } from "./store.js";
import { S } from "./strings.js";

/** Parts that not everybody looks at are loaded when they are. */
function Later({ load }: { load: () => Promise<{ default: ComponentType }> }) {
  const [Part, setPart] = useState<ComponentType>();
  useEffect(() => {
    let here = true;
    void load().then(({ default: part }) => here && setPart(() => part));
    return () => {
      here = false;
    };
  }, []);
  return Part ? <Part /> : null;
}

const loadCloud = () => import("./cloud/cloud-view.js");
const loadPlots = () => import("./figures/plots.js");
const loadCalibration = () => import("./calibration/calibration-view.js");

const STREAMS: PictureStream[] = ["left", "depth", "disparity", "confidence"];
const CLOUD_STREAMS: PictureStream[] = ["left", "depth", "confidence"];

/** Shows what the user should know first. */
function Notice() {
  const link = useStore((state) => state.link);
  const source = useStore((state) => state.source);
  const kind = useStore((state) => state.hello?.kind);
  const device = useStore((state) => state.device);
  const entry = useStore((state) => state.devices.find(({ name }) => name === state.device));
  const [frames, setFrames] = useState(false);
  useEffect(() => onFrames((set) => setFrames(Object.keys(set.pictures).length > 0)), []);
  let text = "";
  if (link === "lost") text = S.link.lost;
  else if (link === "connecting") text = frames ? S.link.lost : S.link.connecting;
  else if (kind === "view" && !source.connected) text = `${S.link.brokerLost}: ${source.reason}`;
  else if (device !== undefined && (entry?.state === "offline" || entry?.state === "stopped"))
    text = S.link.offline(device, entry.reason);
  else if (!frames && kind !== "calibrate") text = S.link.waiting;
  return (
    <div class="live" role="status" aria-live="polite">
      {text !== "" && <p class="notice">{text}</p>}
    </div>
  );
}

function Foot() {
  const hello = useStore((state) => state.hello);
  if (hello === undefined) return null;
  return (
    <footer class="quiet">
      {S.version(hello.version)}{" "}
      {hello.help !== undefined && (
        <a href={hello.help} target="_blank" rel="noreferrer" title={S.helpHint}>
          {S.help}
        </a>
      )}
    </footer>
  );
}

export function App() {
  const options = useOptions();
  const password = useStore((state) => state.password);
  const device = useStore((state) => state.device);
  const kind = useStore((state) => state.hello?.kind);
  useEffect(() => {
    watch(device, options.view === "cloud" ? CLOUD_STREAMS : STREAMS);
  }, [device, options.view]);
  // Before the effects of its parts, which read colours of the style sheet.
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = options.theme;
  }, [options.theme]);
  if (password !== undefined)
    return (
      <main>
        <PasswordForm reason={password} />
      </main>
    );
  if (kind === "calibrate")
    return (
      <>
        <Head />
        <Notice />
        <main class="calibration">
          <Later load={loadCalibration} />
          <section>
            <h2>{S.sideTabs.log}</h2>
            <Log />
          </section>
        </main>
        <Foot />
      </>
    );
  const sides = {
    figures: <Figures />,
    plots: <Later load={loadPlots} />,
    settings: <Settings />,
    log: <Log />,
  };
  return (
    <>
      <a class="skip" href="#view-panel">
        {S.skip}
      </a>
      <Head />
      <Notice />
      <main class={`side-${options.side}`}>
        <Tabs
          id="view"
          label={S.tabs.view}
          tabs={{ picture: S.tabs.picture, cloud: S.tabs.cloud }}
          chosen={options.view}
          onChoose={(view) => setOptions({ view: view as Options["view"] })}
        >
          {options.view === "picture" ? (
            <PictureView key={device} />
          ) : (
            <Later key={device} load={loadCloud} />
          )}
        </Tabs>
        <Tabs
          id="side"
          label={S.tabs.side}
          tabs={S.sideTabs}
          chosen={options.side}
          onChoose={(side) => setOptions({ side: side as Options["side"] })}
        >
          {sides[options.side]}
        </Tabs>
      </main>
      <Foot />
    </>
  );
}
