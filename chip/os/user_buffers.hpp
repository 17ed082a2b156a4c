// The buffers of one system call in guest memory, as readv() and sendmsg() list them: bytes are named by
// their place in the whole list. Invariant: the list does not change while the call lasts.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "chip/os/linux_abi.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

class UserBuffers {
 public:
  UserBuffers(UserMemory& user, const std::vector<abi::Iovec>& ranges) : user_(user), ranges_(ranges) {
    for (const auto& range : ranges_) bytes_ += range.bytes;
  }

  std::uint64_t bytes() const { return bytes_; }
  /// Bytes in front of the first that the call may not read (write): bytes() if it may all.
  std::uint64_t readable_bytes() const {
    return allowed([this](Addr a, std::uint64_t n) { return user_.readable_bytes(a, n); });
  }
  std::uint64_t writable_bytes() const {
    return allowed([this](Addr a, std::uint64_t n) { return user_.writable_bytes(a, n); });
  }

  /// Copies from (to) the bytes from `at` on, which the call may read (write).
  void gather(std::uint64_t at, std::span<std::byte> to) const {
    for_pieces(at, to.size(),
               [&](Addr a, std::uint64_t done, std::uint64_t n) { user_.read(a, to.data() + done, n); });
  }
  void scatter(std::uint64_t at, std::span<const std::byte> from) const {
    for_pieces(at, from.size(),
               [&](Addr a, std::uint64_t done, std::uint64_t n) { user_.write(a, from.data() + done, n); });
  }

 private:
  template <class Allowed>
  std::uint64_t allowed(Allowed allowed_of) const {
    std::uint64_t sum = 0;
    for (const auto& range : ranges_) {
      const std::uint64_t n = allowed_of(range.base, range.bytes);
      sum += n;
      if (n < range.bytes) break;
    }
    return sum;
  }
  template <class Move>
  void for_pieces(std::uint64_t at, std::uint64_t bytes, Move move) const {
    std::uint64_t done = 0;
    for (const auto& range : ranges_) {
      const std::uint64_t skipped = std::min(at, range.bytes);
      at -= skipped;
      const std::uint64_t n = std::min(range.bytes - skipped, bytes - done);
      if (n != 0) move(range.base + skipped, done, n);
      done += n;
    }
  }

  UserMemory& user_;
  const std::vector<abi::Iovec>& ranges_;
  std::uint64_t bytes_ = 0;
};

}  // namespace rubato::chip
