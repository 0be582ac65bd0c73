# SPDX-License-Identifier: Apache-2.0
# OpenCV's StereoSGBM as a peer. Arguments: width, height, disparities, threads, paths to two headerless grey pictures. Says
# what it is in one line of JSON; then for each line "MODE SECONDS" on stdin one line: the milliseconds of every frame.
import json
import sys
import time

import cv2
import numpy

width, height, disparities, threads = (int(word) for word in sys.argv[1:5])
left, right = (numpy.fromfile(path, numpy.uint8).reshape(height, width) for path in sys.argv[5:7])
MODES = {
    "3WAY": cv2.STEREO_SGBM_MODE_SGBM_3WAY,
    "HH4": cv2.STEREO_SGBM_MODE_HH4,
    "HH": cv2.STEREO_SGBM_MODE_HH,
}
BLOCK = 5
cv2.setNumThreads(threads)
print(json.dumps({"version": cv2.__version__, "threads": cv2.getNumThreads()}), flush=True)
for line in sys.stdin:
    mode, seconds = line.split()
    # Left-right check and uniqueness as here; no speckle filter.
    matcher = cv2.StereoSGBM_create(
        0, disparities, BLOCK, 8 * BLOCK * BLOCK, 32 * BLOCK * BLOCK, 1, 0, 10, 0, 0, MODES[mode]
    )
    times = []
    end = time.perf_counter() + float(seconds)
    while len(times) < 2 or time.perf_counter() < end:
        before = time.perf_counter()
        matcher.compute(left, right)
        times.append(1000 * (time.perf_counter() - before))
    # The first frame allocates.
    print(json.dumps(times[1:]), flush=True)
