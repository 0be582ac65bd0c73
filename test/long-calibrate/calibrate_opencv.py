# SPDX-License-Identifier: Apache-2.0
# The oracle: what OpenCV makes of the pairs of a folder. usage: calibrate_opencv.py FOLDER COLUMNS ROWS
import glob
import json
import sys

import cv2
import numpy as np

folder, columns, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
board = np.zeros((columns * rows, 3), np.float32)
board[:, :2] = np.mgrid[0:columns, 0:rows].T.reshape(-1, 2) * 0.03
points, left, right = [], [], []
done = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 40, 1e-4)
for name in sorted(glob.glob(f"{folder}/left/*.png")):
    images = [cv2.imread(one, cv2.IMREAD_GRAYSCALE) for one in (name, name.replace("/left/", "/right/"))]
    found = [cv2.findChessboardCorners(image, (columns, rows)) for image in images]
    if not all(ok for ok, _ in found):
        continue
    corners = [cv2.cornerSubPix(image, xy, (5, 5), (-1, -1), done) for image, (_, xy) in zip(images, found)]
    points.append(board)
    left.append(corners[0])
    right.append(corners[1])
size = images[0].shape[::-1]
_, k1, d1, _, _ = cv2.calibrateCamera(points, left, size, None, None)
_, k2, d2, _, _ = cv2.calibrateCamera(points, right, size, None, None)
rms, k1, _, k2, _, _, t, _, _ = cv2.stereoCalibrate(
    points, left, right, k1, d1, k2, d2, size, flags=cv2.CALIB_FIX_INTRINSIC
)
focal = [float(k1[0, 0]), float(k2[0, 0])]
print(json.dumps({"pairs": len(points), "rms": float(rms), "focal": focal, "baseline": float(np.linalg.norm(t))}))
