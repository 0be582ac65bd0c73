# SPDX-License-Identifier: Apache-2.0
# Lets OpenCV itself write calibration files: `write FOLDER` from a rig on stdin, `chessboard IMAGES FOLDER` by calibrating.
import json
import sys
from pathlib import Path

import cv2
import numpy as np


def store(path, values):
    storage = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    for key, value in values.items():
        storage.write(key, value)
    storage.release()


def write(folder):
    rig = json.load(sys.stdin)
    matrices = {key: np.array(rig[key], float).reshape(rows, -1) for key, rows in
                (("M1", 3), ("D1", 1), ("M2", 3), ("D2", 1), ("R", 3), ("T", 3))}
    size = {"image_width": rig["size"][0], "image_height": rig["size"][1]}
    for ending in ("yml", "xml", "json"):
        store(folder / f"stereo.{ending}", {**size, **matrices})
    broken = matrices["M1"].copy()
    broken[1, 1] = np.nan
    store(folder / "nan.yml", {**size, **matrices, "M1": broken})
    store(folder / "infinite.xml", {**size, **matrices, "T": matrices["T"] * np.inf})


def chessboard(images, folder):
    board = (9, 6)
    grid = np.zeros((board[0] * board[1], 3), np.float32)
    grid[:, :2] = np.mgrid[: board[0], : board[1]].T.reshape(-1, 2)  # the unit is one square
    corners = {"left": [], "right": []}
    for left in sorted(images.glob("left[0-9][0-9].jpg")):
        found = {}
        for side in corners:
            image = cv2.imread(str(left).replace("left", side), cv2.IMREAD_GRAYSCALE)
            ok, points = cv2.findChessboardCorners(image, board)
            if ok:
                found[side] = cv2.cornerSubPix(image, points, (11, 11), (-1, -1), (3, 30, 0.01))
        if len(found) == 2:
            for side, points in found.items():
                corners[side].append(points)
    size = image.shape[::-1]
    objects = [grid] * len(corners["left"])
    single = {side: cv2.calibrateCamera(objects, points, size, None, None) for side, points in corners.items()}
    rms, m1, d1, m2, d2, r, t, _, _ = cv2.stereoCalibrate(
        objects, corners["left"], corners["right"], single["left"][1], single["left"][2], single["right"][1],
        single["right"][2], size, flags=cv2.CALIB_FIX_INTRINSIC)
    store(folder / "intrinsics.yml", {"M1": m1, "D1": d1, "M2": m2, "D2": d2})
    store(folder / "extrinsics.yml", {"R": r, "T": t})
    json.dump({"rms": rms, "size": size, "left": np.array(corners["left"]).reshape(-1, 2).tolist(),
               "right": np.array(corners["right"]).reshape(-1, 2).tolist()}, sys.stdout)


if sys.argv[1] == "write":
    write(Path(sys.argv[2]))
else:
    chessboard(Path(sys.argv[2]), Path(sys.argv[3]))
