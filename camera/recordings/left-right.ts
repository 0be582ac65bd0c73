// SPDX-License-Identifier: Apache-2.0
// Where in a folder the images of the two cameras are.
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Left and right next to each other, or below mav0 as EuRoC has them; undefined: neither. */
export function leftRightIn(folder: string): { left: string; right: string } | undefined {
  const around = [join(folder, "mav0"), folder].find(
    (one) => existsSync(join(one, "cam0")) && existsSync(join(one, "cam1")),
  );
  if (around !== undefined) {
    const data = (camera: string) => {
      const inner = join(around, camera, "data");
      return existsSync(inner) ? inner : join(around, camera);
    };
    return { left: data("cam0"), right: data("cam1") };
  }
  const [left, right] = [join(folder, "left"), join(folder, "right")];
  return existsSync(left) && existsSync(right) ? { left, right } : undefined;
}
