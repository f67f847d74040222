# One static library for each folder of src/, and the tests that keep it honest.
#
#   moulin_layer(NAME <name> [DEPENDS <layer>...] [LIBRARIES <external>...]
#                [GENERATED <file>...] [EXCLUDE <regex>...])
#
# gives, from the *.cc files below the calling folder:
#   moulin_<name>         the library (an interface library while there are no sources)
#   <name>_test           doctest cases of all *_test.cc, registered with ctest
#   <name>_link           the whole library linked with nothing but what it may use
#   <name>_headers        compiles each header that has no .cc of its own
# A file called main.cc directly in the folder is left out: see moulin_executable.
# GENERATED are sources made at build time. EXCLUDE are regular expressions on paths
# relative to the folder, for sources that belong to another target.
#
#   moulin_executable(NAME <program> LAYER <layer>)   <layer>/main.cc to build/<preset>/<program>

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/LAYERS")
file(STRINGS "${CMAKE_SOURCE_DIR}/src/LAYERS" layer_lines REGEX "^[a-z]")
set(MOULIN_LAYERS "")
foreach(line IN LISTS layer_lines)
  string(REGEX MATCH "^([a-z_]+):(.*)$" matched "${line}")
  if(NOT matched)
    message(FATAL_ERROR "src/LAYERS: '${line}' is not 'layer: allowed layers'")
  endif()
  set(layer "${CMAKE_MATCH_1}")
  string(STRIP "${CMAKE_MATCH_2}" allowed)
  string(REPLACE " " ";" allowed "${allowed}")
  list(APPEND MOULIN_LAYERS "${layer}")
  set(MOULIN_ALLOWED_${layer} "${allowed}")
endforeach()

# `all` is the product: what tests need is built with `ninja -C build/release tests`.
add_custom_target(tests)

function(moulin_layer)
  cmake_parse_arguments(ARG "" "NAME" "DEPENDS;LIBRARIES;GENERATED;EXCLUDE" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "moulin_layer(${ARG_NAME}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_NAME IN_LIST MOULIN_LAYERS)
    message(FATAL_ERROR "moulin_layer(${ARG_NAME}): no such layer in src/LAYERS")
  endif()
  set(links "")
  foreach(dependency IN LISTS ARG_DEPENDS)
    if(NOT dependency IN_LIST MOULIN_ALLOWED_${ARG_NAME})
      message(FATAL_ERROR "${ARG_NAME} may not use ${dependency}: see src/LAYERS")
    endif()
    list(APPEND links "moulin_${dependency}")
  endforeach()
  list(APPEND links ${ARG_LIBRARIES})

  _moulin_glob(sources "*.cc" ${ARG_EXCLUDE})
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|^main\\.cc$")
  list(APPEND sources ${ARG_GENERATED})

  if(sources)
    add_library(moulin_${ARG_NAME} STATIC ${sources})
    target_link_libraries(moulin_${ARG_NAME} PUBLIC moulin_flags ${links})
  else()
    add_library(moulin_${ARG_NAME} INTERFACE)
    target_link_libraries(moulin_${ARG_NAME} INTERFACE moulin_flags ${links})
  endif()
  if(NOT MOULIN_SANITIZE)  # the compiler without sanitizers has seen it all
    if(sources)
      _moulin_link_test(${ARG_NAME})
    endif()
    _moulin_header_test(${ARG_NAME} ${ARG_EXCLUDE})
  endif()
  if(tests)
    moulin_doctest(NAME ${ARG_NAME}_test SOURCES ${tests} LIBRARIES moulin_${ARG_NAME})
  endif()
endfunction()

function(moulin_executable)
  cmake_parse_arguments(ARG "" "NAME;LAYER" "" ${ARGN})
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/main.cc")
    add_executable(${ARG_NAME} main.cc)
    target_link_libraries(${ARG_NAME} PRIVATE moulin_${ARG_LAYER})
  endif()
endfunction()

# A doctest binary that ctest runs as one test: moulin_doctest(NAME n SOURCES ... LIBRARIES ...)
function(moulin_doctest)
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${ARG_NAME} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE moulin_doctest_main ${ARG_LIBRARIES})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS unit TIMEOUT 300)
  add_dependencies(tests ${ARG_NAME})
  set_property(GLOBAL APPEND PROPERTY MOULIN_UNIT_TESTS ${ARG_NAME})
endfunction()

# Files below the calling folder, relative to it, without those that match an EXCLUDE.
function(_moulin_glob result pattern)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/${pattern}")
  foreach(regex IN LISTS ARGN)
    list(FILTER files EXCLUDE REGEX "${regex}")
  endforeach()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# Every object of the library must find its symbols in what the layer may use. The
# allowed layers come in as ordinary archives, so nothing else can satisfy them.
function(_moulin_link_test name)
  add_executable(${name}_link EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/tests/link_main.cc")
  target_link_libraries(${name}_link PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,moulin_${name}>")
  set_target_properties(${name}_link PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name}_link COMMAND ${name}_link)
  set_tests_properties(${name}_link PROPERTIES LABELS link)
  add_dependencies(tests ${name}_link)
endfunction()

# foo.cc includes foo.h first (tests/tidy sees to that), which proves that foo.h stands
# alone. Headers without a .cc get one that is made here.
function(_moulin_header_test name)
  _moulin_glob(headers "*.h" ${ARGN})
  set(units "")
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cc" source "${header}")
    if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${source}")
      string(MAKE_C_IDENTIFIER "${header}" unit)
      set(unit "${CMAKE_BINARY_DIR}/headers/${name}/${unit}.cc")
      file(CONFIGURE OUTPUT "${unit}" CONTENT "#include \"${name}/${header}\"\n#include \"${name}/${header}\"\n")
      list(APPEND units "${unit}")
    endif()
  endforeach()
  if(units)
    add_library(${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    target_link_libraries(${name}_headers PRIVATE moulin_${name})
    add_dependencies(tests ${name}_headers)
  endif()
endfunction()

# Called once after all layers: every line of src/LAYERS has its folder and library.
function(moulin_check_layers)
  foreach(layer IN LISTS MOULIN_LAYERS)
    if(NOT TARGET moulin_${layer})
      message(FATAL_ERROR "src/LAYERS names ${layer}, but src/${layer}/CMakeLists.txt makes no such layer")
    endif()
  endforeach()
endfunction()
