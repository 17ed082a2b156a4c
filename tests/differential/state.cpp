// SPDX-License-Identifier: MIT
#include "tests/differential/state.hpp"

#include <sched.h>

namespace differential {

State* state = nullptr;

Temporary::~Temporary() {
  id = 0;
  ++state->destroyed;
}

Fan* State::new_fan() {
  const std::lock_guard lock(mutex);
  return fans.emplace_back(std::make_unique<Fan>()).get();
}

std::atomic<std::uint64_t>* State::new_answers() {
  const std::lock_guard lock(mutex);
  return answers.emplace_back(std::make_unique<std::atomic<std::uint64_t>>(0)).get();
}

void State::violate(const std::string& what) {
  const std::lock_guard lock(mutex);
  if (violations++ == 0) first_violation = what;
}

void tell(std::uint64_t word) {
  ++state->tasks;
  state->sum += word;
}
void tell_violation(const char* what) { state->violate(what); }

void dawdle(Rng& random) {
  const std::uint64_t chosen = random.below(64);
  if (chosen == 0) {
    sched_yield();
  } else if (chosen < 8) {
    for (volatile unsigned i = 0; i < chosen * 40;) i = i + 1;
  }
}

void update(Cell& cell, std::uint64_t value, Rng& random, const char* where) {
  const std::uint64_t first = cell.first, second = cell.second;
  if (first != second) state->violate(std::string("a task finds half an update of ") + where);
  cell.first = first + value;
  dawdle(random);
  cell.second = second + value;
}

bool is_whole(const Cell& cell, Rng& random) {
  const std::uint64_t first = cell.first;
  dawdle(random);
  return first == cell.second;
}

}  // namespace differential
