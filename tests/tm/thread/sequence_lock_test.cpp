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
  int is_published = 1, left = 0, right = 0;
  bool is_unmapped = false;
  int updates = 0, finished = 0;
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

/// Reads of a transaction, as by_value's: with a log of values, which are compared when the sequence has
/// moved.
class Reads {
 public:
  explicit Reads(int me) : me_(me), snapshot_(begin(me)) {}
  std::uint64_t snapshot() const { return snapshot_; }

  /// False: the transaction has to run again.
  bool read(const int& word, int& value) {
    while (true) {
      value = look_at(word);
      if (state->sequence.now() == snapshot_) {
        log_.push_back({&word, value});
        return true;
      }
      if (!extend()) return false;
    }
  }
  bool become_writer() {
    while (!state->sequence.try_lock(snapshot_)) {
      if (!extend()) return false;
    }
    return true;
  }

 private:
  struct Read {
    const int* word;
    int value;
  };

  /// A word of the block has to be there: its address was valid a moment ago.
  static int look_at(const int& word) {
    State& s = *state;
    Explorer::step();
    s.is_wrong |= s.is_unmapped && &word != &s.is_published;
    return word;
  }
  bool are_valid() const {
    if (has_fault(Fault::extends_blindly)) return true;
    for (const Read& read : log_) {
      if (look_at(*read.word) != read.value) return false;
    }
    return true;
  }
  bool extend() {
    const std::uint64_t now = state->sequence.validate([this] { return are_valid(); });
    if (now == 0) return false;
    snapshot_ = now;
    state->gate.extend(state->line[me_], now);
    return true;
  }

  const int me_;
  std::uint64_t snapshot_;
  std::vector<Read> log_;
};

/// False: it has to run again.
bool try_reading(int me) {
  State& s = *state;
  Reads reads(me);
  int is_there = 0, left = 0, right = 0;
  const bool is_valid = reads.read(s.is_published, is_there) &&
                        (is_there == 0 || (reads.read(s.left, left) && reads.read(s.right, right)));
  s.is_wrong |= is_valid && left != right;
  s.gate.leave(s.line[me]);
  return is_valid;
}
/// Reads beside others before it becomes the writer.
bool try_adding(int me) {
  State& s = *state;
  Reads reads(me);
  int left = 0, right = 0;
  const bool is_valid = reads.read(s.left, left) && reads.read(s.right, right) && reads.become_writer();
  if (is_valid) {
    s.left = left + 1;
    Explorer::step();
    s.right = right + 1;
    ++s.updates;
    s.sequence.unlock();
  }
  s.gate.leave(s.line[me]);
  return is_valid;
}

void reader(int me) {
  while (!try_reading(me)) {
  }
  ++state->finished;
}
void adder(int me) {
  while (!try_adding(me)) {
  }
  ++state->finished;
}
void writer(int me) {
  State& s = *state;
  begin_writing(me);
  ++s.left;
  Explorer::step();
  ++s.right;
  ++s.updates;
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
  s.is_published = 0;
  Explorer::step();
  end_writing(me);
  quiesce(s.lines, &s.line[me], snapshot + 2);
  s.is_unmapped = true;
  ++s.finished;
}

struct Outcome {
  /// Halves that were never together or unmapped memory was read, or an update was lost.
  bool is_wrong = false;
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
        const bool is_over = state->finished == static_cast<int>(bodies.size());
        const bool is_lost = state->left != state->updates || state->right != state->updates;
        outcome.is_wrong |= state->is_wrong || (is_over && is_lost);
        outcome.waits_ever |= !is_over;
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
TEST(WritersInPlace, NoUpdateOfATransactionThatReadsFirstIsLost) {
  EXPECT_EQ(sample({adder, adder, adder}), kRight);
  EXPECT_EQ(sample({adder, adder, undoing_writer}), kRight);
  EXPECT_EQ(sample({adder, writer, reader}), kRight);
}

struct Finder {
  Fault fault;
  std::vector<std::function<void(int)>> bodies;
};
TEST(WritersInPlace, EachFaultIsFound) {
  const Finder finders[] = {{Fault::quiescence_skipped, {reader, privatizer}},
                            {Fault::extends_blindly, {reader, writer}},
                            {Fault::extends_blindly, {adder, writer}},
                            {Fault::no_commit_validation, {adder, writer}}};
  for (const Finder& finder : finders) {
    fault = finder.fault;
    EXPECT_TRUE(sample(finder.bodies, 100000).is_wrong) << static_cast<int>(finder.fault);
    fault = Fault::none;
  }
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
