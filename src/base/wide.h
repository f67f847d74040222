// 128-bit integers for products of two 64-bit amounts.
#pragma once

namespace moulin {
__extension__ using Wide = __int128;
}  // namespace moulin
