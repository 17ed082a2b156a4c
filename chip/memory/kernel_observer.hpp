// Sees what the emulated kernel does with guest memory: changes of mappings, and the user buffers it reads
// and writes. See AddressSpace::watch_kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Each is called when it has been done, but on_move before.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void on_map(Addr a, std::uint64_t bytes, std::uint8_t attributes) = 0;
  virtual void on_unmap(Addr a, std::uint64_t bytes) = 0;
  virtual void on_protect(Addr a, std::uint64_t bytes, std::uint8_t attributes) = 0;
  virtual void on_discard(Addr a, std::uint64_t bytes) = 0;
  virtual void on_move(Addr from, Addr to, std::uint64_t bytes) = 0;
  virtual void on_kernel_read(Addr a, std::uint64_t bytes) = 0;
  virtual void on_kernel_write(Addr a, std::uint64_t bytes) = 0;
};

}  // namespace rubato::chip
