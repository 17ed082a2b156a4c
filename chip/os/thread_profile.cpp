// SPDX-License-Identifier: MIT
#include "chip/os/thread_profile.hpp"

#include <algorithm>

namespace rubato::chip {

std::string_view name_of(ThreadWait::Kind kind) {
  switch (kind) {
    case ThreadWait::Kind::none:
      return "none";
    case ThreadWait::Kind::lock:
      return "lock";
    case ThreadWait::Kind::futex:
      return "futex";
    case ThreadWait::Kind::join:
      return "join";
    case ThreadWait::Kind::sleep:
      return "sleep";
    case ThreadWait::Kind::files:
      return "files";
    case ThreadWait::Kind::signal:
      return "signal";
    case ThreadWait::Kind::region:
      return "region";
  }
  return "";
}

void ThreadProfile::close(int thread, State& state, Cycle now, const Parts& parts, int by) {
  if (state.is == State::unseen) return;
  // A call ends at a core some cycles behind what it does to others: a wait may be over before it has begun.
  now = later(now, state.since);
  const Latency cycles = now - state.since;
  Thread& row = threads_[thread];
  switch (state.is) {
    case State::unseen:
      break;
    case State::ready:
      row.ready += cycles;
      break;
    case State::running:
      for (std::size_t p = 0; p < parts.size(); ++p) row.running[p] += parts[p] - state.before[p];
      if (watcher_ != nullptr) watcher_->on_ran(thread, state.core, state.since, now);
      break;
    case State::blocked: {
      row.blocked[state.wait.kind] += cycles;
      Waits& waits = waits_[{state.wait.kind, state.wait.word, state.chain}];
      ++waits.count;
      waits.cycles += cycles;
      waits.longest = std::max<std::uint64_t>(waits.longest, cycles);
      waits.by_thread[thread] += cycles;
      ++waits.ended_by[by];
      if (state.wait.holder != 0) ++waits.held_by[state.wait.holder];
      if (watcher_ != nullptr) watcher_->on_waited(thread, state.wait, state.chain, state.since, now, by);
      break;
    }
  }
  state.is = State::unseen;
  state.since = now;
}

void ThreadProfile::begin(int thread, State::Is is, Cycle now) {
  const auto [row, is_new] = threads_.try_emplace(thread);
  if (is_new) row->second.began = now;
  State& state = states_[thread];
  state.is = is;
  state.since = later(now, state.since);
}

void ThreadProfile::ready(int thread, Cycle now, int by) {
  close(thread, states_[thread], now, {}, by);
  begin(thread, State::ready, now);
}

void ThreadProfile::runs(int thread, CoreId core, Cycle now, const Parts& parts) {
  close(thread, states_[thread], now, {}, 0);
  begin(thread, State::running, now);
  states_[thread].core = core;
  states_[thread].before = parts;
}

void ThreadProfile::blocks(int thread, Cycle now, const Parts& parts, const ThreadWait& wait,
                           std::vector<Addr> chain) {
  close(thread, states_[thread], now, parts, 0);
  was_blocked(thread, now, wait, std::move(chain));
}

void ThreadProfile::was_blocked(int thread, Cycle now, const ThreadWait& wait, std::vector<Addr> chain) {
  begin(thread, State::blocked, now);
  states_[thread].wait = wait;
  states_[thread].chain = std::move(chain);
}

void ThreadProfile::yields(int thread, Cycle now, const Parts& parts) {
  close(thread, states_[thread], now, parts, 0);
  begin(thread, State::ready, now);
}

void ThreadProfile::ends(int thread, Cycle now, const Parts& parts) {
  close(thread, states_[thread], now, parts, 0);
  threads_[thread].ended = now;
  threads_[thread].has_ended = true;
}

}  // namespace rubato::chip
