// SPDX-License-Identifier: MIT
#include "tm/thread/manager.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {
namespace {

void after_abort(Thread& thread, std::uint32_t parameter) {
  if (thread.aborts_in_a_row >= parameter) thread.start_serial();
}

}  // namespace

constinit const Manager kSerialize = {after_abort};

}  // namespace rubato::tm
