// SPDX-License-Identifier: MIT
#include "chip/coherence/directory/shadow_tags.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace rubato::chip {

ShadowTags::ShadowTags(std::uint64_t sets, std::uint32_t ways)
    : sets_(sets),
      stride_(sets / std::min(sets, std::max(sets / kOneIn, kFewestSets))),
      ways_(ways),
      tags_(sets / stride_ * ways, kHole) {
  RUBATO_CHECK(std::has_single_bit(sets) && ways >= 1);
}

/// Sample of sets: one in `stride_` consecutive ones. Its place among them varies, so lines at a regular
/// distance are neither all in the sample nor all outside.
bool ShadowTags::is_sampled(LineAddr frame) const {
  const std::uint64_t set = set_of(frame);
  return ((set ^ (set / stride_ * 5 + 3)) & (stride_ - 1)) == 0;
}

std::uint32_t* ShadowTags::find(LineAddr frame) {
  if (!is_sampled(frame)) return nullptr;
  std::uint32_t* const first = first_of(frame);
  std::uint32_t* const at = std::find(first, first + ways_, tag_of(frame));
  return at == first + ways_ ? nullptr : at;
}

void ShadowTags::push(std::uint32_t* first, std::uint32_t tag) {
  std::uint32_t* const last = first + ways_ - 1;  // leaves, if there is no hole
  std::uint32_t* const filled = std::find(first, last, kHole);
  std::move_backward(first, filled, filled + 1);
  *first = tag;
}

std::uint32_t ShadowTags::use(LineAddr frame) {
  std::uint32_t* const at = find(frame);
  if (at == nullptr) return 0;
  std::uint32_t* const first = first_of(frame);
  const std::uint32_t tag = *at;
  *at = kHole;
  push(first, tag);
  return static_cast<std::uint32_t>(at - first) + 1;
}

void ShadowTags::enter(LineAddr frame) {
  if (!is_sampled(frame) || use(frame) != 0) return;
  push(first_of(frame), tag_of(frame));
}

void ShadowTags::erase(LineAddr frame) {
  if (std::uint32_t* const at = find(frame)) *at = kHole;
}

}  // namespace rubato::chip
