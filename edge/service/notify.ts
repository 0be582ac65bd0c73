// SPDX-License-Identifier: Apache-2.0
// Notifies systemd: ready, status, stopping, and a watchdog that completed frames feed, and waits that have a known end.
// A timer alone would keep petting the watchdog while the cameras hang; here a tick without progress sends nothing.

/** Sends one datagram; "" or the reason why not. The addon's sdNotify. */
export type SendDatagram = (socketAddress: string, message: string) => string;

export interface ServiceNotifier {
  /** True where a service manager listens. */
  readonly active: boolean;
  /** Time after which systemd kills us without a frame, milliseconds; undefined = no watchdog asked for. */
  readonly watchdogMs: number | undefined;
  /** The next frame will come so much later than usual: systemd waits for it, at the start as after a restart over control. */
  startsLater(seconds: number): void;
  /** Frames come so seldom: between two of them the watchdog is fed all the same, until three periods have passed. */
  expectEvery(periodMs: number): void;
  /** No frame can be expected while this reports it, as with a camera that is unplugged: a restart would not bring it back. */
  excuse(isExcused: () => boolean): void;
  /** Reports another attempt to open a missing part: the service is up, its status names the part. */
  waiting(reason: string): void;
  /** The first frame came out: the service is up. Later calls do nothing. */
  ready(): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** Call for every completed frame; costs an increment. */
  frameCompleted(): void;
  /** Begins the orderly end; the watchdog is no longer fed. */
  stopping(): void;
}

export interface NotifierOptions {
  send: SendDatagram;
  /** Default: process.env. NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID are read. */
  environment?: NodeJS.ProcessEnv;
  /** Called once, when the first datagram cannot be sent. */
  onFailure?: (reason: string) => void;
  processId?: number;
}

/** Beyond a wait that is planned: what the start takes automatically. */
const START_MARGIN_SECONDS = 60;

const SILENT: ServiceNotifier = {
  active: false,
  watchdogMs: undefined,
  startsLater: () => {},
  expectEvery: () => {},
  excuse: () => {},
  waiting: () => {},
  ready: () => {},
  status: () => {},
  frameCompleted: () => {},
  stopping: () => {},
};

/** The time systemd gave this very process, not a parent of it. */
function watchdogTime(environment: NodeJS.ProcessEnv, processId: number): number | undefined {
  const microseconds = Number(environment.WATCHDOG_USEC);
  if (!Number.isFinite(microseconds) || microseconds <= 0) return undefined;
  const meant = environment.WATCHDOG_PID;
  return meant === undefined || Number(meant) === processId ? microseconds / 1000 : undefined;
}

/** Without NOTIFY_SOCKET (a terminal, a container without systemd) every call does nothing. */
export function createNotifier(options: NotifierOptions): ServiceNotifier {
  const { send, environment = process.env, onFailure, processId = process.pid } = options;
  const address = environment.NOTIFY_SOCKET;
  if (!address) return SILENT;

  let failed = false;
  const notify = (message: string) => {
    const reason = send(address, message);
    if (reason === "" || failed) return;
    failed = true;
    onFailure?.(`the service manager cannot be notified (${address}: ${reason})`);
  };

  let isReady = false;
  let frames = 0;
  let framesFed = 0;
  let patienceMs = 0;
  let awaitedUntilMs = 0;
  let isExcused = () => false;
  let lastFrameMs = performance.now();
  const watchdogMs = watchdogTime(environment, processId);
  // A quarter, so that a frame period of up to three quarters of the watchdog's time still feeds it in time.
  const feeder =
    watchdogMs === undefined
      ? undefined
      : setInterval(
          () => {
            const now = performance.now();
            if (frames !== framesFed) lastFrameMs = now;
            else if (isExcused()) lastFrameMs = now;
            else if (now - lastFrameMs >= patienceMs && now >= awaitedUntilMs) return;
            framesFed = frames;
            notify("WATCHDOG=1");
          },
          Math.max(watchdogMs / 4, 10),
        );
  feeder?.unref();

  const ready = () => {
    if (!isReady) notify("READY=1");
    isReady = true;
  };
  // A newline would begin the next assignment.
  const status = (text: string) => notify(`STATUS=${text.replace(/\s+/g, " ").trim()}`);

  return {
    active: true,
    watchdogMs,
    startsLater: (seconds) => {
      const wholeSeconds = seconds + START_MARGIN_SECONDS;
      awaitedUntilMs = performance.now() + 1000 * wholeSeconds;
      notify(`EXTEND_TIMEOUT_USEC=${Math.ceil(wholeSeconds * 1e6)}`);
    },
    expectEvery: (periodMs) => {
      patienceMs = 3 * periodMs;
    },
    excuse: (condition) => {
      isExcused = condition;
    },
    waiting: (reason) => {
      frames++;
      ready();
      status(`waiting: ${reason}`);
    },
    ready,
    status,
    frameCompleted: () => {
      frames++;
    },
    stopping: () => {
      clearInterval(feeder);
      notify("STOPPING=1");
    },
  };
}
