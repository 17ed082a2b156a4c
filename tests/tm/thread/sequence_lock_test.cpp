// Writers in place under the sequence lock beside readers, in orders drawn at random (T36, T51, T100).
// SPDX-License-Identifier: MIT
#include "tm/thread/sequence_lock.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/tm/explored.hpp"
#include "tm/thread/gate.hpp"

namespace rubato::tm {
namespace {

/// A block of two words that are equal between transactions, until it is taken out and unmapped.
struct State {
  Lines<Explored> lines;
  Gate<Explored> gate{lines};
  SequenceLock<Explored> sequence;
  Line<Explored> line[3];
  int left = 0, right = 0;
  bool is_published = true, is_unmapped = false;
  int finished = 0;
  bool is_wrong = false;
  State() {
    for (auto& each : line) lines.add(each);
  }
};
std::unique_ptr<State> state;

std::uint64_t begin(int me) {
  State& s = *state;
  s.gate.try_enter(s.line[me]);
  const std::uint64_t snapshot = s.sequence.wait_at_begin(s.line[me]);
  s.line[me].snapshot.store(snapshot, std::memory_order_release);
  return snapshot;
}
/// Begins again until it is the writer. @returns the snapshot.
std::uint64_t begin_writing(int me) {
  State& s = *state;
  while (true) {
    const std::uint64_t snapshot = begin(me);
    if (s.sequence.try_lock(snapshot)) return snapshot;
    s.gate.leave(s.line[me]);
  }
}
void end_writing(int me) {
  state->sequence.unlock();
  state->gate.leave(state->line[me]);
}

/// A word of the block, which has to be there. `is_valid`: nothing was written since the snapshot.
int look_at(const int& word, std::uint64_t snapshot, bool& is_valid) {
  State& s = *state;
  Explorer::step();  // an address that was valid a moment ago
  s.is_wrong |= s.is_unmapped;
  const int value = word;
  Explorer::step();
  is_valid = s.sequence.now() == snapshot;
  return value;
}
/// False: it has to run again.
bool try_reading(int me) {
  State& s = *state;
  const std::uint64_t snapshot = begin(me);
  Explorer::step();
  const bool is_there = s.is_published;
  Explorer::step();
  bool is_valid = s.sequence.now() == snapshot;
  if (is_valid && is_there) {
    const int left = look_at(s.left, snapshot, is_valid);
    if (is_valid) {
      const int right = look_at(s.right, snapshot, is_valid);
      s.is_wrong |= is_valid && left != right;
    }
  }
  s.gate.leave(s.line[me]);
  return is_valid;
}

void reader(int me) {
  while (!try_reading(me)) {
  }
  ++state->finished;
}
void writer(int me) {
  State& s = *state;
  begin_writing(me);
  ++s.left;
  Explorer::step();
  ++s.right;
  end_writing(me);
  ++s.finished;
}
/// Its stores are undone.
void undoing_writer(int me) {
  State& s = *state;
  begin_writing(me);
  ++s.left;
  Explorer::step();
  --s.left;
  end_writing(me);
  ++s.finished;
}
void privatizer(int me) {
  State& s = *state;
  const std::uint64_t snapshot = begin_writing(me);
  s.is_published = false;
  Explorer::step();
  end_writing(me);
  quiesce(s.lines, &s.line[me], snapshot + 2);
  s.is_unmapped = true;
  ++s.finished;
}

struct Outcome {
  bool is_wrong = false;    ///< halves that were never together, or unmapped memory was read
  bool waits_ever = false;  ///< a thread was never woken
};
bool operator==(Outcome a, Outcome b) { return a.is_wrong == b.is_wrong && a.waits_ever == b.waits_ever; }
constexpr Outcome kRight{};

Outcome sample(const std::vector<std::function<void(int)>>& bodies, std::uint64_t schedules = 10000) {
  Outcome outcome;
  Explorer::sample(
      schedules,
      [&] {
        state = std::make_unique<State>();
        Explored::wakes().clear();
        return Explorer::numbered(bodies);
      },
      [&] {
        outcome.is_wrong |= state->is_wrong;
        outcome.waits_ever |= state->finished != static_cast<int>(bodies.size());
      },
      [&] { return !(outcome == kRight); });
  return outcome;
}

TEST(WritersInPlace, AReaderSeesNoHalves) {
  EXPECT_EQ(sample({reader, writer, writer}), kRight);
  EXPECT_EQ(sample({reader, undoing_writer, writer}), kRight);
}
TEST(WritersInPlace, NoReaderTouchesWhatBecamePrivate) {
  EXPECT_EQ(sample({reader, privatizer, writer}), kRight);
  EXPECT_EQ(sample({reader, privatizer, reader}), kRight);
}
TEST(WritersInPlace, QuiescenceLeftOutIsFound) {
  fault = Fault::quiescence_skipped;
  EXPECT_TRUE(sample({reader, privatizer}, 100000).is_wrong);
  fault = Fault::none;
}

// With a wait for it, thread 1 would never end.
TEST(WritersInPlace, NoCommitWaitsForATransactionThatWaitsAtItsBegin) {
  const auto waiting = [](int me) {
    begin(me);
    state->gate.leave(state->line[me]);
    ++state->finished;
  };
  const auto committing = [](int me) {
    State& s = *state;
    const std::uint64_t snapshot = begin_writing(me);
    Explorer::block([&s] { return s.line[0].snapshot.now() > 1000 || s.finished != 0; });
    quiesce(s.lines, &s.line[me], snapshot + 2);
    end_writing(me);
    ++s.finished;
  };
  EXPECT_EQ(sample({waiting, committing}), kRight);
}

}  // namespace
}  // namespace rubato::tm
