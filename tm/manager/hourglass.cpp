// SPDX-License-Identifier: MIT
#include "tm/thread/manager.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

constexpr std::uint32_t kLossesBeforeYield = 2;  // the winner may not run at all (T48)

void after_abort(Thread& thread, std::uint32_t parameter) {
  if (thread.aborts_in_a_row >= parameter && !thread.holds_hourglass)
    thread.holds_hourglass = shared.gate.hold();
  if (thread.aborts_in_a_row > kLossesBeforeYield) Atomics::yield();
}

}  // namespace

constinit const Manager kHourglass = {after_abort};

}  // namespace rubato::tm
