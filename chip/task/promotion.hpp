// Promotions (C18): an exceptioned task that has become the earliest active one runs again, alone among
// non-speculative tasks. Espresso, Sec. V-B "Exceptions".
//
//   request   the task's tile asks the arbiter's tile
//   stop      that forbids every tile to start non-speculative tasks
//   quiet     a tile answers when its last one has ended
//   grant     all tiles are quiet: the task may run
//   done      it ended
//   resume    every tile may start non-speculative tasks again
// One promotion is served at a time; others wait in order. A task that turns out to have mispeculated
// withdraws: tiles are resumed instead.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "chip/noc/network.hpp"
#include "chip/task/task_record.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

/// A tile's task unit, as promotions see it.
class PromotionParticipant {
 public:
  virtual ~PromotionParticipant() = default;
  /// No non-speculative task may start from now on; quiet() is called when none runs, perhaps at once.
  virtual void on_stop(Cycle now) = 0;
  virtual void on_resume(Cycle now) = 0;
  /// `task`, exceptioned on this tile, runs next.
  virtual void on_grant(Task* task, Cycle now) = 0;
};

class Promotion final : public EventHandler {
 public:
  /// `arbiter`: the tile that coordinates. Everything outlives the promotions.
  Promotion(Timeline& timeline, Network& network, TileId arbiter, std::uint32_t tiles);
  void attach(std::vector<PromotionParticipant*> tiles) { participants_ = std::move(tiles); }

  /// Precondition: the task is exceptioned, the earliest active one, and has no request pending.
  void request(TileId tile, Task* task, Cycle now);
  bool is_requested(const Task* task) const;
  /// The task was aborted before it was granted.
  void withdraw(const Task* task);
  /// `tile` was stopped and runs no non-speculative task.
  void quiet(TileId tile, Cycle now);
  /// The granted task ended.
  void done(TileId tile, Cycle now);

  std::uint64_t granted() const { return granted_; }

 private:
  enum Kind : std::uint32_t { kRequest, kStop, kQuiet, kGrant, kDone, kResume };
  struct Request {
    TileId tile;
    Task* task;  ///< null: withdrawn
  };
  void on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) override;
  Cycle send(TileId from, TileId to, Cycle now);
  void begin(Cycle now);
  void end(Cycle now);

  Timeline& timeline_;
  Network& network_;
  TileId arbiter_;
  std::vector<PromotionParticipant*> participants_;
  std::deque<Request> requests_;  ///< the first is being served if is_serving_
  bool is_serving_ = false;
  std::uint32_t tiles_, waiting_for_ = 0;
  std::uint64_t granted_ = 0;
};

}  // namespace rubato::chip
