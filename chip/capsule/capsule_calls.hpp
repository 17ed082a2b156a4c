// How often tasks called each capsule, and how long they were in it (P61). A call is the outermost one; it
// ends at its return, with its attempt, or where that is aborted: what is left is a doomed run. The time
// during which its task waits in a system call, without a core, does not count.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "chip/capsule/open_call.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The name in RUBATO_CAPSULE of what the symbols call `stub`.
inline std::string capsule_name(std::string_view stub) {
  constexpr std::string_view kStub = "rubato_capsule_stub_";
  return std::string(stub.substr(stub.starts_with(kStub) ? kStub.size() : 0));
}

class CapsuleCalls {
 public:
  struct Count {
    std::uint64_t calls = 0, cycles = 0;                ///< until it ended or was doomed
    std::uint64_t doomed_calls = 0, doomed_cycles = 0;  ///< those of the calls that were, and what was left
  };

  /// Counts a call that has ended, or waits, at `now`.
  void add(const OpenCapsuleCall& call, Cycle now) {
    for (Count* count : {&all_, &by_stub_[call.stub]}) {
      if (!call.is_counted) ++(call.is_doomed ? count->doomed_calls : count->calls);
      (call.is_doomed ? count->doomed_cycles : count->cycles) += now - call.since;
    }
  }
  const Count& all() const { return all_; }
  const std::map<Addr, Count>& by_stub() const { return by_stub_; }

 private:
  Count all_;
  std::map<Addr, Count> by_stub_;
};

}  // namespace rubato::chip
