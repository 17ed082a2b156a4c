// The load buffer and the store buffer of a core, and what waits for them.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "chip/config/config.hpp"
#include "chip/core/access_buffer.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class AccessBuffers {
 public:
  AccessBuffers(PipelineState& state, const CoreSection& config)
      : state_(state), loads_(config.load_buffer), stores_(config.store_buffer) {}

  AccessBuffer& loads() { return loads_; }
  AccessBuffer& stores() { return stores_; }
  AccessBuffer& of(bool is_store) { return is_store ? stores_ : loads_; }

  /// `issue` of an access that must wait for an entry of `buffer` advances to when there is one; it may go on
  /// if it is strict then.
  bool wait_for_entry(AccessBuffer& buffer, std::uint64_t& issue) {
    if (buffer.is_held_up(Cycle{issue})) return state_.departure.leave(PipelineStop::deferred);
    while (const auto* entry = buffer.full(Cycle{issue}))
      state_.stalls.wait(issue, entry->done.value, entry->parts);
    return state_.window.is_strict(issue) || state_.departure.leave(PipelineStop::resume);
  }
  /// An access made at `issue` fills its line when `entry` is done.
  void add(AccessBuffer& buffer, std::uint64_t issue, const AccessBuffer::Entry& entry) {
    buffer.add(Cycle{issue}, entry);
    state_.fills_until = std::max(state_.fills_until, entry.done.value);
  }
  /// The outstanding fill that a load of `word` in `line` waits for, or null: the store buffer holds that
  /// word, or none brings the line.
  const AccessBuffer::Entry* fill_of(LineAddr line, Addr word) const {
    const AccessBuffer::Entry* const store = stores_.find(line);
    return later_fill(line, store != nullptr && store->word == word ? nullptr : store);
  }
  /// The outstanding fill of `line`, or null.
  const AccessBuffer::Entry* fill_of(LineAddr line) const { return later_fill(line, stores_.find(line)); }
  /// When every outstanding access to `line` is done, `at` or later.
  std::uint64_t done_with(LineAddr line, std::uint64_t at) const {
    if (const auto* entry = loads_.find(line); entry != nullptr) at = std::max(at, entry->done.value);
    if (const auto* entry = stores_.find(line); entry != nullptr) at = std::max(at, entry->done.value);
    return at;
  }

  std::uint64_t latest() const { return std::max(loads_.latest(), stores_.latest()).value; }
  /// `issue` advances to when every outstanding access is done; no deferred one is among them.
  void drain(std::uint64_t& issue) {
    drain(loads_, issue);
    drain(stores_, issue);
  }

  /// A deferred access: the end of its fill is unknown.
  void defer() { state_.fills_until = Scoreboard::kUnknown; }
  /// Deferred accesses have performed; `any` are left.
  void settle(bool any) { state_.fills_until = any ? Scoreboard::kUnknown : latest(); }

 private:
  /// The fill of a load of `line`, if it ends later than that of `store`; else `store`.
  const AccessBuffer::Entry* later_fill(LineAddr line, const AccessBuffer::Entry* store) const {
    const AccessBuffer::Entry* const load = loads_.find(line);
    return load != nullptr && (store == nullptr || load->done > store->done) ? load : store;
  }
  void drain(AccessBuffer& buffer, std::uint64_t& issue) {
    if (buffer.latest().value <= issue) return;
    if (const auto* last = buffer.last(Cycle{issue}))
      state_.stalls.wait(issue, last->done.value, last->parts);
  }

  PipelineState& state_;
  AccessBuffer loads_, stores_;
};

}  // namespace rubato::chip
