// SPDX-License-Identifier: Apache-2.0
// The switches below the picture.
import type { RefObject } from "preact";
import { Choice, Switch } from "../controls.js";
import { freeze } from "../live.js";
import { type Options, setOptions, useOptions } from "../options.js";
import { controlNow, useStore } from "../store.js";
import { S } from "../strings.js";
import { COLOUR_MAPS } from "./colour-maps.js";
import type { Painter } from "./painter.js";
import { RecalibrateButton } from "./recalibrate-button.js";
import { RecordButton } from "./record-button.js";
import { screenshot, snapshot } from "./save.js";

export interface PictureToolsProps {
  stage: RefObject<HTMLDivElement | null>;
  painter: RefObject<Painter | null>;
  tool: Tool | undefined;
  /** There are zones to be shown. */
  hasZones: boolean;
  onTool: (tool: Tool | undefined) => void;
}

/** The action of a drag over the picture. */
export type Tool = "region" | "area" | "ruler";

/** A confidence as a probability. */
const percent = (confidence: number) => `${Math.round((100 * confidence) / 255)} %`;

const T = S.picture;

export function PictureTools({ stage, painter, tool, hasZones, onTool }: PictureToolsProps) {
  const options = useOptions();
  const frozen = useStore((state) => state.frozen);
  const control = useStore((state) => controlNow(state).state.enabled);
  const tools: Tool[] = control ? ["area", "ruler", "region"] : ["area", "ruler"];
  const shoot = () => {
    const set = painter.current?.set;
    const canvases = [...(stage.current?.querySelectorAll<HTMLCanvasElement>(".sheet canvas") ?? [])].filter(
      (canvas) => canvas.offsetParent !== null,
    );
    if (set && canvases.length > 0) screenshot(set, canvases);
  };
  return (
    <div class="tools" role="toolbar" aria-label={S.tabs.picture}>
      <Choice
        label={T.layout}
        value={options.layout}
        choices={T.layouts}
        onChange={(layout) => setOptions({ layout: layout as Options["layout"] })}
      />
      <Choice
        label={T.quantity}
        value={options.quantity}
        choices={T.quantities}
        onChange={(quantity) => setOptions({ quantity: quantity as Options["quantity"] })}
      />
      <Choice
        label={T.map}
        value={options.map}
        choices={Object.fromEntries(COLOUR_MAPS.map((name) => [name, name]))}
        onChange={(map) => setOptions({ map: map as Options["map"] })}
      />
      {options.layout === "blend" && (
        <label class="field">
          <span>{T.blend}</span>
          <input
            type="range"
            min={0}
            max={1}
            step={0.05}
            value={options.blend}
            onInput={(event) => setOptions({ blend: Number(event.currentTarget.value) })}
          />
        </label>
      )}
      <label class="field">
        <span>
          {T.minConfidence} <b data-range="confidence">{percent(options.minConfidence)}</b>
        </span>
        <input
          type="range"
          min={0}
          max={255}
          value={options.minConfidence}
          aria-valuetext={percent(options.minConfidence)}
          onInput={(event) => setOptions({ minConfidence: Number(event.currentTarget.value) })}
        />
      </label>
      <Switch label={T.filled} on={options.filled} onChange={(filled) => setOptions({ filled })} />
      <Switch label={T.grid} on={options.grid} onChange={(grid) => setOptions({ grid })} />
      {hasZones && <Switch label={T.zones} on={options.zones} onChange={(zones) => setOptions({ zones })} />}
      <div class="buttons">
        <button type="button" aria-pressed={frozen} onClick={() => freeze(!frozen)}>
          {T.freeze}
        </button>
        <button type="button" onClick={() => void stage.current?.requestFullscreen?.()}>
          {T.fullScreen}
        </button>
        <button type="button" onClick={shoot}>
          {T.screenshot}
        </button>
        <button
          type="button"
          title={T.snapshotHint}
          onClick={() => painter.current?.set && void snapshot(painter.current.set)}
        >
          {T.snapshot}
        </button>
        <RecordButton />
        <RecalibrateButton />
        {tools.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={tool === name}
            title={T.toolHints[name]}
            onClick={() => onTool(tool === name ? undefined : name)}
          >
            {T.tools[name]}
          </button>
        ))}
      </div>
    </div>
  );
}
