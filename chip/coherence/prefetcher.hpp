// Hardware prefetcher of a core's L1D. It sees loads and stores that miss the L1D, and first uses of lines
// that it brought, and names lines to bring. The protocol reads such a line as for a load that no instruction
// waits for, or drops the request where it would have to wait.
//
//   next_line  the lines behind the one that was used, so many as the degree
//   stride     streams: lines at equal distances. A stream whose stride was seen twice is followed: at each
//              use so many lines as the degree, up to so many strides ahead as the distance. Streams are told
//              apart by address, since no protocol knows the instruction
//   page       no line of another page than the used one's is named: hardware knows no translation of it
//   untouched  a line that was brought and not used yet (L1Cache): its first use leaves the L1
// Functional warming neither trains a prefetcher nor makes it bring lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class L1Cache;
class StatRegistry;

class Prefetcher {
 public:
  static constexpr std::uint32_t kMostDegree = 16;

  struct Counters {
    std::uint64_t issued = 0, dropped = 0, useful = 0, late = 0, uncovered = 0;
  };

  explicit Prefetcher(const CacheSection& l1d);

  /// A load or store has used `line`, which the L1D did not hold as a touched line. @returns the lines to
  /// bring, until the next call.
  std::span<const LineAddr> observe(LineAddr line);

  // ---- Requests under way ----

  /// So many requests are under way at `now` as l1d.prefetch_entries allows.
  bool is_full(Cycle now);
  /// A request was made; its line comes at `there`, kNever if that is not known yet.
  void add(LineAddr line, Cycle there) {
    ++counters.issued;
    under_way_.push_back({line, there});
  }
  /// The line has come, or a core has used it. @returns when it comes; 0: it was there, or is forgotten.
  Cycle take(LineAddr line);

  /// The core turns to another program, whose lines have the same addresses: streams and requests under way
  /// are forgotten. What was counted stays.
  void forget();

  /// Registers `prefix`.prefetch.*; `l1d` counts the lines that no core has used.
  void register_stats(StatRegistry& registry, const std::string& prefix, const L1Cache& l1d) const;

  Counters counters;

 private:
  struct Stream {
    LineAddr last{};
    std::int64_t stride = 0;  ///< in lines; 0: one use was seen
    std::uint32_t seen = 0;   ///< times that the stride was seen, at most kConfirmed
    std::uint32_t ahead = 0;  ///< strides behind `last` that lines were named for
    std::uint64_t used = 0;   ///< order of uses; 0: the entry is free
  };
  struct UnderWay {
    LineAddr line;
    Cycle there;
  };
  static constexpr std::uint32_t kConfirmed = 2;
  static constexpr std::int64_t kReach = 32;  // lines, between two uses of a stream whose stride is not known
  static constexpr std::uint64_t kPageLines = 64;

  void name_next_lines(LineAddr line);
  void name_strides(Stream& stream);
  /// The stream that `line` goes on with, which it is added to; null: none, or it adds nothing.
  Stream* follow(LineAddr line);
  bool name(LineAddr used, std::int64_t offset);

  bool is_stride_;
  std::uint32_t degree_, distance_, entries_;
  std::uint64_t uses_ = 0;
  std::vector<Stream> streams_;
  std::vector<UnderWay> under_way_;
  std::array<LineAddr, kMostDegree> named_{};
  std::uint32_t named_count_ = 0;
};

}  // namespace rubato::chip
