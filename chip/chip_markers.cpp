// Regions that the program marks (rubato/markers.h): they begin and end by a system call, have names, and may
// overlap. Of each, what is simulated in detail counts; with run.roi=@markers detail is where one is open.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/chip_impl.hpp"

namespace rubato::chip {

void Chip::Impl::on_marker(Program& program, const Thread& thread, bool begins, const std::string& region) {
  // Of programs side by side each has its own.
  const std::string name = programs.size() == 1 ? region : fmt::format("{}.{}", program.number + 1, region);
  std::set<std::string>& open_regions = program.open_regions;
  constexpr std::size_t kMost = 64;  // of names: each has all statistics
  const bool is_open = open_regions.contains(name);
  marked_regions.insert(name);
  if (is_open == begins || marked_regions.size() > kMost) {
    const std::string_view why = marked_regions.size() > kMost ? "but at most 64 names are possible"
                                 : begins                      ? "which has not ended"
                                                               : "which has not begun";
    finish(program, {ExitCode::guest_fault,
                     0,
                     fmt::format("thread {} {} the region '{}', {}", thread.tid, begins ? "begins" : "ends",
                                 region, why),
                     {}});
    return program.fast_forward.stop();
  }
  if (begins) {
    open_regions.insert(name);
  } else {
    open_regions.erase(name);
  }
  if (detailed) settle(later(call_clock.now(), Cycle{cycles}));
  clock.show_marker(begins, name);
  if (!program.detail_at_markers || owner != nullptr) return;  // a task changes nothing about run()
  if (begins && !program.is_in_detail()) {
    program.fast_forward.stop();
  } else if (!begins && program.is_in_detail() && open_regions.empty()) {
    timeline.schedule(call_clock.now(), this, kMarkedEnd,
                      program.number);  // when the call is over
  }
}

void Chip::Impl::leave_marked_region(Program& program, Cycle now) {
  if (program.is_in_detail() && owner == nullptr && entering == nullptr && program.open_regions.empty())
    leave_detail_of(program, now);
}

}  // namespace rubato::chip
