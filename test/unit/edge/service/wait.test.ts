// SPDX-License-Identifier: Apache-2.0
// A service waits for cameras and ports; a person at a terminal gets the error at once; what does not fix itself ends both.
import { expect, test } from "vitest";
import { DepthwattError, type ErrorCode } from "../../../../core/index.js";
import { createNotifier } from "../../../../edge/service/notify.js";
import { whenThere } from "../../../../edge/service/wait.js";

function make(environment: NodeJS.ProcessEnv) {
  const sent: string[] = [];
  const send = (_: string, message: string) => {
    sent.push(message);
    return "";
  };
  return { notifier: createNotifier({ send, environment }), sent };
}
const SERVICE = { NOTIFY_SOCKET: "/run/systemd/notify" };

/** Fails in this order, then works. */
function failingAttempts(...failures: [ErrorCode, string][]) {
  let tries = 0;
  return {
    tries: () => tries,
    attempt: async () => {
      const failure = failures[tries++];
      if (failure !== undefined) throw new DepthwattError(...failure);
      return "open";
    },
  };
}

test("a service tries until it works, is ready meanwhile, and names each reason once", async () => {
  const { notifier, sent } = make(SERVICE);
  const { attempt, tries } = failingAttempts(
    ["DEVICE_UNAVAILABLE", "no camera"],
    ["DEVICE_UNAVAILABLE", "no camera"],
    ["DEVICE_PERMISSION", "not yet"],
    ["HTTP_UNAVAILABLE", "port taken"],
  );
  const reported: string[] = [];
  const options = { retryMs: 1, onWait: ({ message }: Error) => void reported.push(message) };
  expect(await whenThere(attempt, notifier, options)).toBe("open");
  expect(tries()).toBe(5);
  expect(reported).toEqual(["no camera", "not yet", "port taken"]);
  expect(sent).toEqual([
    "READY=1",
    "STATUS=waiting: no camera",
    "STATUS=waiting: no camera",
    "STATUS=waiting: not yet",
    "STATUS=waiting: port taken",
  ]);
});

test.each([
  ["without a service manager a missing camera is an error", {}, "DEVICE_UNAVAILABLE"],
  ["a camera that does not support the request is one in a service, too", SERVICE, "DEVICE_UNSUITABLE"],
  ["and so is a wrong configuration", SERVICE, "CONFIG_INVALID"],
] as const)("%s", async (_, environment, code) => {
  const { notifier, sent } = make(environment);
  const { attempt } = failingAttempts([code, "no"]);
  await expect(whenThere(attempt, notifier, { onWait: () => {} })).rejects.toMatchObject({ code });
  expect(sent).toEqual([]);
});

test("a reason that only a new process can fix ends a service after its time, not before", async () => {
  const { notifier } = make(SERVICE);
  let tries = 0;
  const attempt = (newProcessAfterMs: number) => async () => {
    if (++tries > 3) return "open";
    throw new DepthwattError("DEVICE_UNAVAILABLE", "no socket", { context: { newProcessAfterMs } });
  };
  const options = { retryMs: 1, onWait: () => {} };
  await expect(whenThere(attempt(60_000), notifier, options)).resolves.toBe("open");
  tries = 0;
  await expect(whenThere(attempt(0), notifier, options)).rejects.toMatchObject({ message: "no socket" });
});
