// SPDX-License-Identifier: MIT
#include "chip/program/warm_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace rubato::chip {
namespace {

constexpr AccessKind kKindsOfUses[] = {AccessKind::load, AccessKind::store, AccessKind::fetch};

}  // namespace

void WarmLog::on_turn(const Thread& thread) {
  thread_ = static_cast<std::size_t>(thread.tid - first_tid_);
  if (threads_.size() <= thread_) threads_.resize(thread_ + 1);
  last_ = {};
}

void WarmLog::on_data(Addr address, unsigned bytes, bool is_store) {
  const LineAddr first = line_of(address), last = line_of(address + bytes - 1);
  note(is_store ? kStores : kLoads, first);
  if (last != first) note(is_store ? kStores : kLoads, last);
}

void WarmLog::note(Kind kind, LineAddr line) {
  Last& last = last_[kind];
  if (last.time == nullptr || last.line != line) last = {line, &threads_[thread_][kind][line.value]};
  *last.time = ++now_;
}

std::vector<WarmLog::Use> WarmLog::uses() const {
  std::vector<std::pair<std::uint64_t, Use>> found;
  for (std::size_t thread = 0; thread < threads_.size(); ++thread)
    for (std::size_t kind = 0; kind < kKinds; ++kind)
      for (const auto& [line, time] : threads_[thread][kind])
        found.push_back({time, {static_cast<std::uint32_t>(thread), kKindsOfUses[kind], LineAddr{line}}});
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Use> uses;
  uses.reserve(found.size());
  for (const auto& [time, use] : found) uses.push_back(use);
  return uses;
}

void save_uses(CheckpointWriter& file, const std::vector<WarmLog::Use>& uses) {
  file.number(uses.size());
  for (const WarmLog::Use& use : uses) {
    file.object(use.thread);
    file.object(use.kind);
    file.number(use.line.value);
  }
}

std::vector<WarmLog::Use> read_uses(CheckpointReader& file, std::size_t threads) {
  std::vector<WarmLog::Use> uses;
  for (std::uint64_t left = file.number(); left != 0; --left) {
    WarmLog::Use use;
    use.thread = file.object<std::uint32_t>();
    use.kind = file.object<AccessKind>();
    use.line = LineAddr{file.number()};
    const bool is_known =
        std::find(std::begin(kKindsOfUses), std::end(kKindsOfUses), use.kind) != std::end(kKindsOfUses);
    if (use.thread >= threads || !is_known) file.refuse_damaged();
    uses.push_back(use);
  }
  return uses;
}

void warm(MemorySystem& memory_system, const Program& program, const std::vector<WarmLog::Use>& uses) {
  const auto& threads = program.process.threads();
  for (const WarmLog::Use& use : uses) {
    if (program.memory.attributes(addr_of(use.line)) == 0) continue;  // unmapped since
    const CoreId own = program.warm_up.own_core_of(*threads[use.thread]);
    memory_system.warm(CoreId{program.place.first_core + own.value}, use.line, use.kind);
  }
}

}  // namespace rubato::chip
