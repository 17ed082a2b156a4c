// A window core's loop, and what the chip tells it. See window_core.hpp.
// SPDX-License-Identifier: MIT
#include "chip/core/window/window_core.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace rubato::chip {

using State = WindowEntry::State;

std::unique_ptr<CoreModel> make_window_core(const Config& config, PipelineParts& parts) {
  return std::make_unique<WindowCore>(config, parts);
}

void inject(CoreModel& model, WindowFault fault) {
  if (auto* const window = dynamic_cast<WindowCore*>(&model)) window->inject(fault);
}

WindowCore::WindowCore(const Config& config, PipelineParts& parts)
    : w_(config, parts),
      squash_(w_),
      loads_(w_, squash_),
      stores_(w_, loads_),
      commit_(w_, stores_),
      dispatch_(w_, loads_, stores_, commit_) {
  parts.lsu.deferrals().never_defer();
}

// ---- Running ----

PipelineStop WindowCore::run(Cycle now, Cycle next_other, Cycle pause_at) {
  is_called_ = true;
  const PipelineStop stop = run_on(now, next_other, pause_at);
  if (!w_.is_cancelled) {
    is_called_ = false;
    return stop;
  }
  end_call();
  return w_.state.departure.stop = PipelineStop::blocked;
}

void WindowCore::begin() {
  const std::uint64_t cycle = w_.state.cycle.value;
  w_.point.begin(cycle);
  w_.commits.begin(cycle);
  w_.issue.begin();
  w_.pipeline.resume.block = nullptr;
  w_.pipeline.fetch_line = kNoLine;
  w_.reports.begin();
}

PipelineStop WindowCore::leave(PipelineStop stop) {
  w_.state.cycle = Cycle{w_.point.cycle()};
  is_synced_ = false;
  return w_.state.departure.stop = stop;
}

PipelineStop WindowCore::run_on(Cycle now, Cycle next_other, Cycle pause_at) {
  PipelineState& state = w_.state;
  DispatchPoint& point = w_.point;
  state.window.begin(now, next_other, pause_at);
  state.departure.stop = PipelineStop::resume;
  state.ports.blocks->synchronize();
  w_.now = now.value;
  if (!std::exchange(is_synced_, true)) begin();
  while (!w_.is_cancelled) {
    if (stores_.has_fault()) {
      squash_.all(w_.now);
      if (const PipelineStop stop = stores_.raise_fault(); stop != PipelineStop::resume) return leave(stop);
    }
    const std::uint64_t next = w_.actions.next();
    const bool is_due = next != WindowActions::kNone && state.window.is_strict(next);
    if (is_due && (next <= point.cycle() || !can_dispatch())) {
      act(w_.actions.take());
      continue;
    }
    if (is_stopping_ && !is_busy()) {
      is_stopping_ = false;
      point.go_to(std::max(w_.commits.last(), stores_.last_end()));
      return leave(PipelineStop::drained);
    }
    if (const std::uint64_t end = point.end(state.window); can_dispatch() && point.cycle() < end) {
      point.set_limit(is_due ? std::min(next, end) : end);
      if (const PipelineStop stop = dispatch_.run(); stop != PipelineStop::resume) return leave(stop);
      continue;
    }
    const std::uint64_t then = can_dispatch() ? std::min(next, point.cycle()) : next;
    if (then == WindowActions::kNone) {
      state.cycle = Cycle{w_.now};
      return state.departure.stop = PipelineStop::deferred;
    }
    state.cycle = Cycle{then};
    return state.departure.stop = PipelineStop::resume;
  }
  return PipelineStop::blocked;
}

CoreModel::Leaving WindowCore::begin_leaving() {
  is_stopping_ = is_busy();
  return is_stopping_ ? Leaving::drains : Leaving::now;
}

void WindowCore::act(const WindowAction& action) {
  w_.advance_to(action.at);
  if (action.is_store()) {
    stores_.act(action);
  } else {
    loads_.act(action);
  }
  resolve();
}

void WindowCore::resolve() {
  if (w_.issue.has_news()) issue_pending();
  commit_.retire();
}

// In the order of the program, so that one pass knows all that has become known. Older instructions than the
// news do not wait for it.
void WindowCore::issue_pending() {
  for (std::uint64_t from; (from = w_.issue.take_news()) != WindowIssue::kNoNews;) {
    const std::uint64_t squashes = w_.stats.squashes;
    for (std::size_t i = w_.pending.index_from(from); i < w_.pending.size() && w_.stats.squashes == squashes;
         ++i) {
      const std::uint64_t position = w_.pending[i];
      WindowEntry& e = w_.buffer[position];
      if (e.state == State::hangs) {
        if (!w_.issue.issue(e)) continue;
        if (!e.is_load()) {
          w_.issue.complete(e, position);
          continue;
        }
        e.state = State::issued;
        loads_.perform(position, e.issued, false);
      } else if (e.state == State::behind && w_.buffer[e.blocker].is_done()) {
        e.state = State::issued;
        loads_.perform(position, std::max(e.issued, w_.now), false);
      }
    }
    w_.pending.erase_done(from);
    if (w_.stats.squashes == squashes) w_.issue.take_news();
  }
}

// ---- Messages ----

bool WindowCore::note_ready(LineAddr line) {
  const bool awaits = w_.point.awaits(line);
  AccessParts* waited = awaits ? nullptr : loads_.awaiting(line);
  if (!awaits && waited == nullptr) waited = stores_.awaiting(line);
  if (!awaits && waited == nullptr) return false;
  const AccessParts parts = w_.state.ports.memory_system.take_waited(w_.state.core);
  if (awaits) {
    w_.point.fetched(parts);
  } else {
    *waited = sum_of(*waited, parts);
  }
  return true;
}

bool WindowCore::perform(LineAddr line, Cycle now) {
  is_called_ = true;
  perform_line(line, now);
  end_call();
  return true;
}

bool WindowCore::perform_blocked(Cycle now) {
  std::vector<LineAddr> lines;
  stores_.list_blocked(lines);
  loads_.list_blocked(lines);
  w_.is_blocked = false;
  is_called_ = true;
  for (const LineAddr line : lines)
    if (!w_.is_cancelled) perform_line(line, now);
  end_call();
  return !lines.empty();
}

void WindowCore::perform_line(LineAddr line, Cycle now) {
  // Nothing of others happens in this cycle before this is done.
  w_.state.window.begin(now, now, kNever);
  w_.advance_to(now.value);
  stores_.perform_line(line, now.value);
  loads_.perform_line(line, now.value);
  resolve();
  w_.point.end_wait_for_line(line, now.value);
}

// ---- Ends ----

void WindowCore::cancel(Cycle at) {
  cancelled_at_ = at;
  if (!is_called_) return discard();
  w_.is_cancelled = true;
  w_.point.set_limit(0);
}

void WindowCore::discard() {
  w_.is_cancelled = false;
  w_.advance_to(cancelled_at_.value);
  squash_.all(w_.now);
  w_.stores.clear();
  w_.actions.clear();
  w_.point.forget_stall();
  w_.point.forget_fetch();
  is_stopping_ = w_.is_blocked = false;
  stores_.forget_fault();
  w_.state.cycle = later(w_.state.cycle, cancelled_at_);
  is_synced_ = false;
}

bool WindowCore::perform_at_once(Addr begin, Addr end, Cycle now) {
  w_.advance_to(now.value);
  bool has_any = false;
  for (std::uint64_t p = w_.buffer.head(); p < w_.buffer.tail() && !has_any; ++p) {
    const WindowEntry& e = w_.buffer[p];
    has_any =
        (e.is_load() ? !e.is_done() : e.is_store()) && e.address < end && begin < e.address + e.insn.bytes;
  }
  if (has_any) squash_.all(std::max(w_.commits.last(), w_.now) + w_.pipeline.mispredict);
  // A speculative task's stores are not checked yet: they wait for their lines, and find the pages of then.
  return (w_.state.task.attempt == nullptr && stores_.perform_all(begin, end)) || has_any;
}

void WindowCore::flush(Cycle now) {
  w_.advance_to(now.value);
  squash_.all(w_.now);
  stores_.perform_all(0, ~Addr{0});
  w_.stores.forget_written();  // another program's addresses are other words
  w_.point.forget_stall();
  is_stopping_ = false;
  is_synced_ = false;
}

}  // namespace rubato::chip
