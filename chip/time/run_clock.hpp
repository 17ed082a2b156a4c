// When a detailed run is looked at, and by which observer: at its last cycle, to count instructions, for time
// series, for samples, and to report progress. The region of interest is the observer's, too.
//
// Invariant: the timeline pauses at the earliest date of all looks. A look is no event on the timeline, so
// that an observed run is the same as one that is not observed.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "chip/run.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class RunClock {
 public:
  /// In the order in which looks of one cycle are taken.
  enum class Look : std::uint8_t {
    limit,     ///< the run is to end (run.max_cycles): no other look is taken
    count,     ///< instructions (run.instructions)
    interval,  ///< of time series
    sample,    ///< of the places where cores are (run.profile_cycles)
    progress,  ///< an observer or a debugger may stop the run
  };

  explicit RunClock(Timeline& timeline) : timeline_(timeline) { dates_.fill({kNever, 0}); }

  /// Null: no observer. It outlives its use.
  void observe(ChipObserver* observer, Latency interval) {
    observer_ = observer;
    every(Look::interval, interval);
  }

  /// Takes a look each `period` cycles, the first one at that cycle; 0: never. Before the run.
  void every(Look look, Latency period) {
    dates_[index(look)] = {period != 0 ? Cycle{period} : kNever, period};
    set_pause();
  }

  /// All that happens before `now`, the timeline's pause, has happened: calls take(look) for each look that
  /// is due, then sets the next pause.
  template <class Take>
  void look(Cycle now, const Take& take) {
    if (dates_[index(Look::limit)].at == now) return take(Look::limit);
    for (std::size_t i = index(Look::count); i < dates_.size(); ++i) {
      if (dates_[i].at != now) continue;
      take(static_cast<Look>(i));
      dates_[i].at += dates_[i].period;
    }
    set_pause();
  }

  /// The region of interest begins: a task region, the function of --roi, or main.
  void enter_roi(Cycle now) {
    RUBATO_CHECK(!in_roi_, "a region of interest began inside another");
    in_roi_ = true;
    if (observer_ != nullptr) observer_->on_region_begin(now);
  }
  /// Ends the region of interest, if it has begun.
  void leave_roi(Cycle now) {
    if (std::exchange(in_roi_, false) && observer_ != nullptr) observer_->on_region_end(now);
  }
  bool is_in_roi() const { return in_roi_; }

  // To the observer, if there is one. Every statistic is up to date.
  void show_interval(Cycle now) {
    if (observer_ != nullptr) observer_->on_interval(now);
  }
  void show_marker(bool begins, const std::string& name) {
    if (observer_ != nullptr) observer_->on_marker(begins, name);
  }
  /// @returns false if the run is to end.
  bool show_progress(const Progress& progress) {
    return observer_ == nullptr || observer_->on_progress(progress);
  }
  bool is_observed() const { return observer_ != nullptr; }

 private:
  static constexpr std::size_t kLooks = 5;
  struct Date {
    Cycle at;
    Latency period;
  };
  static constexpr std::size_t index(Look look) { return static_cast<std::size_t>(look); }

  void set_pause() {
    Cycle first = kNever;
    for (const Date& date : dates_) first = earlier(first, date.at);
    timeline_.pause_at(first);
  }

  Timeline& timeline_;
  std::array<Date, kLooks> dates_;  // by look
  ChipObserver* observer_ = nullptr;
  bool in_roi_ = false;
};

}  // namespace rubato::chip
