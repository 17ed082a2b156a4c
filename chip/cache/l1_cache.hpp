// A core's first-level cache: one object for instructions, one for data (C20). It carries state, no data.
// The core asks hit() inline; whatever hit() refuses goes to MemorySystem::access(), and only the protocol
// fills, downgrades and invalidates.
//
//   filter   direct-mapped, before the array: (line, may write, slot); always a subset of the array's rights
//            and marks
//   array    set-associative, true LRU by use stamps; a word is line << 2 | LineState; word and
//            stamp of an empty slot are 0. Words of a set lie together, for look-ups; what else there is of
//            a slot does, for its use
//   slot     index into the array: set * ways + way
//   mark     of a slot (C15): what a conflict check has found good; hit() refuses what the marks do not
//            cover. A check for a speculative task is good for it and the speculative tasks since, until one
//            is earlier than the last (another epoch); between them non-speculative tasks come and go. A
//            check for a non-speculative task is good for all tasks (C12), until a speculative one uses the
//            line here: a write then needs another check, and a read too if it was written. Until
//            begin_marks() there are no marks, and none are needed
//   tag      part of every filter key: another tag, and the filter is empty
//   untouched  of a line that a hardware prefetcher brought and that no access has used: find() and hit() do
//            not see it, so its first use goes to the protocol. The sign is the word's highest bit
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/eight.hpp"
#include "base/line_allocator.hpp"
#include "base/prefetch.hpp"
#include "chip/cache/line_state.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LeftReservations;
class StatRegistry;

/// Sees every L1 hit: the coherence checker (C21), and what counts hits by state. With an observer the filter
/// stays empty.
class L1Observer {
 public:
  virtual ~L1Observer() = default;
  /// `before`: the state that the hit found; a write may have changed it.
  virtual void on_hit(std::uint32_t slot, LineAddr line, bool write, LineState before) = 0;
};

/// Hears of lines that the running task uses without a check: their marks cover it.
class L1Recorder {
 public:
  virtual ~L1Recorder() = default;
  /// Once for each line that hits since begin_task(), and once more if it is written after it was read; again
  /// only if it left the L1 in between. Not for uses that mark() has told of.
  virtual void on_first_use(LineAddr line, bool write) = 0;
};

/// Work of an L1's array other than hits and misses (K77), counted where it is caused; not while warming.
struct L1Moves {
  std::uint64_t uncounted = 0;        ///< accesses that it served and that are no hits, such as spills
  std::uint64_t fills = 0;            ///< lines written into it
  std::uint64_t lines_read = 0;       ///< modified lines that its tile's L2 took
  std::uint64_t probes = 0;           ///< look-ups for the L2, which takes a line or the right to write it
  std::uint64_t unused = 0;           ///< untouched lines that have left it
  std::uint64_t silent_upgrades = 0;  ///< stores to exclusive lines, made modified without a request
};

class L1Cache {
 public:
  /// Bytes and ways; both powers of two with at least one set (checked with the configuration).
  struct Params {
    std::uint64_t bytes;
    std::uint32_t ways;
  };
  explicit L1Cache(Params params);

  // ---- The core's side ----

  /// True if the access needs nothing but this L1: the line is here with the right and mark it needs. Counts
  /// the hit
  /// and makes the line the most recently used; a write makes an exclusive line modified. False changes
  /// nothing: the access then goes to MemorySystem::access(). Costs about ten host instructions when the
  /// filter knows the line.
  bool hit(LineAddr line, bool write) {
    const FilterEntry& e = filter_[line.value % kFilterEntries];
    if ((e.key | (write ? 0U : 1U)) == (line.value << 1 | 1 | tag_)) {
      touch(e.slot);
      return true;
    }
    return hit_array(line, write);
  }

  /// hit() of a line that is known to be in `slot`.
  bool hit_at(std::uint32_t slot, LineAddr line, bool write);

  /// Load-reserved: remembers `line`, which must be here, until another core writes it.
  void reserve(LineAddr line) { reserved_ = line; }
  bool has_reservation(LineAddr line) const { return reserved_ == line; }
  /// Ends a reservation: store-conditionals, traps and thread switches do so.
  void clear_reservation() { reserved_ = kNoLine; }

  // ---- Marks (C15) ----

  /// From now on hits need marks; all that is here now is marked as checked for reads and writes. Once.
  void begin_marks();
  bool has_marks() const { return has_marks_; }
  /// The next speculative task is earlier than the last one: no check for those so far covers it.
  void clear_marks();
  /// A check found `line`, if it is here, good for reads, or for reads and writes; the caller has recorded
  /// that use if it must be.
  void mark(LineAddr line, bool write);
  /// `line`, if it is here, holds nothing but the core's own stack: it needs no check and is not recorded.
  void mark_private(LineAddr line) { mark_unchecked(line, kPrivate); }
  /// The same of untracked memory, which may be used with rights only (P30).
  void mark_untracked(LineAddr line) { mark_unchecked(line, kUntracked); }
  /// Private and untracked lines may be something else from now on: removes their marks.
  void forget_untracked();
  /// Whether untracked memory may be used: not by speculative code outside capsules.
  void set_rights(bool has_rights) {
    if (has_rights == has_rights_) return;
    has_rights_ = has_rights;
    retag();
  }
  /// A task starts: speculative, and `recorder` receives its uses, or null: non-speculative. With marks only.
  void begin_task(L1Recorder* recorder);
  /// The running task need not be recorded any longer; its marks stay those of a speculative one.
  void stop_recording() { recorder_ = nullptr; }
  /// The result that hit() would return. Changes nothing.
  bool covers(LineAddr line, bool write) const { return covers_at(find(line), write); }
  /// The same of the line in `slot`, which may be kNoSlot.
  bool covers_at(std::uint32_t slot, bool write) const {
    return slot != kNoSlot && (!write || is_writable(state_at(slot))) && is_marked(slot, write);
  }

  // ---- The protocol's side ----

  /// Before any access: the program whose own lines the L1 holds (K81). All lines here are those; what is
  /// outside of the L1 knows them with the program's number.
  void set_program(std::uint32_t program) { program_ = program; }
  LineAddr outer(LineAddr own) const { return line_of_program(program_, own); }
  /// For another program's line, the result is a line that no L1 holds.
  LineAddr inner(LineAddr outer) const { return line_of_program(program_, outer); }

  static constexpr std::uint32_t kNoSlot = ~0U;

  struct Victim {
    LineAddr line{};
    LineState state = LineState::invalid;  ///< invalid: the slot was empty
    std::uint32_t slot = 0;                ///< where the new line goes
  };

  std::uint32_t find(LineAddr line) const { return find_word(line, 0); }
  /// The slot of an untouched line.
  std::uint32_t find_untouched(LineAddr line) const { return find_word(line, kUntouched); }
  /// find(), also of an untouched line.
  std::uint32_t find_any(LineAddr line) const {
    const std::uint32_t slot = find(line);
    return slot != kNoSlot ? slot : find_untouched(line);
  }
  /// A prefetcher has brought the line in `slot`.
  void set_untouched(std::uint32_t slot) { words_[slot] |= kUntouched; }
  /// An access uses the untouched line in `slot`.
  void set_touched(std::uint32_t slot) { words_[slot] &= ~kUntouched; }
  LineState state(LineAddr line) const {
    const std::uint32_t slot = find(line);
    return slot == kNoSlot ? LineState::invalid : state_at(slot);
  }
  LineState state_at(std::uint32_t slot) const { return static_cast<LineState>(words_[slot] & 3); }
  LineAddr line_at(std::uint32_t slot) const { return LineAddr{(words_[slot] & ~kUntouched) >> 2}; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(words_.size()); }

  /// The slot that a fill of `line`, which is not here, would take, and what it would evict. Changes nothing.
  /// Asked again with nothing having happened here in between, it remembers.
  Victim victim(LineAddr line) const {
    const std::uint32_t set = set_of(line);
    if (set != victim_set_ || hits_ + uses_ != victim_at_) find_victim(set);
    return {line_at(victim_), state_at(victim_), victim_};
  }
  /// The first slot of the set in which `line` is or will be.
  std::uint32_t first_slot(LineAddr line) const { return set_of(line); }
  /// Software prefetch of the host memory that find() and fill() of a line read, whose first_slot() this is.
  void prefetch(std::uint32_t first_slot) const {
    rubato::prefetch(&words_[first_slot]);
    rubato::prefetch(&uses_of_[first_slot]);  // two lines of the host for up to eight ways
    rubato::prefetch(&uses_of_[first_slot + ways_ - 1]);
  }
  /// Puts `line` into the slot that victim() chose, as the most recently used.
  void fill(std::uint32_t slot, LineAddr line, LineState state);
  /// Gives the line in `slot` another valid state (upgrade, downgrade) without using it.
  void set_state(std::uint32_t slot, LineState state);
  /// Marks the line in `slot` as the most recently used, uncounted.
  void use(std::uint32_t slot) {
    uses_of_[slot].stamp = hits_ + ++uses_;
    used_last_ = slot;
  }
  /// Drops the line in `slot`. A reservation on it stands, and is listed with those whose lines have left.
  void invalidate(std::uint32_t slot);
  /// A hit of functional warming, known to be one: uncounted and unobserved.
  void warm_hit(std::uint32_t slot, bool write) {
    use(slot);
    if (write && state_at(slot) == LineState::exclusive) set_state(slot, LineState::modified);
  }
  /// An access that needed more than this L1.
  void count_miss() { ++misses_; }

  /// From now on reservations whose lines leave are listed there.
  void list_reservations(LeftReservations* left) { left_ = left; }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  /// Registers `prefix`.hits and `prefix`.misses.
  void register_stats(StatRegistry& registry, const std::string& prefix) const;

  /// From now on every hit is shown to `observer`.
  void observe(L1Observer* observer);

 private:
  static constexpr std::uint64_t kUntouched = std::uint64_t{1} << 63;  // of a word; lines have 58 bits
  static constexpr std::uint32_t kFilterEntries = 64;
  // Tags take the bits of a key that no line << 1 has; the last tag is kNoKey's.
  static constexpr unsigned kTagShift = 64 - kLineBits + 1;
  static constexpr std::uint64_t kLastTag = (std::uint64_t{1} << (64 - kTagShift)) - 2;
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};
  // A mark for speculative tasks is epoch << 1 | checked for writes, epochs being kFirstEpoch or more; or one
  // of these.
  using Mark = std::uint16_t;
  enum Settled : std::uint8_t { kUnsettled = 0, kForReads = 1, kForWrites = 3 };
  static constexpr Mark kNoMark = 0, kPrivate = 1, kUntracked = 2;
  static constexpr Mark kFirstEpoch = 2;  // epochs before it would look like those
  static constexpr Mark kLastEpoch = 0x7fff;
  /// The use of a slot's line; four of them fit into a host cache line.
  struct Use {
    std::uint64_t stamp = 0;
    std::uint32_t recorded = 0;  ///< the last task that used it << 1 | wrote it
    Mark mark = kNoMark;
    Settled settled = kUnsettled;  ///< what a check for a non-speculative task has found good
  };
  static_assert(sizeof(Use) == 16);
  static constexpr std::uint32_t kLastTask = ~std::uint32_t{0} >> 1;
  struct FilterEntry {
    std::uint64_t key = kNoKey;  // tag | line << 1 | may write without a state change, mark or record
    std::uint32_t slot = 0;
  };

  std::uint32_t find_word(LineAddr line, std::uint64_t sign) const {
    // No early exit: where a line is cannot be predicted. A word is the line's with any state but invalid, 0.
    const std::uint32_t base = set_of(line);
    const std::uint64_t* const words = &words_[base];
    const std::uint64_t first_valid = sign | line.value << 2 | 1;
    std::uint32_t found = kNoSlot;
    for_each_of_eight(ways_,
                      [&](std::uint32_t way) { found = words[way] - first_valid <= 2 ? base + way : found; });
    return found;
  }
  std::uint32_t set_of(LineAddr line) const {
    return static_cast<std::uint32_t>(line.value & set_mask_) * ways_;
  }
  // Stamps order uses: every hit raises hits_, every fill uses_, so the sum grows with each use. It does so
  // too where a line leaves: while it stands, so does the order.
  void touch(std::uint32_t slot) { uses_of_[slot].stamp = ++hits_ + uses_; }
  bool hit_array(LineAddr line, bool write);
  /// find() of a line that mostly is the one that the protocol used last.
  std::uint32_t find_used(LineAddr line) const {
    return words_[used_last_] - (line.value << 2 | 1) <= 2 ? used_last_ : find(line);
  }
  void find_victim(std::uint32_t set) const;
  bool is_marked(std::uint32_t slot, bool write) const {
    if (!has_marks_) return true;
    const Use& use = uses_of_[slot];
    if (use.mark == kPrivate || use.settled >= (write ? kForWrites : kForReads)) return true;
    if (use.mark == kUntracked) return has_rights_;
    if (is_nonspeculative_) return false;
    return write ? use.mark == (epoch_ << 1 | 1) : use.mark >> 1 == epoch_;
  }
  static bool is_unchecked(Mark mark) { return mark == kPrivate || mark == kUntracked; }
  void mark_unchecked(LineAddr line, Mark mark);
  void unmark(std::uint32_t slot) {
    Use& use = uses_of_[slot];
    use.mark = kNoMark, use.settled = kUnsettled, use.recorded = 0;
  }
  void unsettle(std::uint32_t slot, bool write);
  void unfilter(LineAddr line) {
    FilterEntry& e = filter_[line.value % kFilterEntries];
    if ((e.key ^ tag_) >> 1 == line.value) e.key = kNoKey;
  }
  void wipe_filter();
  /// Empties the filter by giving it another tag.
  void retag();

  std::uint64_t hits_ = 0, uses_ = 0, misses_ = 0;
  std::uint64_t tag_ = 0;  // shifted to its place in a key
  LineAddr reserved_ = kNoLine;
  std::uint64_t set_mask_;
  std::uint32_t ways_;
  L1Observer* observer_ = nullptr;
  LeftReservations* left_ = nullptr;
  std::vector<std::uint64_t, LineAllocator<std::uint64_t>> words_;
  std::vector<Use, LineAllocator<Use>> uses_of_;  // by slot
  L1Recorder* recorder_ = nullptr;
  std::uint32_t program_ = 0;
  std::uint32_t used_last_ = 0;  // the slot of use()
  std::uint32_t task_ = 0;       // counts begin_task(), from 1 again after kLastTask
  Mark epoch_ = kFirstEpoch;
  bool is_nonspeculative_ = true;
  bool has_marks_ = false;
  bool has_rights_ = true;
  mutable std::uint32_t victim_set_ = kNoSlot, victim_ = 0;  // what victim() returned last
  mutable std::uint64_t victim_at_ = 0;                      // with hits_ + uses_ as here
  alignas(64) FilterEntry filter_[kFilterEntries];

 public:
  L1Moves moves;
};

}  // namespace rubato::chip
