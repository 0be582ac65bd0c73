// SPDX-License-Identifier: Apache-2.0
// Guidance of depthwatt calibrate: both images with the corners and the parts that were covered, what to do next, what it is worth.
import { useEffect, useRef } from "preact/hooks";
import type { CalibrationDocument, CalibrationImage } from "../../../edge/outputs/viewer/protocol.js";
import { useDocuments } from "../store.js";
import { S } from "../strings.js";

const T = S.calibration;
const SIDES = ["left", "right"] as const;

/** Metres in a unit that suits them. */
function formatLength(metres: number): string {
  if (!Number.isFinite(metres)) return S.figures.unknown;
  if (metres < 0.01) return `${(metres * 1000).toPrecision(2)} mm`;
  return metres < 1 ? `${(metres * 100).toPrecision(2)} cm` : `${metres.toPrecision(2)} m`;
}

function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** The picture itself; a later one may be decoded before an earlier one and is not painted over. */
function usePicture(image: CalibrationImage) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(0);
  useEffect(() => {
    const own = ++newest.current;
    void createImageBitmap(new Blob([decodeBase64(image.jpeg)], { type: "image/jpeg" })).then((bitmap) => {
      const element = canvas.current;
      if (element && own === newest.current) {
        element.width = image.width;
        element.height = image.height;
        element.getContext("2d")?.drawImage(bitmap, 0, 0);
      }
      bitmap.close();
    });
  }, [image.jpeg]);
  return canvas;
}

interface SideProps {
  side: "left" | "right";
  image: CalibrationImage;
  progress: CalibrationDocument["progress"];
}

function SideView({ side, image, progress }: SideProps) {
  const canvas = usePicture(image);
  const { width, height, corners } = image;
  const cells = progress?.cells[side] ?? [];
  const [w, h] = progress ? [width / progress.columns, height / progress.rows] : [width, height];
  const covered = cells.filter((count) => count > 0).length;
  const points: string[] = [];
  for (let i = 0; i < corners.length; i += 2) points.push(`M${corners[i]} ${corners[i + 1]}h0`);
  return (
    <figure class="seen" data-side={side}>
      <figcaption>
        {T.image(side)}
        {progress && `: ${T.covered(covered, cells.length)}`}
      </figcaption>
      <div class="layers">
        <canvas ref={canvas} width={width} height={height} aria-label={T.image(side)} role="img" />
        <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {cells.map((count, at) => (
            <rect
              key={at}
              class={count > 0 ? "covered" : "empty"}
              x={(at % progress!.columns) * w}
              y={Math.floor(at / progress!.columns) * h}
              width={w}
              height={h}
            />
          ))}
          <path class="corners" d={points.join("")} stroke-width={width / 100} />
        </svg>
      </div>
    </figure>
  );
}

function Worth({ worth }: Pick<CalibrationDocument, "worth">) {
  return (
    <section>
      <h2>{T.worth}</h2>
      {worth === undefined ? (
        <p class="quiet">{T.tooFew}</p>
      ) : (
        <dl>
          <dt>{T.error}</dt>
          <dd>{worth.rmsPixels.toFixed(3)} px</dd>
          <dt>{T.focal}</dt>
          <dd>
            {worth.focalPercent === undefined ? S.figures.unknown : `${worth.focalPercent.toFixed(2)} %`}
          </dd>
          {worth.depthErrors.map(({ depthMetres, totalMetres }) => (
            <>
              <dt>
                {T.depthError} {T.at(depthMetres)}
              </dt>
              <dd data-depth-error={depthMetres}>{formatLength(totalMetres)}</dd>
            </>
          ))}
        </dl>
      )}
    </section>
  );
}

function Progress({ progress, board, wanted, trouble }: CalibrationDocument) {
  return (
    <section>
      <h2>{T.progress}</h2>
      {progress && (
        <progress max={1} value={progress.share} aria-label={T.progress}>
          {Math.floor(100 * progress.share)} %
        </progress>
      )}
      <dl>
        <dt>{T.board}</dt>
        <dd>{board}</dd>
        {progress && (
          <>
            <dt>{T.pairs}</dt>
            <dd data-pairs={progress.pairs}>{T.ofPairs(progress.pairs, progress.wantedPairs)}</dd>
            <dt>{T.tilts}</dt>
            <dd>
              <ul>
                {Object.entries(T.tiltSides).map(([side, words]) => {
                  const count = progress.tilts[side as keyof typeof T.tiltSides];
                  return (
                    <li key={side} class={count >= progress.wantedTilts ? "done" : "quiet"}>
                      {words}: {T.ofPairs(Math.min(count, progress.wantedTilts), progress.wantedTilts)}
                    </li>
                  );
                })}
              </ul>
            </dd>
          </>
        )}
        <dt>{T.missing}</dt>
        <dd>{wanted === "" ? T.nothingMissing : wanted}</dd>
        {trouble !== undefined && (
          <>
            <dt>{T.problem}</dt>
            <dd class="problem">{trouble}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

export default function CalibrationView() {
  const { calibration } = useDocuments();
  if (calibration === undefined) return <p class="quiet">{T.waiting}</p>;
  const { images, progress, worth, text, verdict, result } = calibration;
  return (
    <>
      <p class="guidance" role="status" data-verdict={result === undefined ? verdict : "ended"}>
        {result ?? text}
      </p>
      <div class="pair">
        {SIDES.map((side) => (
          <SideView key={side} side={side} image={images[side]} progress={progress} />
        ))}
      </div>
      <div class="pair">
        <Progress {...calibration} />
        <Worth worth={worth} />
      </div>
    </>
  );
}
