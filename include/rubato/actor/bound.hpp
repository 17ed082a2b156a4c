// Bounded mailboxes (A18).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0 {

/// Policy for a message that finds the mailbox full.
enum class WhenFull : std::uint8_t {
  mute,         ///< the message is taken, and the sending actor waits until half of them are handled
  refuse,       ///< try_send() says full; send() makes a dead letter
  drop_newest,  ///< the message that comes becomes a dead letter
  drop_oldest,  ///< the one that waits longest does
};
/// How many messages wait in a mailbox at most.
struct Bound {
  std::uint32_t capacity = 0;           ///< messages; 0: no bound
  WhenFull when_full = WhenFull::mute;  ///< what happens to more
};

}  // namespace rubato::inline v0
