// An NVMe device in time: when each request is done (P78 to P80; Espresso, Sec. VI-D). One server takes
// requests in order of arrival. A request occupies it for the longer of what its pages cost by
// `disk.*_iops` and its bytes by `disk.*_bandwidth`. It is done `disk.*_latency` after its start, and later
// by its occupancy beyond that of one page. At most `disk.queue_depth` requests are inside: another one
// enters when one of them is done.
//
// The device knows no data: os/sys_disk.cpp moves them when a request is done. Times are the guest's
// nanoseconds; the server counts picoseconds, so that rounding does not add up.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

class Disk {
 public:
  enum class Kind : std::uint8_t { read, write };
  /// Offsets, lengths and addresses of buffers are multiples of it.
  static constexpr std::uint64_t kSector = 512;
  /// The least that a request costs.
  static constexpr std::uint64_t kPage = 4096;

  explicit Disk(const DiskSection& config, std::uint64_t frequency_mhz)
      : read_(config.read_iops, config.read_bandwidth, config.read_latency),
        write_(config.write_iops, config.write_bandwidth, config.write_latency),
        queue_depth_(config.queue_depth),
        frequency_mhz_(frequency_mhz) {}

  /// A request for `bytes`, at least one, arrives at `now`, not before the one before. @returns when it is
  /// done.
  std::uint64_t request(Kind kind, std::uint64_t bytes, std::uint64_t now);
  /// When all writes that have arrived are done.
  std::uint64_t writes_done() const { return writes_done_; }

  /// Registers `prefix`.reads and others. They are shown in runs that have made a request.
  void register_stats(StatRegistry& registry, const std::string& prefix) const;

 private:
  struct Rate {
    Rate(std::uint32_t iops, std::uint32_t mb_per_second, std::uint32_t latency_us)
        : page_ps(kPicoseconds / iops),
          mb(mb_per_second),
          latency_ps(latency_us * std::uint64_t{1'000'000}) {}
    std::uint64_t occupancy(std::uint64_t bytes) const;

    std::uint64_t page_ps, mb, latency_ps;
  };
  using Times = std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>>;
  static constexpr std::uint64_t kPicoseconds = 1'000'000'000'000;

  static void drop_until(Times& times, std::uint64_t at) {
    while (!times.empty() && times.top() <= at) times.pop();
  }

  Rate read_, write_;
  std::size_t queue_depth_;
  std::uint64_t frequency_mhz_;
  std::uint64_t entered_ = 0;  // ps: the last request came inside
  std::uint64_t free_ = 0;     // ps: the server is
  Times inside_;               // ps: those inside at `entered_` are done
  Times arrived_;              // ps: the same of all that have arrived
  std::uint64_t writes_done_ = 0;

  bool is_used_ = false;
  std::uint64_t reads_ = 0, writes_ = 0, read_bytes_ = 0, written_bytes_ = 0, busy_ps_ = 0;
  Histogram depth_, latency_;
};

}  // namespace rubato::chip
