// SPDX-License-Identifier: Apache-2.0
// The causes of frames that were not sent, in words, and which of them are losses.
import { S } from "../strings.js";

/** A rate limit, a page without room or the duty cycle skips frames on purpose; every other cause loses them. */
export const isIntended = (cause: string): boolean =>
  /(^|\.)(rateLimit|pageBusy|settling|dutyCycle|noMotion)$/.test(cause);

const isKnown = (cause: string): cause is keyof typeof S.causes => Object.hasOwn(S.causes, cause);

/** Returns "engine busy" for engineBusy, "left camera: late" for left.late; a name that is not known stays. */
export function causeWords(cause: string): string {
  const parts = cause.split(".");
  const last = parts.pop() ?? "";
  const words = isKnown(last)
    ? S.causes[last]
    : last.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const where = parts.map((part) => S.causePlaces[part as keyof typeof S.causePlaces] ?? part);
  return [...where, words].join(": ");
}
