// The channels of an actor as the runtime sees them: numbered inlets of its mailbox, without the types of
// their events (A12).
//
// Only the actor's own code and its runtime use them, in its turns. When an actor is made again, the channels
// that its constructor had opened stay: the new constructor's first open() has the number of the old one's,
// if the types of their events agree.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <vector>

namespace rubato::inline v0::engine {

/// The end of a channel at its actor.
class Inlet {
 public:
  explicit Inlet(const std::type_info& event) : event_(&event) {}
  virtual ~Inlet() = default;
  Inlet(const Inlet&) = delete;
  Inlet& operator=(const Inlet&) = delete;

  const std::type_info& event() const { return *event_; }
  /// No event comes any more: its listeners hear so, and are gone.
  virtual void seal() = 0;
  /// The same without a word to them: the actor has ended, or is made again.
  virtual void forget() = 0;

 private:
  const std::type_info* event_;
};

struct Inlets {
  std::unordered_map<std::uint64_t, std::shared_ptr<Inlet>> open;
  std::vector<const std::type_info*> kept;  ///< events of those that the constructor has opened, by number
  std::uint64_t reopened = 0;               ///< of these, by the constructor that runs
  std::uint64_t next = 0;

  Inlets() = default;
  ~Inlets() { forget(); }
  Inlets(const Inlets&) = delete;
  Inlets& operator=(const Inlets&) = delete;

  /// Listeners may hold the inlet that they listen to.
  void forget() {
    for (const auto& [number, inlet] : open) inlet->forget();
    open.clear();
  }
};

struct Cell;

/// Opens one of the running actor. @returns its number
std::uint64_t open_inlet(const std::shared_ptr<Inlet>& inlet);
/// An inlet of the running actor; null: there is none of that number, or it is sealed.
std::shared_ptr<Inlet> find_inlet(std::uint64_t number);
/// Seals one of the running actor. The last one's end stops an actor without messages of its own.
void seal_inlet(std::uint64_t number);
/// The constructor of an actor with extras has ended.
void note_constructed(Cell& cell);
/// The actor is about to be made again.
void forget_inlets(Cell& cell);
/// Errors: TaskError unless this actor's code runs.
void check_listener(std::uint64_t owner);

}  // namespace rubato::inline v0::engine
