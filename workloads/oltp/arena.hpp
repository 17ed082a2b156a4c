// Room for a thread's new rows, a chunk at a time; they live as long as the arena.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace rubato::workloads::oltp {

class Arena {
 public:
  template <class T>
  T* make() {
    static_assert(sizeof(T) % kLine == 0 && sizeof(T) <= kChunk && std::is_trivially_destructible_v<T>);
    if (left_ < sizeof(T)) {
      chunks_.emplace_back(static_cast<std::byte*>(::operator new(kChunk, std::align_val_t{kLine})));
      left_ = kChunk;
    }
    std::byte* at = chunks_.back().get() + (kChunk - left_);
    left_ -= sizeof(T);
    return new (at) T;
  }

 private:
  static constexpr std::size_t kLine = 64, kChunk = 64 * 1024;
  struct Free {
    void operator()(std::byte* chunk) const { ::operator delete(chunk, std::align_val_t{kLine}); }
  };
  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::size_t left_ = 0;
};

}  // namespace rubato::workloads::oltp
