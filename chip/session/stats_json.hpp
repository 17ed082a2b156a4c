// stats.json (C24): format 1; names, units and descriptions once a kind of statistic, values under the roots
// `roi` and `run`. Nothing of the host is in it: two runs of anything give the same bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chip/capsule/capsule_calls.hpp"
#include "chip/config/config.hpp"
#include "chip/os/thread_profile.hpp"
#include "chip/session/marked_regions.hpp"
#include "chip/session/snapshot.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/speculation/parallelism_profile.hpp"

namespace rubato::chip {

class LineBlocks;      // chip/core/line_blocks.hpp
class LineContention;  // chip/core/line_contention.hpp

/// "tile.12.l2.hits" -> "tile.*.l2.hits": components that are numbers stand for an index.
std::string kind_of(std::string_view name);

struct StatsDocument {
  const StatRegistry& registry;
  const StatValues& roi;
  const StatValues& run;
  const RegionRecorder::FunctionCycles& roi_functions;
  const RegionRecorder::FunctionCycles& run_functions;
  const AbortProfile& aborts;
  const LineContention* contention = nullptr;       ///< null: not watched
  const LineBlocks* line_blocks = nullptr;          ///< null: not known
  const ParallelismProfile* parallelism = nullptr;  ///< null: not known
  const CapsuleCalls* capsules = nullptr;           ///< null: not known
  const MarkedRegions* marked = nullptr;            ///< null: none
  const ThreadProfile* threads = nullptr;           ///< null: not known
  std::uint64_t profile_cycles = 0;                 ///< between two samples of it
  const Config* config = nullptr;                   ///< null: nothing is said of energy
  /// A program of several side by side, with its own threads and names.
  struct OfProgram {
    std::string name;
    const ThreadProfile* threads;
    std::function<std::string(Addr)> symbol;
    std::function<bool(Addr)> has_source;
  };
  std::vector<OfProgram> programs{};
  std::function<std::string(Addr)> symbol;
  std::function<std::string(LineAddr)> line_symbol;
  std::function<bool(Addr)> has_source{};  ///< whether there is debugging information; empty: nowhere
};

/// `threads`, `idle`, `waits` and `profile`; of programs side by side `programs`, a list with these of each.
/// `regions`, if the program has marked some: each with its name, how often it began, values, functions.
/// Ratios without a value (0/0) are left out of their root. `conflicts` has no roots: nothing speculates
/// outside task regions. Without roots are also `capsules` (there if a task called one), `contention` (with
/// run.contention) and `parallelism` (if task regions were sampled).
std::string stats_json(const StatsDocument& document);

}  // namespace rubato::chip
