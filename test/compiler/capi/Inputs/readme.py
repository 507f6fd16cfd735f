#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a project of README.md's C++ program and of its lines for CMakeLists.txt.

    readme.py README.md FOLDER
"""
import os
import re
import sys

readme, folder = sys.argv[1:]
with open(readme, encoding="utf-8") as file:
    text = file.read()
code = re.search(r"```cpp\n(.*?)```", text, re.S).group(1)
lines = {name: re.search(rf"^    ({name}\(.*?\))", text, re.M).group(1)
         for name in ("find_package", "target_link_libraries")}
os.makedirs(folder, exist_ok=True)
with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
    file.write("cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
               f"{lines['find_package']}\nadd_executable(app app.cpp)\n{lines['target_link_libraries']}\n")
with open(os.path.join(folder, "app.cpp"), "w", encoding="utf-8") as file:
    # x = cos(a x), so dx/da = -x sin(a x) / (1 + a sin(a x)); at a = 1 that is -0.29747
    file.write(code + '\n#include <cstdio>\nint main() { std::printf("slope %.4f\\n", slope(1.f).item<float>()); }\n')
