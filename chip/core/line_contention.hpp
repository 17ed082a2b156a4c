// Lines of memory that cores take from one another: the two cores of each transfer and its wait, true sharing
// (the cores use the same bytes) and false sharing (each uses its own). Besides, the words that cores wait
// for in loops of the program's own. It watches and changes nothing: it stands between cores and the memory
// system, and sees every access that instructions make.
//
//   transfer   a core needs a line, or the right to write it, that another core has written or holds
//   tenure     of a core and a line: from a transfer to the next one. It is true sharing if the core uses
//              what others have written since its last tenure, or writes what others have used since
//   spin       a core loads one word, or tries an atomic on it, again and again; it stores nothing and loads
//              little else meanwhile. Atomics one after the other that find other values each time are none
//
// Only lines that two cores use, one of which writes, are looked at. All others cost one look-up a miss, and
// cores do not show the accesses to them (LineWatch): other loads and stores of a core are known by its
// counters. A line that stays at its cores is not shown either until the next transfer, and one that is
// taken all the time is shown now and then. Invariant: memory is bounded. The lines that cost least are
// forgotten.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "chip/core/core_set.hpp"
#include "chip/core/execution_observer.hpp"
#include "chip/core/line_watch.hpp"
#include "chip/core/pipeline_counters.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineContention final : public MemorySystem, public ExecutionObserver {
 public:
  /// Uses since its last transfer after which a line is not shown, and those of each core besides: all cores
  /// come to wait before. Of a line that cores wait for they are less: twice those that make a spin, and more
  /// with many cores, which come to wait one after the other.
  static constexpr std::uint32_t kMostUses = 64, kUsesOfCore = 16, kUsesOfSpinner = 8;

  /// The kind of wait behind the spins on a word.
  enum class Wait : std::uint8_t {
    lock,     ///< an atomic on the word ends most spins
    barrier,  ///< one store ends the spins of several cores
    flag,     ///< anything else
  };
  struct Word {
    std::uint64_t spins = 0, cycles = 0;
    std::uint64_t acquired = 0;      ///< spins that an atomic of the core ended
    std::uint64_t ended = 0;         ///< other ends, in groups between two stores to the word
    std::uint64_t ended_beside = 0;  ///< of each of those, how many ended in its group
    std::uint32_t spinning = 0;      ///< cores, now
    std::uint64_t group = 0;
    Wait waits_for() const;
  };
  struct Use {
    std::uint32_t core = 0;
    std::uint64_t transfers = 0, cycles = 0;
    std::uint64_t touched = 0, written = 0;  ///< a bit a byte
    // Bytes that other cores wrote and used: `next` since the last tenure began, `now` in the interval before
    // that.
    std::uint64_t written_next = 0, used_next = 0, written_now = 0, used_now = 0;
    std::uint64_t tenure_cycles = 0;  ///< waited for it
    bool is_known = false;            ///< what others did before the tenure was seen
    bool is_true = false;
    std::uint32_t window = ~0U;  ///< of the line, when the tenure began
    /// Transfers by the core that had the line before, sorted by its number.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> taken_from{};
    // Bytes that the other users know of already: a core uses its line many times in a row.
    std::uint64_t told_used = 0, told_written = 0, told_at = 0;
  };
  struct Line {
    std::uint64_t transfers = 0, atomics = 0, cycles = 0;
    std::uint64_t true_transfers = 0, false_transfers = 0;  ///< of those whose tenures were seen
    std::uint64_t true_cycles = 0, false_cycles = 0;
    std::vector<Use> users;
    std::map<Addr, Word> words;
    std::uint32_t last_writer = kNobody, last_holder = kNobody;
    CoreSet holders;
    std::uint32_t uses = 0;               ///< that were shown since the last transfer
    std::uint32_t most_uses = kMostUses;  ///< after which it is not shown
    bool is_watched = false;
    std::uint32_t window = 0;    ///< in which it is shown without a gap
    std::uint64_t told_now = 1;  ///< users whose `told_at` is less have something new to tell

    void limit_uses() {
      const auto cores = static_cast<std::uint32_t>(users.size());
      most_uses = kMostUses + kUsesOfCore * cores;
      if (!words.empty()) most_uses = std::min(most_uses, std::max(kUsesOfSpinner, 2 * cores) * cores);
    }
  };
  static constexpr std::uint32_t kNobody = CoreSet::kNone;

  /// Both references outlive this.
  LineContention(MemorySystem& memory, const Timeline& timeline, std::uint32_t cores);
  /// Before the core runs: `counters`, which outlive it, count each access before it is shown.
  void attach(CoreId core, const PipelineCounters& counters) { of_cores_[core.value].counters = &counters; }
  /// The core runs another process than the first, whose lines look like others of the first: nothing of it
  /// counts. Or it no longer does.
  void leave_out(CoreId core, bool is_left_out);
  /// The lines whose accesses are to be shown.
  const LineWatch& watch() const { return watch_; }

  AccessResult access(CoreId core, LineAddr line, AccessKind kind, Cycle now) override;
  void prefetch(CoreId core, LineAddr line) const override { memory_.prefetch(core, line); }
  AccessParts take_waited(CoreId core) override { return memory_.take_waited(core); }
  void warm(CoreId core, LineAddr line, AccessKind kind) override { memory_.warm(core, line, kind); }
  void forget(LineAddr first, LineAddr last) override { memory_.forget(first, last); }

  void on_begin(CoreId core, const HartState&) override;
  void on_load(CoreId core, Addr address, unsigned bytes, std::uint64_t value) override;
  void on_store(CoreId core, Addr address, unsigned bytes) override;
  void on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) override;
  void on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) override;
  void on_counter(CoreId, std::uint64_t) override {}
  void on_task_read(CoreId, unsigned, std::uint64_t) override {}
  void on_handler(CoreId, const TaskDescriptor&) override {}
  void on_kernel_exit(CoreId, const HartState&) override {}

  /// The run is over: spins and tenures end.
  void finish();
  /// From request to data, of all misses of loads, stores and atomics: cores wait for them less, where they
  /// go on meanwhile.
  std::uint64_t miss_cycles() const { return miss_cycles_; }
  /// Sums over all lines, also over those that are forgotten.
  std::uint64_t transfers() const { return transfers_; }
  std::uint64_t transfer_cycles() const { return transfer_cycles_; }
  /// The lines with transfers or spins, by address.
  const std::map<LineAddr, std::unique_ptr<Line>>& lines() const { return lines_; }
  static constexpr std::size_t kMostLines = 2048;

 private:
  static constexpr std::uint32_t kSpins = 4;       // loads in a row that make a spin
  static constexpr std::uint32_t kMostOthers = 8;  // other loads between two of a spin
  static constexpr std::size_t kFilter = 4096;
  static constexpr std::size_t kQuiet = 65536;
  // Spans of transfers, of which one in kSpans is shown if no core waits there: as kMostUses, this keeps
  // watching cheap (docs/cli.md).
  static constexpr std::uint64_t kSpan = 64, kSpans = 4;

  /// A line that one core uses, or that all cores only read. Lines with the same place replace one another: a
  /// line that cores contend for comes back.
  struct Quiet {
    LineAddr line{~std::uint64_t{0}};
    std::uint32_t core = 0;
    bool is_written = false, is_shared = false;
  };
  struct Spin {
    Addr word = 0;  // 0: none
    Line* line = nullptr;
    std::uint64_t value = 0, began = 0, last = 0;
    std::uint64_t loads = 0, writes = 0;  // counters of the core at its last access to the word
    std::uint32_t times = 0;
    bool is_last_atomic = false;
    bool is_hidden = false;  // its loads have not been shown since: only writes tell whether it has ended
  };
  struct Pending {
    LineAddr line;
    Cycle since;
  };
  struct OfCore {
    Spin spin;
    std::vector<Pending> pending;
    const PipelineCounters* counters = nullptr;
    bool is_left_out = false;
    const Line* recent = nullptr;  // that the core used last, and its place in the line's users
    std::size_t place = 0;
  };

  void on_miss(CoreId core, LineAddr line, bool writes, bool is_atomic, std::uint64_t cycles);
  Line& make_line(LineAddr line, const Quiet& before);
  void transfer(Line& line, std::uint32_t core, std::uint32_t from, bool is_atomic, std::uint64_t cycles);
  /// Null: nothing of the kind is known of the line.
  Line* find(LineAddr line) {
    const auto& entry = filter_[line.value % kFilter];
    return entry.first == line                ? entry.second
           : is_hidden_[line.value % kFilter] ? find_hidden(line)
                                              : nullptr;
  }
  Line* find_hidden(LineAddr line);
  Use& use_of(Line& line, std::uint32_t core) {
    const OfCore& of = of_cores_[core];
    return of.recent == &line ? line.users[of.place] : find_use(line, core);
  }
  Use& find_use(Line& line, std::uint32_t core);
  void watch(LineAddr at, Line& line);
  void unwatch(LineAddr at, Line& line);
  /// Fewer lines, those that cost most.
  void forget_cheap_lines();
  void use(Line& line, std::uint32_t core, Addr address, unsigned bytes, bool writes);
  static void count_taken(Use& use, std::uint32_t from);
  void end_tenure(Line& line, Use& use);
  void spin(OfCore& core, Line& line, Addr address, std::uint64_t value, bool is_atomic);
  /// Ends the spin of a core that has gone on since; `shown`: accesses that its counters have, and this not
  /// yet.
  void settle(OfCore& core, unsigned shown_loads, unsigned shown_writes);
  void end_spin(OfCore& core, bool acquired);
  void write_word(Line& line, Addr address, const OfCore* writer);

  MemorySystem& memory_;
  const Timeline& timeline_;
  std::uint32_t cores_;
  std::uint64_t miss_cycles_ = 0, transfers_ = 0, transfer_cycles_ = 0;
  std::vector<OfCore> of_cores_;
  std::vector<Quiet> quiet_;
  LineWatch watch_;
  std::map<LineAddr, std::unique_ptr<Line>> lines_;
  std::array<std::pair<LineAddr, Line*>, kFilter> filter_{};
  std::array<bool, kFilter> is_hidden_{};  // several lines look the same
};

}  // namespace rubato::chip
