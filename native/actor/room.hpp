// Room in a bounded mailbox for messages of threads outside (A18).
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

#include "rubato/engine/message_node.hpp"

namespace rubato::inline v0::native {

/// Counts a message of a thread outside when it is sent, and waits while its mailbox is full and a run can
/// make room. False: not within `patience`.
bool count_from_outside(std::uint64_t to, engine::MessageNode* node, std::chrono::nanoseconds patience);

}  // namespace rubato::inline v0::native
