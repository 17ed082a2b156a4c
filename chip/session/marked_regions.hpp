// The statistics of the regions that the program marks (rubato/markers.h), by name.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "chip/session/snapshot.hpp"

namespace rubato::chip {

class MarkedRegions {
 public:
  struct Region {
    std::string name;
    RegionRecorder recorder;
  };

  /// Both must outlive this; all statistics must be registered before the first mark.
  MarkedRegions(const StatRegistry& registry, const CycleAccount& cycles)
      : registry_(registry), cycles_(cycles) {}

  /// Every statistic is up to date. A region that begins has not begun, one that ends has.
  void mark(bool begins, const std::string& name);
  /// In the order in which they began first.
  const std::vector<std::unique_ptr<Region>>& regions() const { return regions_; }

 private:
  const StatRegistry& registry_;
  const CycleAccount& cycles_;
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace rubato::chip
