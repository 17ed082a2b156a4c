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
    case ThreadWait::Kind::process:
      return "process";
    case ThreadWait::Kind::region:
      return "region";
  }
  return "";
}

namespace {

/// A thread that waits so explains an idle core (idle_account.hpp).
bool explains_idle(const ThreadWait& wait) {
  return wait.kind == ThreadWait::Kind::lock || wait.kind == ThreadWait::Kind::futex;
}

}  // namespace

void ThreadProfile::close(int thread, State& state, Cycle now, const Parts& parts, int by) {
  if (state.is == State::unseen) return;
  // A call ends at a core some cycles behind what it does to others: a wait may be over before it has begun.
  now = later(now, state.since);
  const Latency cycles = now - state.since;
  idle_.advance(now);
  Thread& row = threads_[thread];
  switch (state.is) {
    case State::unseen:
      break;
    case State::ready:
      row.ready += cycles;
      break;
    case State::running:
      for (std::size_t p = 0; p < parts.size(); ++p) row.running[p] += parts[p] - state.before[p];
      idle_.remove_running(thread);
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
      if (explains_idle(state.wait)) {
        waits.idle += idle_.per_waiting() - state.idle_before;
        idle_.remove_waiting();
      }
      if (state.wait.kind == ThreadWait::Kind::region) idle_.remove_in_region();
      if (watcher_ != nullptr) watcher_->on_waited(thread, state.wait, state.chain, state.since, now, by);
      break;
    }
  }
  state.is = State::unseen;
  state.since = now;
}

void ThreadProfile::begin(int thread, State::Is is, Cycle now, const ThreadWait& wait) {
  const auto [row, is_new] = threads_.try_emplace(thread);
  if (is_new) row->second.began = now;
  State& state = states_[thread];
  state.is = is;
  state.since = later(now, state.since);
  idle_.advance(state.since);
  if (is == State::running) idle_.add_running(thread);
  if (is != State::blocked) return;
  state.wait = wait;
  state.idle_before = idle_.per_waiting();
  if (explains_idle(wait)) idle_.add_waiting();
  if (wait.kind == ThreadWait::Kind::region) idle_.add_in_region();
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
  begin(thread, State::blocked, now, wait);
  states_[thread].chain = std::move(chain);
}

void ThreadProfile::yields(int thread, Cycle now, const Parts& parts) {
  close(thread, states_[thread], now, parts, 0);
  begin(thread, State::ready, now);
}

void ThreadProfile::sample(int thread, std::vector<Addr> chain) {
  const auto site = samples_.try_emplace({std::move(chain)}).first;
  ++site->second.by_thread[thread];
  ++sample_count_;
  instant_.emplace_back(thread, site);
}

void ThreadProfile::end_samples(const SpinTest& spins) {
  int working = 0;
  const std::pair<int, std::map<Site, Samples>::iterator>* sole = nullptr;
  for (const auto& sample : instant_) {
    auto& [site, samples] = *sample.second;
    if (!samples.spins) samples.spins = spins(site.chain);
    if (*samples.spins) continue;
    ++working;
    sole = &sample;
  }
  if (working == 1) ++sole->second->second.alone[sole->first];
  instant_.clear();
}

void ThreadProfile::ends(int thread, Cycle now, const Parts& parts) {
  close(thread, states_[thread], now, parts, 0);
  threads_[thread].ended = now;
  threads_[thread].has_ended = true;
}

}  // namespace rubato::chip
