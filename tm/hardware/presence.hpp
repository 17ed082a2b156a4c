// Does this processor have hardware transactions that commit?
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "tm/thread/rtm.hpp"

namespace rubato::tm {

/// Two words of CPUID's leaf 7.
struct CpuidLeaf7 {
  std::uint32_t ebx = 0, edx = 0;
};

/// Null: there are. Else why not. Some microcode aborts every transaction without saying so: one of 64 that
/// do nothing has to commit.
template <class Hardware>
const char* why_absent(CpuidLeaf7 words) {
  constexpr std::uint32_t kHasRtm = 1u << 11, kAlwaysAborts = 1u << 11;
  constexpr int kTrials = 64;
  if ((words.ebx & kHasRtm) == 0) return "this processor has no RTM";
  if ((words.edx & kAlwaysAborts) != 0) return "this processor aborts every hardware transaction";
  for (int i = 0; i < kTrials; ++i) {
    if (Hardware::begin() == RtmStatus::kStarted) {
      Hardware::commit();
      return nullptr;
    }
  }
  return "none of 64 hardware transactions committed";
}

/// The reason for which this processor has no usable hardware transactions, or null.
const char* why_absent();

}  // namespace rubato::tm
