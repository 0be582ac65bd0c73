// SPDX-License-Identifier: Apache-2.0
// The one list of error codes: docs/reference/errors.md is generated from it. Exit codes: 2 configuration or usage,
// 3 device, file or sensor, 4 engine, 5 broker, 70 a bug.

interface CatalogueEntry {
  exitCode: 2 | 3 | 4 | 5 | 70;
  retryable: boolean;
  /** The cause, in one sentence. */
  meaning: string;
  /** The advice, in one sentence. */
  hint: string;
}

const entry = (
  exitCode: CatalogueEntry["exitCode"],
  retryable: boolean,
  meaning: string,
  hint: string,
): CatalogueEntry => ({ exitCode, retryable, meaning, hint });

export const ERROR_CATALOGUE = {
  CONFIG_INVALID: entry(
    2,
    false,
    "A setting is missing, of the wrong type or out of its range.",
    "Run 'depthwatt config --print' to see every value and where it came from.",
  ),
  CONFIG_UNKNOWN_KEY: entry(
    2,
    false,
    "A key is not one of depthwatt's settings.",
    "Check the spelling; docs/reference/config.md lists every key.",
  ),
  SETTING_NEEDS_RESTART: entry(
    2,
    false,
    "A setting was to be changed in a running program that takes effect only at the next start.",
    "Change it in the configuration and start depthwatt again; 'depthwatt config explain KEY' says when a setting takes effect.",
  ),
  RUN_ENDED: entry(
    2,
    false,
    "A setting was to be changed in a run that has ended.",
    "Start depthwatt again with the setting changed.",
  ),
  CONFIG_UNREADABLE: entry(
    2,
    false,
    "The configuration file cannot be read or parsed.",
    "Check the path and the YAML or JSON syntax at the line named.",
  ),
  USAGE: entry(2, false, "The command line is not understood.", "Run the command with --help."),
  CALIBRATION_UNREADABLE: entry(
    2,
    false,
    "A calibration file cannot be read, or is in none of the known formats.",
    "Give a file of OpenCV, ROS camera_info (a pair), Kalibr, Middlebury, KITTI or depthwatt.",
  ),
  CALIBRATION_INVALID: entry(
    2,
    false,
    "A calibration file holds values that no stereo pair can have.",
    "Calibrate again, or fix the key that the message names.",
  ),
  BOARD_NOT_FOUND: entry(
    3,
    false,
    "No image pair shows the calibration board to both cameras.",
    "Show the whole board to both cameras, flat, evenly lit, a third of the image wide; check --pattern and --board.",
  ),
  CALIBRATION_TOO_FEW: entry(
    3,
    false,
    "Too few image pairs are left to calibrate from.",
    "Take 15 to 30 pairs with the board in every part of the image, near and far, tilted up to 45 degrees both ways.",
  ),
  CALIBRATION_DOUBTFUL: entry(
    3,
    false,
    "The pairs contradict a rig of two cameras side by side, so no calibration is written.",
    "Fix the cause that the message names, and capture the pairs again.",
  ),
  FILE_EXISTS: entry(
    2,
    false,
    "A result would overwrite a file that is there.",
    "Choose another name, or say --force.",
  ),
  CALIBRATION_MISSING: entry(
    2,
    false,
    "Something was asked for that only calibrated cameras can give.",
    "Give a calibration (--calibration FILE, calibration.file), or switch off what needs it.",
  ),
  CALIBRATION_SIZE_MISMATCH: entry(
    2,
    false,
    "The calibration was made for another image size.",
    "Capture at the calibrated size, or calibrate at the size you capture.",
  ),
  RIG_MOVED: entry(
    3,
    false,
    "The cameras have moved relative to each other since the calibration.",
    "Fasten the cameras and calibrate again. Until then, health.correct corrects a small change.",
  ),
  PAIR_UNRECTIFIED: entry(
    3,
    false,
    "The images show the same scene, but not on the same rows, and no calibration was given.",
    "Give the calibration of these cameras (--calibration FILE, calibration.file); 'depthwatt calibrate' makes one.",
  ),
  PAIR_SWAPPED: entry(
    3,
    false,
    "The left image is that of the right camera, and the other way round.",
    "Exchange the two cameras, folders or files.",
  ),
  PAIR_IDENTICAL: entry(
    3,
    false,
    "Both images of a pair are the same picture, byte for byte, which two cameras never take.",
    "Give the images of both cameras: the same file, folder or device was named twice.",
  ),
  PAIR_MIRRORED: entry(
    3,
    false,
    "One image of a pair is mirrored or upside down.",
    "Set rig.orientation, such as none,rotate180 for an upside-down right camera, or switch off the camera's flip (v4l2-ctl controls horizontal_flip, vertical_flip).",
  ),
  PAIR_BLURRED: entry(
    3,
    false,
    "One camera is out of focus.",
    "Focus its lens, clean it, and fix the focus: an autofocus changes the calibration.",
  ),
  PAIR_FEATURELESS: entry(
    3,
    true,
    "The images have too little texture to compare them.",
    "Point the cameras at a scene with texture and light; take the cap off the lens.",
  ),
  PAIR_UNRELATED: entry(
    3,
    true,
    "The two images do not show the same scene at about the same rows.",
    "Check that both cameras look the same way at the same moment, and that the calibration is theirs.",
  ),
  SOURCE_UNREADABLE: entry(
    3,
    false,
    "An image, folder or recording cannot be read.",
    "Check the path, the permissions and the file format.",
  ),
  SOURCE_EMPTY: entry(3, false, "A source holds no stereo pair.", "Check both folders and their file names."),
  SYNC_UNMEASURED: entry(
    3,
    false,
    "The images do not show when the cameras expose.",
    "Let a light of the stated frequency light both images.",
  ),
  DATASET_INVALID: entry(
    2,
    false,
    "A folder is no data set: it has no valid dataset.json and is no benchmark as downloaded.",
    "Give a folder with a dataset.json, or of Middlebury v3, ETH3D, KITTI 2012 or KITTI 2015.",
  ),
  IMAGE_UNSUPPORTED: entry(
    3,
    false,
    "An image is of a kind that depthwatt does not read.",
    "Give PNG (8 or 16 bit), JPEG, PGM or PPM.",
  ),
  IMAGE_SIZE_MISMATCH: entry(
    3,
    false,
    "Two images that belong together differ in size.",
    "Give left and right images of one size.",
  ),
  OUTPUT_UNWRITABLE: entry(
    3,
    true,
    "A file cannot be written.",
    "Check the folder, its permissions and the free space.",
  ),
  DISK_FULL: entry(
    3,
    false,
    "A recording cannot be written: the disk is full or gone, has less free than recording leaves, or may not be written to.",
    "Free some space, lower outputs.mcap.keepFreePercent, or record to another disk or a folder that this user may write to.",
  ),
  OUTPUT_FAILED: entry(
    3,
    true,
    "An output cannot be opened.",
    "See what the message says of it, or switch that output off.",
  ),
  DEVICE_UNAVAILABLE: entry(
    3,
    true,
    "A camera is not there, went away or does not answer.",
    "Check the cable, and run 'depthwatt list-devices' for the cameras that are there.",
  ),
  DEVICE_PERMISSION: entry(
    3,
    false,
    "The user may not open the camera.",
    "Add the user to the group 'video' (sudo usermod -aG video USER) and log in again.",
  ),
  DEVICE_BUSY: entry(
    3,
    true,
    "Another process uses the camera.",
    "End the other process; 'fuser -v /dev/videoN' names it.",
  ),
  DEVICE_BANDWIDTH: entry(
    3,
    true,
    "The USB bus has too little bandwidth left for a camera's stream.",
    "Choose Motion JPEG (source.v4l2.format MJPEG), a lower rate or a smaller size; or use a port of another USB controller or one side-by-side camera; or load uvcvideo with quirks=128.",
  ),
  DEVICE_UNSUITABLE: entry(
    3,
    false,
    "A device does not support what was requested: no camera, no such format, size or control.",
    "Run 'depthwatt list-devices' for what each camera offers.",
  ),
  COMMAND_FAILED: entry(
    3,
    true,
    "A command that delivers or takes images could not be started, ended, fell silent or wrote something else.",
    "Run the command alone in a terminal; the message has its last line.",
  ),
  SENSOR_UNAVAILABLE: entry(3, true, "A power sensor cannot be read.", "Run 'depthwatt doctor'."),
  ADDON_MISSING: entry(
    4,
    false,
    "The native addon is not built or does not load on this machine.",
    "Run 'npm run build'; it needs g++ and make.",
  ),
  IMAGE_LIBRARY_MISSING: entry(
    4,
    false,
    "The library that reads PNG and JPEG (sharp) is not installed or does not load on this machine.",
    "Run 'npm ci' with optional packages, on this machine and for its C library; 'depthwatt doctor' checks it.",
  ),
  ENGINE_PARAMETER: entry(
    4,
    false,
    "The engine was given a parameter outside its range.",
    "Use a value inside the range that the message names.",
  ),
  ENGINE_FAILED: entry(4, true, "The engine could not compute a frame.", "Run 'depthwatt doctor'."),
  MEMORY_EXHAUSTED: entry(
    4,
    true,
    "There is no memory for what the settings ask for.",
    "Use smaller images or fewer disparities ('match.numDisparities'), or give the process more memory.",
  ),
  FILES_EXHAUSTED: entry(
    4,
    true,
    "The limit of open files is reached, of this process or of the whole machine.",
    "Raise it: 'ulimit -n 1024' in the shell, or LimitNOFILE=1024 in the service's unit.",
  ),
  FRAME_LOST: entry(
    4,
    true,
    "The engine lost one frame to an error of its device and continues, with the device or with the CPU.",
    "Nothing: the warning says what computes now; look at the device ('dmesg', 'nvidia-smi') where it comes again.",
  ),
  GPU_LOST: entry(
    4,
    true,
    "The GPU failed in mid-run and could not be opened again. With 'auto' the CPU continues with the same bits, and the state is degraded.",
    "Read 'sudo dmesg' and the output of 'nvidia-smi', then restart depthwatt. If the loss returns, check power supply and temperature.",
  ),
  BACKEND_UNAVAILABLE: entry(
    4,
    false,
    "The backend or instruction set that was asked for is not there.",
    "Use '--backend auto', or run 'depthwatt doctor' to see what is missing.",
  ),
  BROKER_UNREACHABLE: entry(
    5,
    true,
    "The MQTT broker does not answer.",
    "Check the URL, or use 'depthwatt run --broker embedded', which starts its own broker.",
  ),
  BROKER_REFUSED: entry(
    5,
    false,
    "The MQTT broker refused the connection.",
    "Check user name, password, certificate and client id.",
  ),
  QUEUE_FAILED: entry(
    5,
    true,
    "The queue of a batch does not answer, or is none that pairs can be pulled from.",
    "Check the URL, and that the server runs JetStream ('nats-server -js').",
  ),
  STREAM_SILENT: entry(
    5,
    true,
    "The broker is there, but no frame came in the time allowed.",
    "Check base topic, device and stream, and that a 'depthwatt run' publishes to this broker.",
  ),
  PAYLOAD_INVALID: entry(
    5,
    false,
    "A message on a depthwatt topic does not follow the frame format.",
    "Check that publisher and consumer are of the same version and that nothing else publishes on the topic.",
  ),
  HTTP_UNAVAILABLE: entry(
    3,
    true,
    "The HTTP server of the live page cannot listen on the configured address.",
    "Choose another http.address or http.port, or leave the port at auto.",
  ),
  PAGE_MISSING: entry(
    3,
    false,
    "The live page was not built.",
    "Run 'npm ci' in a checkout, or install the package again.",
  ),
  PEER_UNAVAILABLE: entry(
    3,
    false,
    "A program to compare with is not installed, or failed.",
    "Install it: 'apt-get install python3-opencv'.",
  ),
  CONTROL_INVALID: entry(
    2,
    false,
    "A request to a running depthwatt is too large, no JSON, or does not fit its schema.",
    "See docs/reference/requests.md for the form of requests; 'depthwatt get' and 'depthwatt set' make them.",
  ),
  CONTROL_SECRET: entry(
    2,
    false,
    "A request is not signed, or not with the secret of the device that it went to.",
    "Give the secret that control.secretFile of the device holds ('--secret-file').",
  ),
  CONTROL_TIME: entry(
    2,
    true,
    "A signed request is older than half a minute, or comes from the future.",
    "Set the clocks of both machines (NTP) and ask again.",
  ),
  CONTROL_REPLAYED: entry(
    2,
    false,
    "A signed request came a second time.",
    "Sign each request again, with a new nonce. If no client sent it twice, somebody is eavesdropping.",
  ),
  CONTROL_BUSY: entry(
    2,
    true,
    "More than ten requests a second were made of one device.",
    "Wait a second, and put several settings into one request.",
  ),
  CONTROL_UNSUPPORTED: entry(
    2,
    false,
    "A request asks for what this run cannot do.",
    "See what the message says of it.",
  ),
  CONTROL_UNANSWERED: entry(
    5,
    true,
    "A device did not answer a request in time.",
    "Check base topic and device name, that it runs ('depthwatt consume' shows it), and that its control.enabled is true.",
  ),
  SERVICE_FAILED: entry(
    3,
    false,
    "The systemd unit could not be installed or removed.",
    "Run 'depthwatt install-service --dry-run' to see each step.",
  ),
  INTERNAL: entry(
    70,
    false,
    "depthwatt broke its own contract: a bug.",
    "Please report it with the output of 'depthwatt doctor --json'.",
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;
