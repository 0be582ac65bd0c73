// SPDX-License-Identifier: Apache-2.0
// A layout of Foxglove for this device: left image and depth at the left, points in 3D and figures at the right. Foxglove imports it.

/** @param prefix of every topic, without a slash at its end */
export function foxgloveLayout(prefix: string, hasDepth: boolean): object {
  const depth = `${prefix}/${hasDepth ? "depth" : "disparity"}/image_rect`;
  const image = (imageTopic: string, camera: string) => ({
    imageMode: { imageTopic, ...(hasDepth && { calibrationTopic: `${prefix}/${camera}/camera_info` }) },
  });
  return {
    configById: {
      "Image!left": image(`${prefix}/left/image_rect`, "depth"),
      "Image!depth": {
        imageMode: {
          ...image(depth, "depth").imageMode,
          colorMode: "colormap",
          colorMap: "turbo",
        },
      },
      "3D!points": {
        followTf: hasDepth ? "stereo_head" : undefined,
        topics: { [`${prefix}/points`]: { visible: true, colorMode: "rgb", colorField: "rgb" } },
      },
      "Plot!figures": {
        paths: [{ value: `${prefix}/metrics.fps`, enabled: true, timestampMethod: "receiveTime" }],
      },
    },
    globalVariables: {},
    userNodes: {},
    playbackConfig: { speed: 1 },
    layout: {
      direction: "row",
      first: { direction: "column", first: "Image!left", second: "Image!depth" },
      second: { direction: "column", first: "3D!points", second: "Plot!figures", splitPercentage: 70 },
    },
  };
}
