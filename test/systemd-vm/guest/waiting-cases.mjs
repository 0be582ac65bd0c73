// SPDX-License-Identifier: Apache-2.0
// Tests the third boot: no camera is there, and another program has the port of the live page.
import { existsSync, readdirSync } from "node:fs";
import {
  assert,
  hearDepth,
  hearState,
  journal,
  MAIN,
  mainPid,
  NODE,
  plugAll,
  sh,
  show,
  tried,
  UNIT,
  until,
  words,
} from "./tools.mjs";

const waitsFor = (what) => until(() => what.test(show("StatusText")), `a status of ${what}`);
const reported = () => journal(0, "-b").filter((entry) => entry.DEPTHWATT_EVENT === "waiting");
let pid;

export const cases = {
  "no camera at boot: the boot ends, the service waits and reports it": async () => {
    await waitsFor(/^waiting: .*video/);
    assert.equal(show("ActiveState"), "active");
    await until(
      () => tried("systemctl", "is-active", "multi-user.target").status === 0,
      "the end of the boot",
    );
    pid = mainPid();
    const [first] = reported();
    assert.equal(first.DEPTHWATT_ERROR_CODE, "DEVICE_UNAVAILABLE");
    assert.equal(first.PRIORITY, "4");
    return { status: show("StatusText") };
  },

  "a port in use at boot: named with its port, waited for as well": async () => {
    plugAll();
    await waitsFor(/^waiting: .*port 8990.*another process has that port/);
    assert.equal(reported().at(-1).DEPTHWATT_ERROR_CODE, "HTTP_UNAVAILABLE");
    return { status: show("StatusText") };
  },

  "both come, depth comes, from the process that waited; each reason is once in the journal": async () => {
    sh("systemctl", "stop", "other.service");
    await hearState("online");
    await hearDepth();
    assert.equal(mainPid(), pid);
    assert.equal(show("NRestarts"), "0");
    const messages = reported().map((entry) => entry.MESSAGE);
    assert.deepEqual([...new Set(messages)], messages);
    assert(messages.length <= 4, words(reported()));
    return { messages };
  },

  "uninstall-service --purge ends it and takes every file away; the user stays": () => {
    const text = sh(NODE, MAIN, "uninstall-service", "--purge");
    assert.match(text, /disable --now depthwatt\.service/);
    assert.equal(tried("systemctl", "is-active", UNIT).output.trim(), "inactive");
    const units = readdirSync("/etc/systemd/system", { recursive: true });
    assert.deepEqual(
      units.filter((name) => name.includes("depthwatt")),
      [],
    );
    for (const path of ["/etc/depthwatt", "/var/lib/depthwatt", "/etc/udev/rules.d/60-depthwatt-power.rules"])
      assert(!existsSync(path), `${path} is still there`);
    assert.match(sh("id", "depthwatt"), /\(depthwatt\)/);
  },
};
