// SPDX-License-Identifier: Apache-2.0
// Writes the page whose bars count the refreshes of a screen, for `capture --sync-test screen`.
import { BAR_BITS } from "../../../camera/index.js";

/** Returns the page: a browser shows it full screen, and both cameras see it. */
export const screenPage = (): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>depthwatt screen counter</title>
<style>
html, body { margin: 0; height: 100%; background: #000; cursor: none }
body { display: flex }
i { flex: 1 }
</style>
<body>${"<i></i>".repeat(BAR_BITS.length)}
<script>
const bits = ${JSON.stringify(BAR_BITS)};
const bars = [...document.querySelectorAll("i")];
let count = 0;
function draw() {
  const gray = count ^ (count >> 1);
  for (const [at, bit] of bits.entries()) bars[at].style.background = (gray >> bit) & 1 ? "#fff" : "#000";
  count = (count + 1) % ${2 ** BAR_BITS.length};
  requestAnimationFrame(draw);
}
draw();
</script>
</html>
`;
