// Regions that the program marks (rubato/markers.h): they begin and end by a system call, have names, and may
// overlap. Of each, what is simulated in detail counts; with run.roi=@markers detail is where one is open.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/chip_impl.hpp"

namespace rubato::chip {

void Chip::Impl::on_marker(Program& program, const Thread& thread, bool begins, const std::string& region) {
  const Markers::Mark mark = markers.mark(program, begins, region, programs.size() == 1);
  if (!mark.error.empty()) {
    finish(program, {ExitCode::guest_fault,
                     0,
                     fmt::format("thread {} {} the region '{}', {}", thread.tid, begins ? "begins" : "ends",
                                 region, mark.error),
                     {}});
    return program.fast_forward.stop();
  }
  if (detailed) settle(later(call_clock.now(), Cycle{cycles}));
  clock.show_marker(begins, mark.name);
  if (!program.detail_at_markers || owner != nullptr) return;  // a task changes nothing about run()
  if (begins && !program.is_in_detail()) {
    program.fast_forward.stop();
  } else if (!begins && program.is_in_detail() && program.open_regions.empty()) {
    timeline.schedule(call_clock.now(), this, kMarkedEnd,
                      program.number);  // when the call is over
  }
}

void Chip::Impl::leave_marked_region(Program& program, Cycle now) {
  if (program.is_in_detail() && owner == nullptr && entering == nullptr && program.open_regions.empty())
    leave_detail_of(program, now);
}

}  // namespace rubato::chip
