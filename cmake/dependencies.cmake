# Everything that we link with and do not write. All of it is packaged in Debian 12
# (scripts/setup); versions and reasons stand in docs/adr.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.74 REQUIRED)
find_package(doctest REQUIRED)

# Headers only, in the compiler's default search path: found here so that a missing
# package is a clear message now and not an error in the middle of the build.
find_path(RAPIDJSON_HEADERS rapidjson/document.h REQUIRED)

find_path(SODIUM_HEADERS sodium.h REQUIRED)
find_library(SODIUM_LIBRARY sodium REQUIRED)
add_library(sodium UNKNOWN IMPORTED GLOBAL)
set_target_properties(sodium PROPERTIES
  IMPORTED_LOCATION "${SODIUM_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${SODIUM_HEADERS}")

# yaml-cpp 0.7 exports no include folder as SYSTEM; ours is the default one.
get_target_property(yaml_includes yaml-cpp INTERFACE_INCLUDE_DIRECTORIES)
if(yaml_includes STREQUAL "/usr/include")
  set_target_properties(yaml-cpp PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "")
endif()
