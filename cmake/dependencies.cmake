# Everything that we link with and do not write. All of it is packaged in Debian 12
# (scripts/setup); versions and reasons stand in docs/adr.
#
# Libraries are linked into the program: it is one file that needs glibc and nothing else,
# and a replica's supervisor starts without a search for libraries (docs/adr/0014).

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(doctest REQUIRED)

# Headers only, in the compiler's default search path: found here so that a missing
# package is a clear message now and not an error in the middle of the build.
find_path(RAPIDJSON_HEADERS rapidjson/document.h REQUIRED)

# moulin_archive(<target> <header> <archive>): a static library of a Debian package.
function(moulin_archive target header archive)
  find_path(${target}_HEADERS "${header}" REQUIRED)
  find_library(${target}_ARCHIVE "${archive}" REQUIRED)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${${target}_ARCHIVE}")
endfunction()

moulin_archive(sodium sodium.h libsodium.a)
moulin_archive(sqlite3 sqlite3.h libsqlite3.a)
target_link_libraries(sqlite3 INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
moulin_archive(yaml_cpp yaml-cpp/yaml.h libyaml-cpp.a)

# Debian has fmt as a shared library only. Its source is in its headers: what we use of it
# is compiled here, once.
find_path(FMT_HEADERS fmt/format-inl.h REQUIRED)
add_library(fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt.cc")
target_compile_features(fmt PUBLIC cxx_std_23)
if(MOULIN_SANITIZE)
  target_compile_options(fmt PRIVATE "-fsanitize=${MOULIN_SANITIZE}")
endif()
