// Invariants between caches and directories after every access (C21). A walker finds the first violation and
// describes it in a sentence. It only reads; tests of protocols and coherence.check use it.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "chip/coherence/llc_slice.hpp"
#include "chip/coherence/tile_caches.hpp"
#include "chip/vocabulary/sharers.hpp"

namespace rubato::chip {

struct HierarchyView {
  std::span<const TileCaches> tiles;
  std::span<const LlcSlice> slices;
  const SharerGroups& groups;
  const Versions& versions;
};

/// Empty, or what is wrong with one line whose home is `home`: inclusion, single writer or many readers,
/// agreement of records with copies, and versions if they are on.
std::string find_violation(const HierarchyView& view, LineAddr line, TileId home);

}  // namespace rubato::chip
