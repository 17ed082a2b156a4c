// Search of the states of a model: breadth first, or on walks at random (K90). The explorers of tokens are
// models:
//
//   first()            the state that the search begins with
//   moves(state)       the number of moves to try; make(state, move) is false for one that is not possible
//   check(state)       what must hold in every state
//   advance(state)     one move that begins nothing new; false: there is none
//   check_rest(state)  what must hold then
//   key(state)         a text; states with the same one are alike
//
// They report what does not hold by fail(), which ends the search.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_set>
#include <utility>

#include "base/rng.hpp"
#include "tests/chip/coherence/token/cells.hpp"

namespace rubato::chip {

/// Base of models: the first violation, and the cells that were entered.
class ExploredModel {
 protected:
  void fail(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  bool has_failed() const { return !violation_.empty(); }

  std::string violation_;
  Cells cells_;
};

struct Exploration {
  std::size_t states = 0;  ///< of walks, their steps
  bool is_complete = true;
  std::string violation;   ///< empty: none
  Cells cells;             ///< of the tables
  std::size_t joined = 0;  ///< reads that began while another was open, by TokenExplorer
};

/// Friend of models.
struct StateSearch {
  /// Every state, until there are more than `most`.
  template <class Model>
  static Exploration explore(Model& model, std::size_t most) {
    using State = decltype(model.first());
    std::unordered_set<std::string> seen;
    std::deque<State> open;
    const auto visit = [&](State&& state) {
      if (model.has_failed()) return;
      model.check(state);
      if (seen.insert(model.key(state)).second) open.push_back(std::move(state));
    };
    visit(model.first());
    while (!open.empty() && !model.has_failed()) {
      if (seen.size() > most) return {seen.size(), false, model.violation_, model.cells_};
      const State state = std::move(open.front());
      open.pop_front();
      for (std::uint32_t move = 0; move < model.moves(state) && !model.has_failed(); ++move) {
        State next = state;
        if (model.make(next, move)) visit(std::move(next));
      }
      drain(model, state);
    }
    return {seen.size(), true, model.violation_, model.cells_};
  }

  /// From the first state: far from it, where breadth does not come.
  template <class Model>
  static Exploration walk(Model& model, std::uint64_t seed, unsigned walks, unsigned steps) {
    Rng rng(seed);
    std::size_t made = 0;
    for (unsigned w = 0; w < walks && !model.has_failed(); ++w) {
      auto state = model.first();
      for (unsigned step = 0; step < steps && !model.has_failed(); ++step) {
        auto next = state;
        if (!model.make(next, static_cast<std::uint32_t>(rng.below(model.moves(state))))) continue;
        state = std::move(next);
        model.check(state);
        ++made;
      }
      drain(model, std::move(state));
    }
    return {made, true, model.violation_, model.cells_};
  }

 private:
  static constexpr int kMostSteps = 2000;  // until messages go round for ever

  /// K91: with nothing new begun, everything that waits gets what it waits for.
  template <class Model, class State>
  static void drain(Model& model, State state) {
    for (int step = 0; step < kMostSteps; ++step) {
      if (model.has_failed()) return;
      if (!model.advance(state)) return model.check_rest(state);
    }
    model.fail("messages go round for ever");
  }
};

}  // namespace rubato::chip
