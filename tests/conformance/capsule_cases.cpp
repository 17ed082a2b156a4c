// Capsules (P10 to P13, P100), written once: on host engines they are plain functions.
// SPDX-License-Identifier: MIT
#include "rubato/capsule.hpp"

#include <cstdint>

#include "tests/conformance/harness.hpp"

namespace {

using namespace rubato;
using conformance::linger;

/// Ledger on which committed tasks and capsules agree: a counter of tasks beside one of capsules.
struct Ledger {
  std::uint64_t sum;
  std::uint64_t handled;
  capsule::TicketLock lock;
};

RUBATO_UNTRACKED untracked<Ledger> ledger;
tracked<std::uint64_t> committed;
tracked<std::uint64_t> hot;

void undo(std::uint64_t amount) {
  __atomic_fetch_sub(&ledger->sum, amount, __ATOMIC_RELAXED);
  __atomic_fetch_add(&ledger->handled, 1, __ATOMIC_RELAXED);
}

}  // namespace

struct Pair {
  std::uint64_t first, second;
};

RUBATO_CAPSULE(std::uint64_t, conformance_add, (std::uint64_t amount)) {
  const std::uint64_t before = __atomic_fetch_add(&ledger->sum, amount, __ATOMIC_RELAXED);
  capsule::on_abort(undo, amount);
  return before;
}

RUBATO_CAPSULE(std::uint64_t, conformance_add_locked, (std::uint64_t amount)) {
  ledger->lock.lock();
  ledger->sum = ledger->sum + amount;
  ledger->lock.unlock();
  capsule::on_abort(
      [](std::uint64_t back) {
        ledger->lock.lock();
        ledger->sum = ledger->sum - back;
        ledger->lock.unlock();
      },
      amount);
  return amount;
}

RUBATO_CAPSULE(Pair, conformance_seven,
               (std::uint64_t a, std::int32_t b, std::uint8_t c, const void* d, std::uint64_t e, bool f,
                std::uint16_t g)) {
  return {a + static_cast<std::uint64_t>(b) + c + static_cast<std::uint64_t>(d != nullptr),
          e + (f ? 1 : 0) + g};
}

RUBATO_CAPSULE(std::uint64_t, conformance_nested, (std::uint64_t depth)) {
  return depth == 0 ? conformance_add(1) * 0 : 1 + conformance_nested(depth - 1);
}

RUBATO_CAPSULE(void, conformance_promoted, (std::uint64_t amount)) {
  capsule::promote();
  __atomic_fetch_add(&ledger->sum, amount, __ATOMIC_RELAXED);
}

RUBATO_CAPSULE(void, conformance_wreck, ()) { ledger->sum = 0; }

/// Reads what untracked memory holds.
RUBATO_CAPSULE(std::uint64_t, conformance_look, (std::uint64_t)) { return ledger->sum; }

RUBATO_CAPSULE(void, conformance_write, (std::uint64_t * to, std::uint64_t value)) {
  conformance_add(0);
  capsule::copy_out(to, &value, sizeof value);
}

namespace {

void reset() {
  ledger->sum = ledger->handled = 0;
  committed = 0;
  hot = 0;
}

template <auto call>
void add(std::uint64_t amount) {
  committed += amount;  // all tasks conflict here
  call(amount);
  hot += 1;
}

template <TaskType type, auto call>
void agree() {
  reset();
  for (std::uint64_t i = 1; i <= 60; ++i) create<type>(add<call>, {.at = i / 4, .on = std::uint64_t{0}}, i);
  run();
  CHECK(committed == 60 * 61 / 2);
  CHECK(ledger->sum == 60 * 61 / 2);
  CHECK(hot == 60);
}

/// Without a locale tasks run beside each other, and abort each other. NONSPEC ones would race.
template <TaskType type, auto call>
void agree_in_conflict() {
  if constexpr (type != TaskType::nonspec) {
    reset();
    for (std::uint64_t i = 1; i <= 120; ++i) create<TaskType::spec>(add<call>, {.at = i}, i);
    run();
    CHECK(committed == 120 * 121 / 2);
    CHECK(ledger->sum == 120 * 121 / 2);
    CHECK(hot == 120);
  }
}

tracked<std::uint64_t> seen[4];

TYPED_CASE(a_capsule_returns_what_its_body_returns) {
  reset();
  seen[0] = 7;
  create<type>(+[] { seen[0] = conformance_add(5); }, {});
  run();
  CHECK(seen[0] == 0);
  CHECK(ledger->sum == 5);
}

TYPED_CASE(seven_arguments_and_two_results_arrive) {
  reset();
  create<type>(
      +[] {
        const Pair pair = conformance_seven(100, -3, 2, &ledger, 40, true, 60000);
        seen[1] = pair.first;
        seen[2] = pair.second;
      },
      {});
  run();
  CHECK(seen[1] == 100);
  CHECK(seen[2] == 60041);
}

TYPED_CASE(capsules_nest) {
  reset();
  create<type>(+[] { seen[3] = conformance_nested(20); }, {});
  run();
  CHECK(seen[3] == 20);
  CHECK(ledger->sum == 1);
}

TYPED_CASE(a_capsule_and_its_tasks_agree) { agree<type, conformance_add>(); }
TYPED_CASE(a_locked_capsule_and_its_tasks_agree) { agree<type, conformance_add_locked>(); }
TYPED_CASE(promote_does_not_repeat_effects) { agree<type, conformance_promoted>(); }
TYPED_CASE(capsules_of_tasks_in_conflict_agree) { agree_in_conflict<type, conformance_add>(); }
TYPED_CASE(locked_capsules_of_tasks_in_conflict_agree) { agree_in_conflict<type, conformance_add_locked>(); }

TYPED_CASE(a_handler_of_a_task_that_commits_never_runs) {
  reset();
  create<type>(+[] { conformance_add(9); }, {.at = 1});
  run();
  CHECK(ledger->sum == 9);
  CHECK(ledger->handled == 0);
}

// Tasks that mispeculate: those of timestamp 1 find `is_right` set, if they do not run too early.
tracked<std::uint64_t> is_right;
tracked<std::uint64_t> written;

template <TaskType type>
void mispeculate(void (*wild)(std::uint64_t)) {
  reset();
  is_right = 0;
  ledger->sum = 7;
  create<type>(
      +[] {
        linger(3000);
        is_right = 1;
      },
      {.at = 0});
  for (std::uint64_t i = 0; i < 40; ++i) create<type>(wild, {.at = 1, .on = i}, i);
  run();
  CHECK(is_right == 1);
  CHECK(ledger->sum == 7);
}

TYPED_CASE(a_wild_access_leaves_untracked_memory_as_it_is) {
  mispeculate<type>(+[](std::uint64_t i) {
    // Brings the line into the L1 first, for every other task.
    if (i % 2 == 0) conformance_look(i);
    if (is_right == 0) ledger->sum = i;
  });
}

TYPED_CASE(a_capsule_does_not_write_through_a_wild_pointer) {
  mispeculate<type>(+[](std::uint64_t i) {
    std::uint64_t own = 0;
    conformance_write(is_right == 0 ? &ledger->sum : &own, 5 + i);
    written = own;
  });
  CHECK(written >= 5);
}

#if defined(__riscv)
extern "C" void rubato_capsule_stub_conformance_wreck();

TYPED_CASE(a_wild_jump_into_a_capsule_has_no_rights) {
  mispeculate<type>(+[](std::uint64_t) {
    if (is_right == 0) rubato_capsule_stub_conformance_wreck();
  });
}

TYPED_CASE(a_wild_call_is_refused) {
  mispeculate<type>(+[](std::uint64_t i) {
    if (is_right != 0) return;
    register std::uint64_t a7 asm("a7") =
        reinterpret_cast<std::uintptr_t>(rubato_capsules_begin) + 8 * 1000 + i;
    asm volatile(".insn i 0x0b, 5, ra, x0, 0" : : "r"(a7) : "ra", "memory");
  });
}
#endif

CASE(capsules_work_outside_tasks) {
  reset();
  CHECK(conformance_add(3) == 0);
  CHECK(conformance_nested(3) == 3);
  CHECK(ledger->sum == 4);
  CHECK(!capsule::is_speculative());
  CHECK(!capsule::is_doomed());
}

CASE(untracked_memory_reads_as_zero) {
  auto* const words = static_cast<std::uint64_t*>(map_untracked(10000));
  CHECK(words != nullptr);
  for (unsigned i = 0; i < 1250; ++i) CHECK(words[i] == 0);
  words[0] = words[1249] = 1;
  unmap_untracked(words, 10000);
}

}  // namespace
