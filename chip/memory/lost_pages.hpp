// Pages that show a file and that the host cannot show when they are accessed (SIGBUS): another process has
// truncated the file meanwhile, or its disk is full. The access goes on with a page of zeros, and the page is
// remembered: its program gets a signal of its own (AddressSpace::take_lost_page).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rubato::chip {

class LostPages {
 public:
  /// From now on pages of [base, base + bytes) are kept. Idempotent; the first call installs the handler.
  static void watch(std::byte* base, std::uint64_t bytes);
  /// No longer: the memory is about to be given back.
  static void forget(const std::byte* base);
  /// The first page lost since the last call, of the memory at `base`; null: none.
  static const std::byte* take(const std::byte* base);
};

}  // namespace rubato::chip
