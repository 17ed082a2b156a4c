// SPDX-License-Identifier: MIT
#include "chip/capsule/vector.hpp"

#include <fmt/format.h>

#include "chip/isa/task_instructions.hpp"

namespace rubato::chip {

std::string CapsuleVector::set(Addr begin, std::uint64_t bytes) {
  if (is_set()) return "a program sets its capsule vector once, this one did so again";
  constexpr std::uint64_t kMask = AddressSpace::kPageMask;
  if (bytes == 0 || (begin & kMask) != 0 || (bytes & kMask) != 0 || begin >= AddressSpace::kSize ||
      bytes > AddressSpace::kSize - begin)
    return fmt::format(
        "the capsule vector at {:#x}, {} bytes, is no whole number of pages: the linker did not keep the "
        "sections "
        ".text.sorted.rubato_capsule together and in order",
        begin, bytes);
  for (Addr page = begin; page < begin + bytes; page += AddressSpace::kPageBytes) {
    const std::uint8_t attributes = memory_.attributes(page);
    if (((attributes & Page::kUntracked) == 0 && !memory_.tracks_all()) || (attributes & Page::kWrite) != 0 ||
        (attributes & Page::kExecute) == 0)
      return fmt::format("the capsule vector's page {:#x} must be untracked and executable, and not writable",
                         page);
  }
  begin_ = begin;
  end_ = begin + bytes;
  return {};
}

std::string CapsuleVector::refusal(const HartState& hart) const {
  const Addr a7 = hart.x[reg::a7];
  if (!is_set()) return "a capsule was called, but the program has not set its capsule vector";
  if (target(a7) == 0)
    return fmt::format(
        "a capsule was called through {:#x}, which is no entry of the capsule vector [{:#x}, {:#x})", a7,
        begin_, end_);
  if (hart.capsule_depth >= isa::kMaxCapsuleDepth)
    return fmt::format("capsule calls are nested more than {} deep", isa::kMaxCapsuleDepth);
  return {};
}

}  // namespace rubato::chip
