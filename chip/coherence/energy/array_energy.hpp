// Energy of one access of an SRAM array (K77), by its capacity and the bits that move. With 3.4 pJ it fits
// the cache accesses of 64 bits in 45 nm of M. Horowitz, ISSCC 2014: 8 KiB 10 pJ, 32 KiB 20 pJ, 1 MiB 100 pJ.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>

namespace rubato::chip {

struct ArrayEnergy {
  static constexpr double kWrite = 1.1;  ///< a write, relative to a read
  static constexpr double kWord = 64;    ///< bits; fewer take as much

  double sram_pj;  ///< energy.sram_pj
  double bytes;    ///< of the array

  double read_pj(double bits) const {
    return sram_pj * std::sqrt(bytes / 1024) * std::sqrt(std::max(bits, kWord) / kWord);
  }
  double write_pj(double bits) const { return kWrite * read_pj(bits); }
};

}  // namespace rubato::chip
