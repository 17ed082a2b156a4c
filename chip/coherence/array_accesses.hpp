// Accesses of the arrays of a cache or a directory, counted for energy (K77). They are never part of timing,
// and none are counted while warming.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip {

/// Accesses of an L2 or an LLC slice. Tags are read first, data after them: a look-up alone moves no data.
struct ArrayAccesses {
  std::uint64_t lookups = 0;  ///< sets of tags read
  std::uint64_t reads = 0;    ///< lines read
  std::uint64_t writes = 0;   ///< lines written
};

/// Accesses of a directory, by row: an entry in each way of a set.
struct DirectoryRows {
  std::uint64_t read = 0, written = 0;
};

}  // namespace rubato::chip
