# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Targets for people, not for the build: format, tidy, docs. (check and check-ROOM are in test/.)

add_custom_target(format
  COMMAND ${PROJECT_SOURCE_DIR}/dev format
  USES_TERMINAL)

find_program(SINTER_RUN_CLANG_TIDY run-clang-tidy-22)
if(SINTER_RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${SINTER_RUN_CLANG_TIDY} -clang-tidy-binary clang-tidy-22 -quiet -p ${PROJECT_BINARY_DIR}
            "${PROJECT_SOURCE_DIR}/(ir|passes|backends|compiler|runtime|tools)/.*"
    USES_TERMINAL)
endif()

# One Markdown page for each file of op and pass definitions, in docs/ of the build folder.
set(_pages)
foreach(kind ir:op passes:pass backends/schedule:op)
  string(REPLACE ":" ";" kind ${kind})
  list(GET kind 0 room)
  list(GET kind 1 generator)
  file(GLOB definitions RELATIVE ${PROJECT_SOURCE_DIR}/${room} ${PROJECT_SOURCE_DIR}/${room}/*.td)
  list(REMOVE_ITEM definitions Attributes.td DialectBase.td) # no ops: parts of others
  foreach(definition ${definitions})
    set(what ${generator})
    if(definition STREQUAL Schedules.td)
      set(what attrdef)
    endif()
    string(REPLACE ".td" ".md" page ${PROJECT_BINARY_DIR}/docs/${room}/${definition})
    list(APPEND _pages COMMAND ${LLVM_TOOLS_BINARY_DIR}/mlir-tblgen --gen-${what}-doc
         -I ${MLIR_INCLUDE_DIRS} -I ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/${room}/${definition} -o ${page})
  endforeach()
endforeach()
add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs/ir ${PROJECT_BINARY_DIR}/docs/passes ${PROJECT_BINARY_DIR}/docs/backends/schedule
  ${_pages}
  COMMENT "writing op and pass pages to ${PROJECT_BINARY_DIR}/docs"
  VERBATIM)
