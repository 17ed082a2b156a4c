// Regions that the program marks (rubato/markers.h): they begin and end by a system call, have names, and may
// overlap. Of each, what is simulated in detail counts; with run.roi=@markers detail is where one is open.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/chip_impl.hpp"

namespace rubato::chip {

void Chip::Impl::on_marker(const Thread& thread, bool begins, const std::string& name) {
  constexpr std::size_t kMost = 64;  // of names: each has all statistics
  const bool is_open = open_regions.contains(name);
  marked_regions.insert(name);
  if (is_open == begins || marked_regions.size() > kMost) {
    const std::string_view why = marked_regions.size() > kMost ? "but at most 64 names are possible"
                                 : begins                      ? "which has not ended"
                                                               : "which has not begun";
    end({ExitCode::guest_fault,
         0,
         fmt::format("thread {} {} the region '{}', {}", thread.tid, begins ? "begins" : "ends", name, why),
         {}});
    return fast_forward.stop();
  }
  if (begins) {
    open_regions.insert(name);
  } else {
    open_regions.erase(name);
  }
  if (detailed) settle(later(later(clock, timeline.now()), Cycle{cycles}));
  if (observer != nullptr) observer->on_marker(begins, name);
  if (!detail_at_markers || owner != nullptr) return;  // a task changes nothing about run()
  if (begins && !detailed) {
    fast_forward.stop();
  } else if (!begins && detailed && open_regions.empty()) {
    timeline.schedule(later(clock, timeline.now()), this, kMarkedEnd);  // when the call is over
  }
}

void Chip::Impl::leave_marked_region(Cycle now) {
  if (detailed && owner == nullptr && entering == nullptr && open_regions.empty())
    region_returned(*cores[0], now);
}

}  // namespace rubato::chip
