# Warnings, sanitizers, compiler cache and linker: one target, moulin_flags, for all our code.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(MOULIN_CCACHE ccache)
if(MOULIN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Build folders differ only in debug paths, which we map away: let them share the cache.
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_NOHASHDIR=1 "${MOULIN_CCACHE}")
endif()

add_library(moulin_flags INTERFACE)
target_compile_features(moulin_flags INTERFACE cxx_std_23)
target_include_directories(moulin_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(moulin_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  -fno-omit-frame-pointer "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies inside std::string where there are none, and values
  # of std::expected used uninitialized behind the check that they are there.
  target_compile_options(moulin_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
endif()

if(NOT MOULIN_SANITIZE)
  target_link_options(moulin_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

if(MOULIN_SANITIZE)
  target_compile_options(moulin_flags INTERFACE "-fsanitize=${MOULIN_SANITIZE}" -fno-sanitize-recover=all
    "-fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitizer_ignore.txt")
  target_link_options(moulin_flags INTERFACE "-fsanitize=${MOULIN_SANITIZE}")
endif()
if(MOULIN_FUZZ)
  target_compile_options(moulin_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(MOULIN_MOLD mold)
find_program(MOULIN_LLD NAMES ld.lld-19 ld.lld)
if(MOULIN_MOLD)
  target_link_options(moulin_flags INTERFACE -fuse-ld=mold)
elseif(MOULIN_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(moulin_flags INTERFACE "-fuse-ld=lld")
endif()
