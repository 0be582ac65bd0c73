// SPDX-License-Identifier: Apache-2.0
// Made from the code by npm run docs; edits here are lost.
// biome-ignore-all format: one line per setting

/** Every setting by its key. */
export interface SettingValues {
  /** Name of this device in its topics; by default the host name. */
  "device"?: string | undefined;
  /** Beginning of every topic: BASE/DEVICE/depth. (default depthwatt) */
  "base"?: string | undefined;
  /** Board config whose settings apply below yours: a name in board-configs/, a file, auto or none. (default auto) */
  "board"?: string | undefined;
  /** command: programs such as ffmpeg and GStreamer; foreign: another stereo engine; mcap: a recording in MCAP; replay: images on disk; synthetic: the built-in moving scene; v4l2: cameras. (default synthetic) */
  "source.kind"?: "command" | "foreign" | "mcap" | "replay" | "synthetic" | "v4l2" | undefined;
  /** Command of the left camera, such as ffmpeg -i rtsp://left/stream -f yuv4mpegpipe -. */
  "source.command.left"?: string | undefined;
  /** Command of the right camera. */
  "source.command.right"?: string | undefined;
  /** One command whose frames hold both images side by side, in place of left and right. */
  "source.command.sideBySide"?: string | undefined;
  /** Hands the commands to /bin/sh, for pipes and variables; else they are split at blanks, and quotes group. (default false) */
  "source.command.shell"?: boolean | undefined;
  /** Format that they write: y4m is YUV4MPEG2, which contains size and rate; all others are frames without headers. (default y4m) */
  "source.command.format"?: "y4m" | "I420" | "GREY" | "NV12" | "YUYV" | "UYVY" | "Y10" | "Y12" | "Y16" | "Y10P" | "Y12P" | "BAYER_RGGB8" | "BAYER_RGGB10" | "BAYER_RGGB12" | "BAYER_RGGB16" | "BAYER_RGGB10P" | "BAYER_RGGB12P" | "BAYER_GRBG8" | "BAYER_GRBG10" | "BAYER_GRBG12" | "BAYER_GRBG16" | "BAYER_GRBG10P" | "BAYER_GRBG12P" | "BAYER_GBRG8" | "BAYER_GBRG10" | "BAYER_GBRG12" | "BAYER_GBRG16" | "BAYER_GBRG10P" | "BAYER_GBRG12P" | "BAYER_BGGR8" | "BAYER_BGGR10" | "BAYER_BGGR12" | "BAYER_BGGR16" | "BAYER_BGGR10P" | "BAYER_BGGR12P" | "RGB8" | undefined;
  /** Width of each camera's image in frames without headers. (px) */
  "source.command.width"?: number | undefined;
  /** Height of each camera's image in frames without headers. (px) */
  "source.command.height"?: number | undefined;
  /** Rate of frames without headers, where it is known. (Hz) */
  "source.command.rateHz"?: number | undefined;
  /** true: cameras, read as they come and started again when they end; false: recordings, which wait for the engine and end. (default true) */
  "source.command.live"?: boolean | undefined;
  /** Longest time without a whole frame; then the command is ended as if it had failed. (ms, default 10000) */
  "source.command.timeoutMs"?: number | undefined;
  /** Largest time between the arrivals of the two images of a live pair; without it half a frame period. (ms) */
  "source.command.maxSkewMs"?: number | undefined;
  /** Command of the helper, such as python3 sgbm.py left.mp4 right.mp4. */
  "source.foreign.command"?: string | undefined;
  /** Hands the command to /bin/sh; else it is split at blanks, and quotes group. (default false) */
  "source.foreign.shell"?: boolean | undefined;
  /** true: read as pairs come, and the helper is started again when it ends; false: a recording, which waits for the engine and ends. (default true) */
  "source.foreign.live"?: boolean | undefined;
  /** Longest time without a whole pair; then the helper is ended as if it had failed. (ms, default 10000) */
  "source.foreign.timeoutMs"?: number | undefined;
  /** The recording; it needs both captured images (record --inputs). */
  "source.mcap.file"?: string | undefined;
  /** Topic of the left images. Default: the topic whose name ends in left/image_raw. */
  "source.mcap.leftTopic"?: string | undefined;
  /** Topic of the right images. Default: the topic whose name ends in right/image_raw. */
  "source.mcap.rightTopic"?: string | undefined;
  /** Where in the recording to begin. (s, default 0) */
  "source.mcap.startSeconds"?: number | undefined;
  /** How many times as fast as it was recorded. A slow engine slows it down and loses no pair; max does not wait. (default 1) */
  "source.mcap.speed"?: "max" | number | undefined;
  /** Starts again at its end. (default false) */
  "source.mcap.loop"?: boolean | undefined;
  /** Left images: a folder, a name with *, a list file or one image. */
  "source.replay.left"?: string | undefined;
  /** Right images: a folder, a name with *, a list file or one image. */
  "source.replay.right"?: string | undefined;
  /** Images that hold the left and the right image side by side, in place of left and right. */
  "source.replay.sideBySide"?: string | undefined;
  /** Pairs played per second. A slow engine slows the recording down and loses no pair; max does not wait. (Hz, default 30) */
  "source.replay.rateHz"?: "max" | number | undefined;
  /** Starts the recording again at its end. (default false) */
  "source.replay.loop"?: boolean | undefined;
  /** Capture times: from file names in ns, or counted from rateHz; auto tries names first. (default auto) */
  "source.replay.timestamps"?: "auto" | "names" | "rate" | undefined;
  /** Width of each camera's image. (px, default 640) */
  "source.synthetic.width"?: number | undefined;
  /** Height of each camera's image. (px, default 480) */
  "source.synthetic.height"?: number | undefined;
  /** Pairs drawn per second; max is as fast as the engine takes them. (Hz, default 30) */
  "source.synthetic.rateHz"?: "max" | number | undefined;
  /** Draws a third camera too: rgb, for registration.camera and points.colour. (default false) */
  "source.synthetic.other"?: boolean | undefined;
  /** Device of the left camera, such as /dev/video0. */
  "source.v4l2.left"?: string | undefined;
  /** Device of the right camera. */
  "source.v4l2.right"?: string | undefined;
  /** Device of one camera that delivers both images in each frame, in place of left and right. */
  "source.v4l2.sideBySide"?: string | undefined;
  /** Place of the two images in a sideBySide camera's frame, the left camera's first; interleaved: every pixel has a sample of each (Y8I, Y12I, such as the infrared images of a RealSense). (default leftRight) */
  "source.v4l2.layout"?: "leftRight" | "rightLeft" | "topBottom" | "bottomTop" | "interleaved" | undefined;
  /** Pixels of a sideBySide camera's frame that belong to neither image: left,top,right,bottom, such as 48,0,840,8. */
  "source.v4l2.margins"?: string | undefined;
  /** Width of one image, not of both together. (px, default 640) */
  "source.v4l2.width"?: number | undefined;
  /** Height of one image, not of both together. (px, default 480) */
  "source.v4l2.height"?: number | undefined;
  /** Frame rate asked of the cameras; max leaves them at the rate they are set to. (Hz, default 30) */
  "source.v4l2.rateHz"?: "max" | number | undefined;
  /** Pixel format requested from the cameras; auto takes the cheapest for this machine in which both reach rateHz and fit their USB bus. (default auto) */
  "source.v4l2.format"?: "auto" | "GREY" | "NV12" | "YUYV" | "UYVY" | "Y10" | "Y12" | "Y16" | "Y10P" | "Y12P" | "BAYER_RGGB8" | "BAYER_RGGB10" | "BAYER_RGGB12" | "BAYER_RGGB16" | "BAYER_RGGB10P" | "BAYER_RGGB12P" | "BAYER_GRBG8" | "BAYER_GRBG10" | "BAYER_GRBG12" | "BAYER_GRBG16" | "BAYER_GRBG10P" | "BAYER_GRBG12P" | "BAYER_GBRG8" | "BAYER_GBRG10" | "BAYER_GBRG12" | "BAYER_GBRG16" | "BAYER_GBRG10P" | "BAYER_GBRG12P" | "BAYER_BGGR8" | "BAYER_BGGR10" | "BAYER_BGGR12" | "BAYER_BGGR16" | "BAYER_BGGR10P" | "BAYER_BGGR12P" | "RGB8" | "Y8I" | "Y12I" | "MJPEG" | undefined;
  /** Largest time between the two images of a pair, for cameras triggered together; without it half a frame period. (ms) */
  "source.v4l2.maxSkewMs"?: number | undefined;
  /** Restarts the right camera's stream at the right moment when free-running cameras expose out of step. (default false) */
  "source.v4l2.rephase"?: boolean | undefined;
  /** Camera controls set equal on both cameras and read back, such as auto_exposure=1,gain=20; left.NAME or right.NAME sets one camera. */
  "source.v4l2.controls"?: string | undefined;
  /** depthwatt's own exposure control, one for both cameras; auto uses it if a camera has exposure and gain but no automatic exposure. (default auto) */
  "source.v4l2.autoExposure"?: "auto" | "on" | "off" | undefined;
  /** Position of a raw sensor's 10 or 12 bits in 16: low is V4L2's rule, high is NVIDIA's from Xavier on; auto knows the board. (default auto) */
  "source.v4l2.rawAlignment"?: "auto" | "low" | "high" | undefined;
  /** The sensors have no colour filter although their driver lists Bayer formats, as Tegra's does: reads samples as grey, without demosaicing. (default false) */
  "source.v4l2.mono"?: boolean | undefined;
  /** JSON file of defective pixels, as 'depthwatt capture --find-defects' writes it: each takes the value of its nearest working neighbour of the same colour. */
  "source.v4l2.defects"?: string | undefined;
  /** Where cameras write their images: mmap is the driver's memory; userptr is this process's, which CUDA reads in place or copies from at full speed; dmabuf is the driver's, which a board's GPU imports; auto tries userptr, dmabuf, mmap. Board configs of coherent boards set auto. (default mmap) */
  "source.v4l2.memory"?: "mmap" | "userptr" | "dmabuf" | "auto" | undefined;
  /** Frame buffers requested from each camera; buffers that the engine holds are not free for the camera. (default 8) */
  "source.v4l2.buffers"?: number | undefined;
  /** Its device, such as /dev/video4. Each pair takes the image nearest in time, if there is one. */
  "source.v4l2.other.device"?: string | undefined;
  /** Width of its images, as in the calibration. (px, default 640) */
  "source.v4l2.other.width"?: number | undefined;
  /** Height of its images, as in the calibration. (px, default 480) */
  "source.v4l2.other.height"?: number | undefined;
  /** Frame rate asked of it; max leaves it at the rate it is set to. (Hz, default 30) */
  "source.v4l2.other.rateHz"?: "max" | number | undefined;
  /** Pixel format requested from it; auto prefers formats with colours. (default auto) */
  "source.v4l2.other.format"?: "auto" | "GREY" | "NV12" | "YUYV" | "UYVY" | "Y10" | "Y12" | "Y16" | "Y10P" | "Y12P" | "BAYER_RGGB8" | "BAYER_RGGB10" | "BAYER_RGGB12" | "BAYER_RGGB16" | "BAYER_RGGB10P" | "BAYER_RGGB12P" | "BAYER_GRBG8" | "BAYER_GRBG10" | "BAYER_GRBG12" | "BAYER_GRBG16" | "BAYER_GRBG10P" | "BAYER_GRBG12P" | "BAYER_GBRG8" | "BAYER_GBRG10" | "BAYER_GBRG12" | "BAYER_GBRG16" | "BAYER_GBRG10P" | "BAYER_GBRG12P" | "BAYER_BGGR8" | "BAYER_BGGR10" | "BAYER_BGGR12" | "BAYER_BGGR16" | "BAYER_BGGR10P" | "BAYER_BGGR12P" | "RGB8" | "Y8I" | "Y12I" | "MJPEG" | undefined;
  /** Makes captured images upright; rotations are clockwise: rotate180 for cameras upside down, rotate90 or rotate270 for cameras above each other, mirror (left and right) or flip (top and bottom) for drivers that exchange sides; none,mirror treats left and right differently. The calibration describes the upright images. (default none) */
  "rig.orientation"?: string | undefined;
  /** OpenCV FileStorage YAML, ROS camera_info, Kalibr camchain, Middlebury calib.txt, KITTI calibration or depthwatt JSON; two files are joined by a comma. */
  "calibration.file"?: string | undefined;
  /** 0 keeps what both cameras see, 1 every captured pixel, between them in proportion; given takes the file's own R and P. (default 0) */
  "calibration.crop"?: "given" | number | undefined;
  /** Which camera of a Kalibr camchain is the left one, such as cam1; without it, the first. */
  "calibration.leftName"?: string | undefined;
  /** How long the file's unit of length is: 0.001 where it was calibrated in millimetres. (m, default 1) */
  "calibration.lengthUnitMetres"?: number | undefined;
  /** Takes a calibration for a whole multiple or fraction of the captured size: for cameras that bin pixels, not for crops. (default false) */
  "calibration.allowScaling"?: boolean | undefined;
  /** Vertical offset between the images, in rows, to correct. auto: estimated from the images, as a line over the columns if a camera is rotated. (rows, default auto) */
  "rectify.verticalOffset"?: "auto" | number | undefined;
  /** Subtracts a raw sensor's value of black from grey and each colour. 255 is white: 64 of 1023 is 16. (grey levels, default 0) */
  "rectify.blackLevel"?: number | undefined;
  /** Compares features of some pairs while frames are computed, at under 1 % of one core; does not change frames. (default true) */
  "health.enabled"?: boolean | undefined;
  /** Vertical offset between the images above which RIG_MOVED is reported. (rows, default 0.75) */
  "health.maxRows"?: number | undefined;
  /** Rotation of a camera against its calibration above which RIG_MOVED is reported. (degrees, default 0.08) */
  "health.maxDegrees"?: number | undefined;
  /** Corrects the measured rotation by turning the right rectification map between frames; reported in state, metrics, info and log. (default false) */
  "health.correct"?: boolean | undefined;
  /** Largest rotation that is corrected. Larger ones are reported, not corrected: recalibrate. (degrees, default 1) */
  "health.maxCorrectionDegrees"?: number | undefined;
  /** File for the mean rotation of each day, which info and the live page show; written once an hour. */
  "health.driftFile"?: string | undefined;
  /** The matcher. sgm: semi-global matching; cbca: cross-based aggregation over regions of similar grey; esaw: adaptive weights in exponential steps; esmp: message propagation in exponential steps; sad: window sums of absolute colour differences; pyramid: window sums refined from small copies of the images. (default sgm) */
  "match.algorithm"?: "sgm" | "cbca" | "esaw" | "esmp" | "sad" | "pyramid" | undefined;
  /** Matches at half the width and height with half the disparities, then doubles the result: about four times faster, less detail. auto: as the matcher recommends. (default auto) */
  "match.halfResolution"?: "auto" | boolean | undefined;
  /** Denoises both images before matching, by the estimated noise level. auto: only between 2.75 and 16 grey levels. (default auto) */
  "match.denoise"?: "auto" | "off" | "on" | undefined;
  /** Averages both images over the last frames before matching, except where something moves. Turn it on for a still camera in low light. Results then depend on earlier frames. (default false) */
  "match.average"?: boolean | undefined;
  /** Smallest disparity searched. Raise it to ignore distant objects. (px, default 0) */
  "match.minDisparity"?: number | undefined;
  /** Number of disparities searched, from minDisparity on. More of them see nearer objects; time grows in proportion. (px, default 64) */
  "match.numDisparities"?: number | undefined;
  /** Pixel description to compare. twoGradientCensus: 8 neighbours and both gradients; gradientCensus: 5x5 census and horizontal gradient; census: the paper's 9x7 census; wideCensus: 62 bits, most accurate and slowest. (default twoGradientCensus) */
  "match.sgm.cost"?: "twoGradientCensus" | "gradientCensus" | "census" | "wideCensus" | undefined;
  /** Directions of aggregation. More give smoother results and take more time. (default 4) */
  "match.sgm.paths"?: 2 | 4 | 8 | undefined;
  /** Penalty of a disparity step of one pixel, at most p2. Raise it for smoother slanted surfaces. (cost, default 10) */
  "match.sgm.p1"?: number | undefined;
  /** Penalty of a larger disparity step. Raise it for smoother surfaces, lower it to keep small objects. Above 127 the CPU is slower. (cost, default 24) */
  "match.sgm.p2"?: number | undefined;
  /** Lowers p2 at grey edges, to max(p1, p2 - (adaptiveP2 x grey difference) / 16). Raise it for sharper object edges. 0: off. (default 2) */
  "match.sgm.adaptiveP2"?: number | undefined;
  /** How much higher the cost of every other disparity must be; otherwise the pixel is invalid. Raise it to drop ambiguous pixels. 0: off. (%, default 0) */
  "match.sgm.uniqueness"?: number | undefined;
  /** Cost of a disparity that points outside the right image. If it wins, the pixel becomes a hole. 63: it never wins. (cost, default 6) */
  "match.sgm.outsideCost"?: number | undefined;
  /** Right-image match for the left-right check. diagonal: read from the left image's costs; own: a separate match, more accurate at about twice the time. (default diagonal) */
  "match.sgm.rightView"?: "diagonal" | "own" | undefined;
  /** Disparities to compare at each pixel. full: all of them; coarseToFine: those near a match at half the size, for ranges above 64; auto: coarseToFine where it is measured to be faster. (default full) */
  "match.sgm.search"?: "full" | "coarseToFine" | "auto" | undefined;
  /** Interpolates the disparity to 1/16 px. Turn it off for whole pixels. (default true) */
  "match.sgm.subpixel"?: boolean | undefined;
  /** Longest horizontal arm of a pixel's region; CUDA computes up to 61. Longer arms smooth more and take more time. auto: 9, at half resolution 3. (px, default auto) */
  "match.cbca.armX"?: "auto" | number | undefined;
  /** Longest vertical arm of a pixel's region. Longer arms smooth more and take more time. auto: 9, at half resolution 3. (px, default auto) */
  "match.cbca.armY"?: "auto" | number | undefined;
  /** Grey difference at which an arm ends. Raise it for noisy images, lower it to keep edges apart. auto: 13, at half resolution 30. (grey, default auto) */
  "match.cbca.similarity"?: "auto" | number | undefined;
  /** armX of the right image; CUDA computes up to 61. -1: as in the left image. (px, default -1) */
  "match.cbca.armXRight"?: number | undefined;
  /** armY of the right image. -1: as in the left image. (px, default -1) */
  "match.cbca.armYRight"?: number | undefined;
  /** Grey difference whose cost is 63 % of the maximum, in thousandths of lambdaUnit. Lower it to make small differences count more. (1/1000, default 300) */
  "match.cbca.lambdaDifference"?: number | undefined;
  /** Unit of lambdaDifference: the full scale of 255, or one grey level. The paper prints 0.3 without a unit. (default fullScale) */
  "match.cbca.lambdaUnit"?: "fullScale" | "greyLevel" | undefined;
  /** Census distance whose cost is 63 % of the maximum, in tenths of a bit. Lower it to make the census count more. (1/10 bit, default 23) */
  "match.cbca.lambdaCensus"?: number | undefined;
  /** Largest disparity step that filling bridges with a straight line. (px, default 3) */
  "match.cbca.threshold"?: number | undefined;
  /** Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time. (default 9) */
  "match.esaw.steps"?: number | undefined;
  /** Round t reaches round((basePercent / 100)^(t - 1)) pixels. Use 190 with 9 rounds and 260 with 5, as the paper does. (%, default 190) */
  "match.esaw.basePercent"?: number | undefined;
  /** Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges. (grey, default 17) */
  "match.esaw.gammaColour"?: number | undefined;
  /** How gammaColour compares colours. rgb: largest channel difference; lab: distance in CIELab, as the paper prints. (default rgb) */
  "match.esaw.colourDistance"?: "rgb" | "lab" | undefined;
  /** Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas. (px, default 36) */
  "match.esaw.gammaDistance"?: number | undefined;
  /** Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections. (grey, default 12) */
  "match.esaw.truncation"?: number | undefined;
  /** Largest difference of horizontal gradients that counts. 0: gradients are not compared, as in the paper. 4 is more accurate. (grey / 2, default 0) */
  "match.esaw.gradientTruncation"?: number | undefined;
  /** Cost of a gradient difference, relative to a grey difference. Used if gradientTruncation is above 0. (%, default 400) */
  "match.esaw.gradientPercent"?: number | undefined;
  /** Right-image match for the left-right check. own: aggregates again from the right image, at twice the time; diagonal: reads it from the left image's costs. (default own) */
  "match.esaw.rightView"?: "own" | "diagonal" | undefined;
  /** Interpolates the disparity to 1/16 px. Turn it off for whole pixels. (default false) */
  "match.esaw.subpixel"?: boolean | undefined;
  /** Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time. (default 8) */
  "match.esmp.steps"?: number | undefined;
  /** Round t reaches round((basePercent / 100)^(t - 1)) pixels. The paper prints 280, but its results need 180. (%, default 180) */
  "match.esmp.basePercent"?: number | undefined;
  /** Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges. (grey, default 18) */
  "match.esmp.gammaColour"?: number | undefined;
  /** How gammaColour compares colours. rgb: largest channel difference; lab: distance in CIELab, as the paper prints. (default rgb) */
  "match.esmp.colourDistance"?: "rgb" | "lab" | undefined;
  /** Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas. (px, default 29) */
  "match.esmp.gammaDistance"?: number | undefined;
  /** Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections. (grey, default 17) */
  "match.esmp.truncation"?: number | undefined;
  /** Cost of one grey value, relative to the smoothness penalties. Times truncation, at most 3276. (1/1000, default 150) */
  "match.esmp.lambdaThousandths"?: number | undefined;
  /** Penalty per pixel of disparity difference between neighbours. Raise it for smoother surfaces. (1/1000, default 1000) */
  "match.esmp.slopeThousandths"?: number | undefined;
  /** Largest smoothness penalty, times numDisparities - 1. Lower it to keep disparity edges. (1/10000, default 375) */
  "match.esmp.capTenThousandths"?: number | undefined;
  /** Largest difference of horizontal gradients that counts. 0: gradients are not compared, as in the paper. 4 is more accurate. (grey / 2, default 0) */
  "match.esmp.gradientTruncation"?: number | undefined;
  /** Cost of a gradient difference, relative to a grey difference. Used if gradientTruncation is above 0. (%, default 400) */
  "match.esmp.gradientPercent"?: number | undefined;
  /** Right-image match for the left-right check. own: aggregates again from the right image, at twice the time; diagonal: reads it from the left image's costs. (default own) */
  "match.esmp.rightView"?: "own" | "diagonal" | undefined;
  /** Interpolates the disparity to 1/16 px. Turn it off for whole pixels. (default false) */
  "match.esmp.subpixel"?: boolean | undefined;
  /** Width of the window. Larger windows are less noisy and blur edges more. (px, default 5) */
  "match.sad.windowWidth"?: 3 | 5 | 7 | 9 | 11 | 13 | 15 | undefined;
  /** Height of the window. Larger windows are less noisy and blur edges more. (px, default 5) */
  "match.sad.windowHeight"?: 3 | 5 | 7 | 9 | 11 | 13 | 15 | undefined;
  /** Weight of differences in hue, where a full circle is 256 grey values. (%, default 30) */
  "match.sad.hueWeight"?: number | undefined;
  /** Weight of differences in saturation. (%, default 30) */
  "match.sad.saturationWeight"?: number | undefined;
  /** Weight of differences in value (brightness). The three weights add up to 1 to 100. (%, default 30) */
  "match.sad.valueWeight"?: number | undefined;
  /** Interpolates the disparity to 1/16 px. Turn it off for whole pixels. (default false) */
  "match.sad.subpixel"?: boolean | undefined;
  /** Width of the window at every level. Larger windows are less noisy and blur edges more. (px, default 7) */
  "match.pyramid.windowWidth"?: 3 | 5 | 7 | 9 | 11 | 13 | 15 | undefined;
  /** Height of the window. Larger windows are less noisy and blur edges more. (px, default 7) */
  "match.pyramid.windowHeight"?: 3 | 5 | 7 | 9 | 11 | 13 | 15 | undefined;
  /** Number of smaller copies to match first, each half the size. More are faster and lose thin objects. (default 3) */
  "match.pyramid.levels"?: number | undefined;
  /** Margin by which a disparity must win to replace the coarser level's, per pixel of distance to the second best. 0: no margin. (%, default 5) */
  "match.pyramid.peakRatio"?: number | undefined;
  /** Weight of differences in hue, where a full circle is 256 grey values. (%, default 20) */
  "match.pyramid.hueWeight"?: number | undefined;
  /** Weight of differences in saturation. (%, default 30) */
  "match.pyramid.saturationWeight"?: number | undefined;
  /** Weight of differences in value (brightness). The three weights add up to 1 to 100. (%, default 50) */
  "match.pyramid.valueWeight"?: number | undefined;
  /** Interpolates the disparity to 1/16 px. Turn it off for whole pixels. (default false) */
  "match.pyramid.subpixel"?: boolean | undefined;
  /** First column of the region. (px, default 0) */
  "region.x"?: number | undefined;
  /** First row of the region. (px, default 0) */
  "region.y"?: number | undefined;
  /** Width of the region. 0: everything from x on. (px, default 0) */
  "region.width"?: number | undefined;
  /** Height of the region. 0: everything from y on. (px, default 0) */
  "region.height"?: number | undefined;
  /** Drops pixels whose disparity differs by more than 1 px from the right image's match, such as occlusions. (default true) */
  "refine.leftRight"?: boolean | undefined;
  /** Drops connected regions with fewer pixels than this. Raise it to remove more wrong matches, lower it to keep small objects. 0: off. (pixels, default 60) */
  "refine.speckleSize"?: number | undefined;
  /** Largest disparity step inside one region, rounded to 1/16 px. (px, default 0.75) */
  "refine.speckleRange"?: number | undefined;
  /** Meaning of the confidence. probability: how likely a matched pixel is right; the others are measures of Prehn 2007 and their product. (default probability) */
  "refine.confidence"?: "probability" | "peakRatio" | "featureDensity" | "matchingScore" | "product" | undefined;
  /** Replaces outliers by the disparity of more reliable pixels on both sides within 10 px (Prehn 2007). (default false) */
  "refine.repair"?: boolean | undefined;
  /** Fills pixels without a match; their confidence stays 0. background: as an occlusion, up to an edge of the image; bilateral: by grey value; off: only matched pixels have a disparity. (default background) */
  "refine.fill"?: "background" | "bilateral" | "off" | undefined;
  /** Largest disparity difference between the two sides of a hole that a straight line bridges. (px, default 6) */
  "refine.fillThreshold"?: number | undefined;
  /** Moves disparity edges onto nearby grey edges. Turn it off to save time. (default true) */
  "refine.boundary"?: boolean | undefined;
  /** How often refine.boundary and refine.median run in turn, if both are on. (default 1) */
  "refine.rounds"?: number | undefined;
  /** Removes single wrong disparities by a 3x3 median. (default true) */
  "refine.median"?: boolean | undefined;
  /** Fits a plane around each pixel: slanted surfaces have no steps, and fewer errors. (default false) */
  "refine.slant"?: boolean | undefined;
  /** Averages the disparity over the last frames, except where something moves. Turn it on to reduce flicker. Results then depend on earlier frames. (default false) */
  "refine.temporal"?: boolean | undefined;
  /** At half resolution: largest disparity step that doubling interpolates, in pixels of the half-size map. (px, default 3) */
  "refine.upscaleThreshold"?: number | undefined;
  /** Drops pixels whose confidence, as a share of 255, is below this. With refine.confidence = probability, 0.9 keeps pixels that are right with a probability of at least 90 %. Any value above 0 also drops filled pixels. 0: off. (default 0) */
  "refine.minConfidence"?: number | undefined;
  /** Drops pixels that are nearer than this. 0: off. Needs a calibration. (m, default 0) */
  "depth.minMetres"?: number | undefined;
  /** Drops pixels that are farther away than this. 0: off. Needs a calibration. (m, default 0) */
  "depth.maxMetres"?: number | undefined;
  /** Axes of the points. camera: x right, y down, z ahead, from the left camera; robot: x ahead, y left, z up, from the middle of the baseline. (default camera) */
  "points.frame"?: "camera" | "robot" | undefined;
  /** Number format. float32: metres; int16: millimetres, half the bytes, no point beyond 32.767 m. (default float32) */
  "points.element"?: "float32" | "int16" | undefined;
  /** Colour of each point. rgb needs a left camera with colours; registered takes the image of registration.camera, where that camera sees the point. (default grey) */
  "points.colour"?: "grey" | "rgb" | "registered" | undefined;
  /** Edge of the smallest voxel. (mm, default 50) */
  "voxels.sizeMillimetres"?: number | undefined;
  /** Far voxels are 2, 4, to 128 times as large, so that each covers the depth error of this many pixels of disparity. 0: all have the same size. (px, default 0.5) */
  "voxels.uncertaintyPixels"?: number | undefined;
  /** The other camera: a name of otherCameras of the calibration file, or right, the rectified right one. */
  "registration.camera"?: string | undefined;
  /** Fills a pixel without depth of which 5 neighbours have one with the farthest of theirs; its confidence is 0. (default false) */
  "registration.fill"?: boolean | undefined;
  /** A backend you name is used, or the run stops. auto: CUDA if it works, otherwise the CPU, and the log says why. (default auto) */
  "engine.backend"?: "auto" | "cpu" | "cuda" | undefined;
  /** Worker threads of the CPU backend. 0: one for each core that this process may use. (default 0) */
  "engine.threads"?: number | undefined;
  /** Time between two metrics, which every output gets, and between two live lines. (ms, default 1000) */
  "outputs.metricsIntervalMs"?: number | undefined;
  /** embedded is a broker in this process, loopback only, for trying it out; none switches this output off. (default embedded) */
  "outputs.mqtt.broker"?: string | undefined;
  /** User name at the broker. */
  "outputs.mqtt.username"?: string | undefined;
  /** File whose first line is the password; it must not be readable by others. */
  "outputs.mqtt.passwordFile"?: string | undefined;
  /** PEM file of the authorities that may sign the broker's certificate; else the system's. */
  "outputs.mqtt.caFile"?: string | undefined;
  /** PEM file of the client certificate. */
  "outputs.mqtt.certFile"?: string | undefined;
  /** PEM file of the client certificate's key; it must not be readable by others. */
  "outputs.mqtt.keyFile"?: string | undefined;
  /** MQTT 5, or 4 which is MQTT 3.1.1; auto tries 5 and falls back. (default auto) */
  "outputs.mqtt.protocolVersion"?: "auto" | 4 | 5 | undefined;
  /** Bytes that may wait for the socket; beyond them the newest frame replaces the waiting one. (bytes, default 8388608) */
  "outputs.mqtt.maxPendingBytes"?: number | undefined;
  /** Frames larger than this are dropped and counted, or reduced with reduceToFit; set it to the broker's own limit. (bytes, default 268435455) */
  "outputs.mqtt.maxPayloadBytes"?: number | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.mqtt.rateHz"?: "max" | number | undefined;
  /** Publishes depth. (default true) */
  "outputs.mqtt.depth.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default rvl) */
  "outputs.mqtt.depth.encoding"?: "rvl" | "raw" | "png" | "compressedDepth" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.depth.reduceToFit"?: boolean | undefined;
  /** Publishes disparity. (default false) */
  "outputs.mqtt.disparity.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default rvl) */
  "outputs.mqtt.disparity.encoding"?: "rvl" | "raw" | "png" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.disparity.reduceToFit"?: boolean | undefined;
  /** Publishes confidence. (default false) */
  "outputs.mqtt.confidence.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default raw) */
  "outputs.mqtt.confidence.encoding"?: "raw" | "png" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.confidence.reduceToFit"?: boolean | undefined;
  /** Publishes left. (default false) */
  "outputs.mqtt.left.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default raw) */
  "outputs.mqtt.left.encoding"?: "raw" | "png" | "jpeg" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.left.reduceToFit"?: boolean | undefined;
  /** Publishes left in colours where the source has them: three bytes a pixel, red first. (default false) */
  "outputs.mqtt.left.colours"?: boolean | undefined;
  /** Publishes right. (default false) */
  "outputs.mqtt.right.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default raw) */
  "outputs.mqtt.right.encoding"?: "raw" | "png" | "jpeg" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.right.reduceToFit"?: boolean | undefined;
  /** Publishes points. (default false) */
  "outputs.mqtt.points.enabled"?: boolean | undefined;
  /** How the body of a frame is written; docs/reference/frames.md has the bytes. (default raw) */
  "outputs.mqtt.points.encoding"?: "raw" | "voxels" | undefined;
  /** A picture larger than maxPayloadBytes, or than the broker takes, is sent with a half or a quarter of its width and height, voxels with 2, 4 or 8 times their edge. (default false) */
  "outputs.mqtt.points.reduceToFit"?: boolean | undefined;
  /** Frames a second that this topic gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.mqtt.points.rateHz"?: "max" | number | undefined;
  /** Publishes depth in the image of registration.camera. (default false) */
  "outputs.mqtt.registered.enabled"?: boolean | undefined;
  /** Publishes its confidence too. (default false) */
  "outputs.mqtt.registered.confidence"?: boolean | undefined;
  /** How the body of a frame is written; jpeg: depth in the colours of the preview. (default raw) */
  "outputs.mqtt.registered.encoding"?: "raw" | "png" | "jpeg" | undefined;
  /** Publishes a small colour picture of the disparity, at most twice a second. (default false) */
  "outputs.mqtt.preview.enabled"?: boolean | undefined;
  /** File format of the picture; a message is one file. (default jpeg) */
  "outputs.mqtt.preview.encoding"?: "jpeg" | "png" | undefined;
  /** Serves the live page. (default true) */
  "outputs.viewer.enabled"?: boolean | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.viewer.rateHz"?: "max" | number | undefined;
  /** Where to record; {time} in it becomes the time of its beginning. Without it this output is off. */
  "outputs.mcap.file"?: string | undefined;
  /** Records; false ends the file, and true begins another one. (default true) */
  "outputs.mcap.recording"?: boolean | undefined;
  /** Depth in millimetres: an Image (16UC1), or a CompressedImage of RVL, a third of the size. (default image) */
  "outputs.mcap.depth"?: "image" | "compressedDepth" | "off" | undefined;
  /** Records disparities as an Image (16SC1, 1/16 px); without a calibration they always are. (default false) */
  "outputs.mcap.disparity"?: boolean | undefined;
  /** Records confidences as an Image (mono8). (default false) */
  "outputs.mcap.confidence"?: boolean | undefined;
  /** Records the rectified left image as an Image (mono8). (default true) */
  "outputs.mcap.left"?: boolean | undefined;
  /** Records it in colours (rgb8) where the source has them, three times the bytes. (default false) */
  "outputs.mcap.leftColours"?: boolean | undefined;
  /** Records the rectified right image as an Image (mono8). (default false) */
  "outputs.mcap.right"?: boolean | undefined;
  /** Records depth and confidence in the image of registration.camera, and its CameraInfo. (default false) */
  "outputs.mcap.registered"?: boolean | undefined;
  /** Records points as a PointCloud2, in metres; needs a calibration, and points.element float32. (default false) */
  "outputs.mcap.points"?: boolean | undefined;
  /** Records both captured images, so that the recording can be computed again. (default false) */
  "outputs.mcap.inputs"?: boolean | undefined;
  /** How chunks are packed; none takes less of the CPU and more of the disk. (default zstd) */
  "outputs.mcap.compression"?: "zstd" | "none" | undefined;
  /** Longest time that data wait before they are written: a power cut loses no more. (ms, default 250) */
  "outputs.mcap.flushMs"?: number | undefined;
  /** Begins another file when this one is so large; 0: never. (MB, default 0) */
  "outputs.mcap.rotateMegabytes"?: number | undefined;
  /** Begins another file when this one is so old; 0: never. (s, default 0) */
  "outputs.mcap.rotateSeconds"?: number | undefined;
  /** Share of the disk that recording leaves free; it continues when there is more. (%, default 5) */
  "outputs.mcap.keepFreePercent"?: number | undefined;
  /** Bytes that may wait for the disk; frames beyond them are dropped and counted. (bytes, default 67108864) */
  "outputs.mcap.maxPendingBytes"?: number | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.mcap.rateHz"?: "max" | number | undefined;
  /** Serves /metrics. (default false) */
  "outputs.prometheus.enabled"?: boolean | undefined;
  /** Publishes measurements that are derived from depth. (default false) */
  "outputs.derived.enabled"?: boolean | undefined;
  /** Frames a second that are looked at, at most; max is all of them. (Hz, default 10) */
  "outputs.derived.rateHz"?: "max" | number | undefined;
  /** Polygons whose nearest distance is published, NAME x,y x,y x,y; NAME ... in shares of the picture; empty: none. (default ahead 0.25,0.2 0.75,0.2 0.75,0.8 0.25,0.8) */
  "outputs.derived.zones"?: string | undefined;
  /** Alarms of zones, ZONE METRES; ZONE METRES hold=S hysteresis=M seen=SHARE; on while something is that near. */
  "outputs.derived.alarms"?: string | undefined;
  /** Matched pixels that must be at a distance or nearer before a zone says it. (px, default 30) */
  "outputs.derived.minPixels"?: number | undefined;
  /** Publishes the nearest distance by angle, as a laser scanner would see it. (default false) */
  "outputs.derived.scan"?: boolean | undefined;
  /** Where the rows of the scan begin, share of the height. (default 0.4) */
  "outputs.derived.scanTop"?: number | undefined;
  /** Where they end. (default 0.6) */
  "outputs.derived.scanBottom"?: number | undefined;
  /** Angles of the scan. (default 64) */
  "outputs.derived.scanRays"?: number | undefined;
  /** Matched pixels that must be at a distance or nearer before a ray says it. (px, default 4) */
  "outputs.derived.scanMinPixels"?: number | undefined;
  /** Publishes share of matched pixels, residual of a plane, and noise over 40 frames. (default false) */
  "outputs.derived.quality"?: boolean | undefined;
  /** Side of the window in the middle that a plane is fitted to, share of the picture. (default 0.5) */
  "outputs.derived.qualityWindow"?: number | undefined;
  /** Publishes the floor: auto estimates it; set takes floorHeightMetres, floorTiltDegrees, floorRollDegrees. (default off) */
  "outputs.derived.floor"?: "off" | "auto" | "set" | undefined;
  /** Height of the left camera above the floor, with floor set. (m, default 1) */
  "outputs.derived.floorHeightMetres"?: number | undefined;
  /** How far the cameras look down, with floor set. (degrees, default 0) */
  "outputs.derived.floorTiltDegrees"?: number | undefined;
  /** How far the right side of the cameras is lower, with floor set. (degrees, default 0) */
  "outputs.derived.floorRollDegrees"?: number | undefined;
  /** Publishes obstacles, drop-offs and free floor as cells; needs floor auto or set. (default false) */
  "outputs.derived.grid"?: boolean | undefined;
  /** Publishes the grid as bytes too, a quarter of the size. (default false) */
  "outputs.derived.gridBinary"?: boolean | undefined;
  /** Publishes the grid as ROS messages too: OccupancyGrid, LaserScan, PointCloud2, TFMessage. (default false) */
  "outputs.derived.gridRos"?: boolean | undefined;
  /** Side of the grid. (m, default 5) */
  "outputs.derived.gridMetres"?: number | undefined;
  /** Side of a cell. (m, default 0.05) */
  "outputs.derived.gridCellMetres"?: number | undefined;
  /** Height above the floor from which on something is an obstacle; grows with the stereo error. (m, default 0.05) */
  "outputs.derived.obstacleMetres"?: number | undefined;
  /** Depth below the floor from which on it is a drop-off; grows with the stereo error. (m, default 0.08) */
  "outputs.derived.dropMetres"?: number | undefined;
  /** Receives boxes and polygons, and publishes the distance of each. (default false) */
  "outputs.detections.enabled"?: boolean | undefined;
  /** Topic that detections come from; unset: BASE/DEVICE/detections. */
  "outputs.detections.topic"?: string | undefined;
  /** Shape of the messages: depthwatt's JSON, Frigate's events, or the attributes of a Home Assistant image processing entity. (default depthwatt) */
  "outputs.detections.format"?: "depthwatt" | "frigate" | "homeAssistant" | undefined;
  /** Frigate's name of the left camera; messages of other cameras are ignored. Unset: all. */
  "outputs.detections.camera"?: string | undefined;
  /** Left image that the detector uses, if a message does not name it: rectified, or as captured. (default rectified) */
  "outputs.detections.image"?: "rectified" | "raw" | undefined;
  /** Width of the detector's image, for boxes in pixels such as Frigate's. (px) */
  "outputs.detections.imageWidth"?: number | undefined;
  /** Height of the detector's image. (px) */
  "outputs.detections.imageHeight"?: number | undefined;
  /** Time from capture to the time stamp of the detector, subtracted from each time stamp. (ms, default 0) */
  "outputs.detections.delayMs"?: number | undefined;
  /** Largest difference between the time of a detection and the frame it is measured in. (ms, default 100) */
  "outputs.detections.toleranceMs"?: number | undefined;
  /** Frames kept for detections that come late, five bytes per pixel each. (default 20) */
  "outputs.detections.historyFrames"?: number | undefined;
  /** Frames per second that are kept, at most; max is all of them. (Hz, default 10) */
  "outputs.detections.rateHz"?: "max" | number | undefined;
  /** Confidence that a matched pixel needs to count. (default 0.5) */
  "outputs.detections.minConfidence"?: number | undefined;
  /** Detections per second that are measured; further ones are refused and counted. (default 200) */
  "outputs.detections.maxPerSecond"?: number | undefined;
  /** Time after which an object that is no longer detected is forgotten. (s, default 10) */
  "outputs.detections.keepSeconds"?: number | undefined;
  /** Publishes ROS messages. (default false) */
  "outputs.ros.enabled"?: boolean | undefined;
  /** sensor_msgs/Image of 16UC1, millimetres: the largest form. (default false) */
  "outputs.ros.image"?: boolean | undefined;
  /** sensor_msgs/CompressedImage as compressed_depth_image_transport reads it. (default rvl) */
  "outputs.ros.compressedDepth"?: "rvl" | "png" | "off" | undefined;
  /** sensor_msgs/PointCloud2, metres: 16 bytes a pixel; needs points.element float32. (default false) */
  "outputs.ros.points"?: boolean | undefined;
  /** sensor_msgs/PointCloud2 of the middles of voxels, metres: 12 bytes each, without colours. (default false) */
  "outputs.ros.voxels"?: boolean | undefined;
  /** sensor_msgs/Image of mono8, confidence 0 to 255. 0 marks pixels that were filled, in depth and points too. (default true) */
  "outputs.ros.confidence"?: boolean | undefined;
  /** sensor_msgs/CameraInfo of the rectified left camera, with each frame. (default true) */
  "outputs.ros.cameraInfo"?: boolean | undefined;
  /** sensor_msgs/Image of mono8 and CameraInfo of the rectified right image, frame_id right_rectified. (default false) */
  "outputs.ros.right"?: boolean | undefined;
  /** Depth (16UC1) and confidence (mono8) as sensor_msgs/Image in the image of registration.camera, with its CameraInfo. (default false) */
  "outputs.ros.registered"?: boolean | undefined;
  /** The frame_id in each header; points of points.frame robot are in stereo_head. (default left_rectified) */
  "outputs.ros.frameId"?: string | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.ros.rateHz"?: "max" | number | undefined;
  /** Announces this device. (default false) */
  "outputs.homeAssistant.enabled"?: boolean | undefined;
  /** false removes the device from Home Assistant; true announces it again. (default true) */
  "outputs.homeAssistant.announced"?: boolean | undefined;
  /** Topic where Home Assistant looks for announcements, and reports that it has started. (default homeassistant) */
  "outputs.homeAssistant.discoveryPrefix"?: string | undefined;
  /** Live settings of true and false that become switches; needs control.authentication broker. (default outputs.mqtt.preview.enabled) */
  "outputs.homeAssistant.switches"?: string | undefined;
  /** Live settings with a choice that become selects; needs control.authentication broker. (default match.algorithm) */
  "outputs.homeAssistant.selects"?: string | undefined;
  /** File that lines are added to, NAME.jsonl or NAME.csv. Without it this output is off. */
  "outputs.energy.file"?: string | undefined;
  /** Moves the file aside when it is so large, and begins a new one; 0: never. (MB, default 10) */
  "outputs.energy.rotateMegabytes"?: number | undefined;
  /** Moves the file aside when its first line is so old; 0: never. (h, default 0) */
  "outputs.energy.rotateHours"?: number | undefined;
  /** Number of older files that are kept; the oldest are deleted. (default 10) */
  "outputs.energy.keepFiles"?: number | undefined;
  /** Compresses older files with gzip; 'depthwatt energy' reads them all the same. (default true) */
  "outputs.energy.compress"?: boolean | undefined;
  /** Serves it. (default false) */
  "outputs.foxglove.enabled"?: boolean | undefined;
  /** Web pages that may connect, in addition to programs without a page. (default https://app.foxglove.dev) */
  "outputs.foxglove.origins"?: string | undefined;
  /** Offers points, in metres; needs a calibration, and points.element float32. (default false) */
  "outputs.foxglove.points"?: boolean | undefined;
  /** Offers the left image in colours (rgb8) where the source has them. (default false) */
  "outputs.foxglove.leftColours"?: boolean | undefined;
  /** Offers the rectified right image. (default false) */
  "outputs.foxglove.right"?: boolean | undefined;
  /** Offers depth and confidence in the image of registration.camera, and its CameraInfo. (default false) */
  "outputs.foxglove.registered"?: boolean | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.foxglove.rateHz"?: "max" | number | undefined;
  /** Serves them. (default false) */
  "outputs.video.enabled"?: boolean | undefined;
  /** Shows the left image in colours where the source has them. (default false) */
  "outputs.video.leftColours"?: boolean | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.video.rateHz"?: "max" | number | undefined;
  /** The socket, such as /run/depthwatt/frames.sock; switches this output on. */
  "outputs.sharedMemory.path"?: string | undefined;
  /** Group whose members may read too; without it only this user and root may. */
  "outputs.sharedMemory.group"?: string | undefined;
  /** Frames that a stream's ring holds. A reader may use a frame until all others are newer. (default 4) */
  "outputs.sharedMemory.slots"?: number | undefined;
  /** Offers points too; needs a calibration. (default false) */
  "outputs.sharedMemory.points"?: boolean | undefined;
  /** Offers the left image in colours where the source has them. (default false) */
  "outputs.sharedMemory.leftColours"?: boolean | undefined;
  /** Offers the rectified right image too. (default false) */
  "outputs.sharedMemory.right"?: boolean | undefined;
  /** Offers depth and confidence in the image of registration.camera. (default false) */
  "outputs.sharedMemory.registered"?: boolean | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.sharedMemory.rateHz"?: "max" | number | undefined;
  /** The program, such as ffmpeg -i - -f rtsp rtsp://127.0.0.1:8554/left; switches this output on. */
  "outputs.command.command"?: string | undefined;
  /** Hands the command to /bin/sh; else it is split at blanks, and quotes group. (default false) */
  "outputs.command.shell"?: boolean | undefined;
  /** left is the left image, depth is in millimetres, colours is the coloured disparity. (default left) */
  "outputs.command.picture"?: "left" | "depth" | "colours" | undefined;
  /** y4m has size and rate in a header (depth: mono16); raw has pixels only: gray, gray16le for depth, rgb24 for colours. (default y4m) */
  "outputs.command.format"?: "y4m" | "raw" | undefined;
  /** A program that reads nothing for so long is ended and started again. (ms, default 10000) */
  "outputs.command.timeoutMs"?: number | undefined;
  /** Frames a second that this output gets at most; the others are its drops by rateLimit. max is all of them. (Hz, default max) */
  "outputs.command.rateHz"?: "max" | number | undefined;
  /** Address that it listens on. Beyond loopback (0.0.0.0 is every network) a password or client certificates are needed. (default 127.0.0.1) */
  "http.address"?: string | undefined;
  /** Its port; auto takes 8990, or a free one where that is taken. (default auto) */
  "http.port"?: "auto" | number | undefined;
  /** Further host names that people reach this machine by; addresses and its own host name are known. */
  "http.names"?: string | undefined;
  /** File whose first line is the password that is asked for; not readable by others. */
  "http.passwordFile"?: string | undefined;
  /** PEM file of the server's certificate; makes it https. */
  "http.certFile"?: string | undefined;
  /** PEM file of that certificate's key; it must not be readable by others. */
  "http.keyFile"?: string | undefined;
  /** PEM file of the authority whose client certificates are let in; others are refused. */
  "http.clientCaFile"?: string | undefined;
  /** Answers requests over MQTT, and lets the live page change settings; docs/guides/control.md says how. (default false) */
  "control.enabled"?: boolean | undefined;
  /** How a client proves its permission: by a signature made with the secret of control.secretFile, or by the broker's access list. (default secret) */
  "control.authentication"?: "secret" | "broker" | undefined;
  /** File whose first line is the secret, 16 characters at least; it must not be readable by others. */
  "control.secretFile"?: string | undefined;
  /** auto takes the board's own rails (ina), then what the machine offers; none measures nothing. (default auto) */
  "power.sensor"?: "auto" | "none" | "ina3221" | "ina238" | "rapl" | "nvml" | "battery" | "rapl+nvml" | "mqtt" | undefined;
  /** How often the sensor is read. (Hz, default 50) */
  "power.rateHz"?: number | undefined;
  /** Measures the idle power this long before the first frame, to show it with the gross figures; 0 does not. (s, default 0) */
  "power.idleSeconds"?: number | undefined;
  /** URL of the broker it reports to. */
  "power.supply.broker"?: string | undefined;
  /** Topic of its readings. */
  "power.supply.topic"?: string | undefined;
  /** Path of the number in the JSON message, such as ENERGY.Power; unset: the message is the number. */
  "power.supply.path"?: string | undefined;
  /** Quantity that the number limits. (default watts) */
  "power.supply.unit"?: "watts" | "milliwatts" | "wattHours" | "kilowattHours" | undefined;
  /** How often it reports; three intervals without a message are a lost sensor. (ms, default 1000) */
  "power.supply.intervalMs"?: number | undefined;
  /** The governor keeps the total power at or below this by giving up quality; unset: no budget. (W) */
  "power.budgetWatts"?: number | undefined;
  /** The governor keeps at least this frame rate by giving up quality; a budget comes first. (Hz) */
  "power.minFps"?: number | undefined;
  /** Power modes by nvpmodel's names, best first, that the governor may step down to last of all; unset: it leaves the mode alone. */
  "power.modes"?: string | undefined;
  /** Lets the governor limit the clocks of a Jetson's GPU and memory, by what power.profile has measured (depthwatt profile --clocks). auto: if the machine permits it; on: or the run stops. (default off) */
  "power.clocks"?: "off" | "auto" | "on" | undefined;
  /** Frames computed after each wake; unset: never sleeps. */
  "power.dutyCycle.frames"?: number | undefined;
  /** Time from one wake to the next. (s, default 10) */
  "power.dutyCycle.everySeconds"?: number | undefined;
  /** interval computes frames every everySeconds; motion looks every everySeconds and computes only if the image changed; request waits for the request wake, which ends every sleep. (default interval) */
  "power.dutyCycle.wake"?: "interval" | "motion" | "request" | undefined;
  /** Discards frames after a wake until the brightness is steady, at most this long. (s, default 1) */
  "power.dutyCycle.settleSeconds"?: number | undefined;
  /** Folder of 'depthwatt profile': the governor then knows each level's watts before it has been there. */
  "power.profile"?: string | undefined;
  /** The least severe line that is written. (default info) */
  "log.level"?: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | undefined;
  /** Time between two entries of the energy log: in a service's journal and in outputs.energy.file. 0: none. (s, default 10) */
  "log.energyIntervalSeconds"?: 0 | number | undefined;
}
