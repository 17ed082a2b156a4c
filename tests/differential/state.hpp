// State that the tasks of one random program share, and the faults that they may find in it. Everything that
// ends up in the digest is either commutative or touched in timestamp order, so that every legal schedule
// gives the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "rubato/rubato.hpp"

namespace differential {

using namespace rubato;

inline constexpr unsigned kLocales = 6, kResources = 8;

/// Data of a locale or resource. Two words, far apart, are equal whenever no task is in the middle of an
/// update. A third is changed only by tasks with timestamps of their own.
struct Cell {
  tracked<std::uint64_t> first = 0;
  alignas(64) tracked<std::uint64_t> filler[24] = {};
  tracked<std::uint64_t> second = 0;
  tracked<std::uint64_t> ordered = 0;
};

/// An object that is removed while tasks that know it are still to come.
struct Temporary {
  explicit Temporary(std::uint64_t i) : id(i) {}
  ~Temporary();
  tracked<std::uint64_t> id;
  Cell cell;
};

/// A group, and how many of its members are done.
struct Fan {
  TaskGroup group;
  std::atomic<std::uint64_t> done{0};
};

/// Kind of timestamps that the program has.
enum class Order : std::uint8_t { none, dense, unique };

/// State of the program that runs now.
struct State {
  Order order = Order::none;
  bool throws = false;
  std::array<Cell, kLocales> locales;
  std::array<resource<Cell>, kResources> resources;

  std::atomic<std::uint64_t> tasks{0};   // that ended, each counted once
  std::atomic<std::uint64_t> sum{0};     // of what they have to tell, in any order
  std::uint64_t sequence = 0;            // Order::unique: of timestamped tasks, in theirs
  std::atomic<std::uint64_t> latest{0};  // the latest timestamp that started, plus 1
  std::atomic<std::uint64_t> made{0}, destroyed{0};
  std::atomic<bool> is_over{false};  // run() has returned or thrown

  std::mutex mutex;
  std::vector<std::unique_ptr<Fan>> fans;
  std::vector<std::unique_ptr<std::atomic<std::uint64_t>>> answers;
  std::vector<resource<Temporary>> temporaries;  // not removed yet
  std::uint64_t violations = 0;
  std::string first_violation;

  Fan* new_fan();
  std::atomic<std::uint64_t>* new_answers();
  void violate(const std::string& what);
};
extern State* state;

/// Adds to both words of a cell that the task has for itself, with a pause in between.
void update(Cell& cell, std::uint64_t value, Rng& random, const char* where);
/// Whether the words are equal. `pause`: as long as it likes between the two.
bool is_whole(const Cell& cell, Rng& random);
/// Lets others run for a moment, now and then.
void dawdle(Rng& random);

/// Adds the result of a task that has ended.
void tell(std::uint64_t word);
void tell_violation(const char* what);

/// A task of this key and all that follow from it. With Order::unique no other may have its `number`.
void create_tree(std::uint64_t key, std::uint32_t number, std::uint32_t depth, std::optional<Timestamp> at);
/// Members of a group, whatever else they are, and a task that comes after it.
void create_members(Fan* fan, std::uint64_t members, std::uint64_t key);
/// Creates the tasks that start the program `seed`; the state is new.
void create_roots(std::uint64_t seed);

}  // namespace differential
