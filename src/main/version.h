// The version of this binary, from CMakeLists.txt.
#pragma once

namespace moulin {

inline constexpr const char* kVersion = MOULIN_VERSION;

}  // namespace moulin
