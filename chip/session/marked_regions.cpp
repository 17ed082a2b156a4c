// SPDX-License-Identifier: MIT
#include "chip/session/marked_regions.hpp"

#include <algorithm>

namespace rubato::chip {

void MarkedRegions::mark(bool begins, const std::string& name) {
  auto found = std::find_if(regions_.begin(), regions_.end(), [&](const auto& r) { return r->name == name; });
  if (found == regions_.end()) {
    regions_.push_back(std::make_unique<Region>(Region{name, RegionRecorder(registry_, cycles_)}));
    found = regions_.end() - 1;
  }
  if (begins) {
    (*found)->recorder.begin();
  } else {
    (*found)->recorder.end();
  }
}

}  // namespace rubato::chip
