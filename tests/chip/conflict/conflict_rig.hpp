// Conflict detection over a real memory hierarchy, with task units that do what they are told: attempts
// begin, end and are aborted, nothing is restored.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "chip/coherence/mesi.hpp"
#include "chip/conflict/conflict_detector.hpp"
#include "chip/noc/mesh.hpp"

namespace rubato::chip {

/// Ends what it is asked to abort, and remembers.
class FakeUnits : public Aborter {
 public:
  explicit FakeUnits(ConflictDetector& detector) : detector_(&detector) {}

  void abort(std::span<Attempt* const> victims, const AbortReason& reason, Cycle) override {
    aborted.assign(victims.begin(), victims.end());
    reasons.push_back(reason);
    for (Attempt* v : aborted) {
      detector_->end(*v);
      std::erase(live, v);
    }
  }
  bool is_fate_pending(const Attempt& attempt) const override {
    return attempt.state == Attempt::State::finished && pending.contains(&attempt);
  }
  bool is_decided(const Attempt& attempt) const override { return decided.contains(&attempt); }
  void wait_for_fate(CoreId core) override { waiting.push_back(core); }
  VirtualTime gvt_at(TileId) const override { return gvt; }

  std::vector<Attempt*> live;     ///< in order of begin()
  std::vector<Attempt*> aborted;  ///< by the last call
  std::vector<AbortReason> reasons;
  std::set<const Attempt*> pending, decided;
  std::vector<CoreId> waiting;
  VirtualTime gvt{};

 private:
  ConflictDetector* detector_;
};

struct ConflictRig {
  explicit ConflictRig(Config c)
      : config(resolve(std::move(c))),
        mesh(make_mesh(config)),
        detector(config, *mesh),
        mesi(config, *mesh, detector),
        units(detector) {
    recorders.reserve(config.chip.cores);
    for (std::uint32_t core = 0; core < config.chip.cores; ++core) recorders.emplace_back(detector, core);
    last.resize(config.chip.cores);
    detector.attach(units, [this](LineAddr line) { return mesi.possible_holders(line); });
  }

  /// A speculative task starts on `core`.
  Attempt* begin(std::uint32_t core, VirtualTime vt) {
    attempts.push_back(std::make_unique<Attempt>());
    Attempt* a = attempts.back().get();
    a->virtual_time = vt;
    a->core = CoreId{core};
    a->tile = TileId{core / config.chip.cores_per_tile};
    if (attempts.size() == 1)
      for (std::uint32_t c = 0; c < config.chip.cores; ++c) mesi.l1d(CoreId{c}).begin_marks();
    detector.begin(*a);
    begin_task(core, vt, true);
    units.live.push_back(a);
    return a;
  }
  Attempt* begin(std::uint32_t core, Timestamp timestamp) { return begin(core, VirtualTime{timestamp, 1}); }
  /// Start of a task, as a core's pipeline does it; `vt` is a speculative one's.
  void begin_task(std::uint32_t core, VirtualTime vt, bool speculative) {
    L1Cache& l1 = mesi.l1d(CoreId{core});
    if (!l1.has_marks()) return;
    if (speculative) {
      if (vt < last[core] || config.conflict.forwarding != "on") l1.clear_marks();
      last[core] = vt;
    }
    l1.begin_task(speculative ? &recorders[core] : nullptr);
  }
  void finish(Attempt* a) {
    a->state = Attempt::State::finished;
    detector.stop_running(a->core);
  }
  void commit(Attempt* a) {
    detector.commit(*a);
    std::erase(units.live, a);
    units.pending.erase(a);
  }
  bool is_live(const Attempt* a) const {
    return std::find(units.live.begin(), units.live.end(), a) != units.live.end();
  }
  /// Access, as a core's pipeline does it: the L1 if its marks cover the access, else the access, its mark,
  /// its record.
  AccessResult use(std::uint32_t core, LineAddr line, AccessKind kind, std::uint64_t now) {
    L1Cache& l1 = mesi.l1d(CoreId{core});
    if (is_tracked(kind) && l1.hit(line, is_write(kind))) return {};
    const AccessResult r = mesi.access(CoreId{core}, line, kind, Cycle{now});
    if (r.done && is_tracked(kind) && l1.has_marks()) {
      l1.mark(line, is_write(kind));
      if (detector.running(CoreId{core}) != nullptr) detector.record(CoreId{core}, line, is_write(kind));
    }
    return r;
  }

  class Recorder final : public L1Recorder {
   public:
    Recorder(ConflictDetector& detector, std::uint32_t core) : detector_(&detector), core_(core) {}
    void on_first_use(LineAddr line, bool write) override { detector_->record(core_, line, write); }

   private:
    ConflictDetector* detector_;
    CoreId core_;
  };

  Config config;
  std::unique_ptr<Mesh> mesh;
  ConflictDetector detector;
  Mesi mesi;
  FakeUnits units;
  std::vector<std::unique_ptr<Attempt>> attempts;
  std::vector<Recorder> recorders;  // by core
  std::vector<VirtualTime> last;    // by core: of its last task
};

}  // namespace rubato::chip
