// SPDX-License-Identifier: Apache-2.0
// depthwatt list-devices: every camera with its formats, sizes, rates and controls, as it says of itself.
import type { Command } from "commander";
import {
  CAPTURE_FORMATS,
  captureFormatFrom,
  controlName,
  type ListedDevice,
  listDevices,
  type NativeControl,
  type NativeDescription,
} from "../../../camera/index.js";
import { isDepthwattError } from "../../../core/index.js";
import { withExamples, withJson } from "../../cli/options.js";
import { columns, note, paint, printJson, printLine } from "../../cli/output.js";

type Format = NativeDescription["formats"][number];
type Size = Format["sizes"][number];

const hertz = (rate: number) => Number(rate.toFixed(2));

function ratesText({ ratesHz, rateRange }: Size): string {
  if (ratesHz.length === 0) return "";
  return rateRange
    ? `${hertz(Math.min(...ratesHz))} to ${hertz(Math.max(...ratesHz))} Hz`
    : `${ratesHz.map(hertz).join(", ")} Hz`;
}

function sizeText({ minWidth, maxWidth, minHeight, maxHeight }: Size): string {
  const largest = `${maxWidth}x${maxHeight}`;
  return minWidth === maxWidth && minHeight === maxHeight
    ? largest
    : `${minWidth}x${minHeight} to ${largest}`;
}

function formatRows(format: Format): string[][] {
  const name = captureFormatFrom(format.fourcc) ?? "not read by depthwatt";
  const sizes =
    format.sizes.length === 0 ? [["any", ""]] : format.sizes.map((size) => [sizeText(size), ratesText(size)]);
  return sizes.map(([size, rates], i) => [
    i === 0 ? format.fourcc.trim() : "",
    i === 0 ? name : "",
    size as string,
    rates as string,
  ]);
}

function controlRow(control: NativeControl): string[] {
  const range =
    control.menu.length > 0
      ? control.menu.map((entry) => `${entry.value} ${entry.name}`).join(", ")
      : control.kind === "boolean"
        ? "0 or 1"
        : control.kind === "button"
          ? "a button"
          : `${control.minimum} to ${control.maximum}${control.step > 1 ? ` in steps of ${control.step}` : ""}`;
  const marks = [control.writable ? "" : "read only", control.inactive ? "inactive" : ""].filter(
    (mark) => mark !== "",
  );
  return [controlName(control.name), range, marks.join(", ")];
}

function show({ path, description, problem }: ListedDevice, all: boolean): void {
  if (!description) {
    const text = problem instanceof Error ? problem.message : String(problem);
    printLine(`${paint("bold", path)}  ${paint("red", text)}`);
    if (isDepthwattError(problem)) printLine(`  hint: ${problem.hint}`);
    return;
  }
  const { card, bus, driver, multiPlanar } = description;
  printLine(`${paint("bold", path)}  ${card}  (${driver}, ${bus}${multiPlanar ? ", multi-planar" : ""})`);
  const usable = description.formats.filter((format) => all || captureFormatFrom(format.fourcc));
  for (const line of columns(usable.flatMap(formatRows))) printLine(`  ${line}`);
  const others = description.formats.length - usable.length;
  if (others > 0)
    printLine(paint("dim", `  and ${others} formats that depthwatt does not read (--all shows them)`));
  if (!all) return;
  for (const line of columns(description.controls.map(controlRow))) printLine(paint("dim", `  ${line}`));
}

interface ListFlags {
  json?: boolean;
  all?: boolean;
}

/** Prints the video devices that capture, and those that cannot be asked. */
export function printDevices(devices: readonly ListedDevice[], { json, all }: ListFlags): void {
  const cameras = devices.filter(({ description }) => description === undefined || description.captures);
  if (json) {
    const listed = cameras.map(({ path, description, problem }) =>
      description
        ? { available: true, ...description, formats: description.formats.map(withName) }
        : { available: false, path, reason: problem instanceof Error ? problem.message : String(problem) },
    );
    printJson({ cameras: listed, readable: CAPTURE_FORMATS });
    return;
  }
  if (cameras.length === 0) {
    note("no cameras: there is no /dev/video* that captures");
    return;
  }
  for (const camera of cameras) show(camera, all === true);
}

const withName = (format: Format) => ({ ...format, format: captureFormatFrom(format.fourcc) ?? null });

export function define(command: Command): void {
  command.option("--all", "also show controls, and formats that depthwatt cannot read");
  withExamples(
    withJson(command, "print everything as JSON, with controls"),
    "depthwatt list-devices",
    "depthwatt list-devices --all",
  ).action(async (flags: ListFlags) => printDevices(await listDevices(), flags));
}
