// The device of disk.hpp.
// SPDX-License-Identifier: MIT
#include "chip/disk/disk.hpp"

#include <algorithm>

namespace rubato::chip {

std::uint64_t Disk::Rate::occupancy(std::uint64_t bytes) const {
  const std::uint64_t pages = (bytes + kPage - 1) / kPage;
  return std::max(pages * page_ps, bytes * 1'000'000 / mb);  // a byte at 1 MB/s takes a microsecond
}

std::uint64_t Disk::request(Kind kind, std::uint64_t bytes, std::uint64_t now) {
  const Rate& rate = kind == Kind::read ? read_ : write_;
  const std::uint64_t at = now * 1000;
  entered_ = std::max(entered_, at);
  drop_until(inside_, entered_);
  if (inside_.size() == queue_depth_) {
    entered_ = inside_.top();
    drop_until(inside_, entered_);
  }
  const std::uint64_t start = std::max(entered_, free_), occupancy = rate.occupancy(bytes);
  free_ = start + occupancy;
  const std::uint64_t page = rate.occupancy(kPage);
  const std::uint64_t done = start + rate.latency_ps + (occupancy > page ? occupancy - page : 0);
  inside_.push(done);
  drop_until(arrived_, at);
  arrived_.push(done);

  const std::uint64_t done_ns = (done + 999) / 1000;
  is_used_ = true;
  if (kind == Kind::read) {
    ++reads_;
    read_bytes_ += bytes;
  } else {
    ++writes_;
    written_bytes_ += bytes;
    writes_done_ = std::max(writes_done_, done_ns);
  }
  busy_ps_ += occupancy;
  depth_.add(arrived_.size());
  latency_.add((done_ns - now) * frequency_mhz_ / 1000);
  return done_ns;
}

void Disk::register_stats(StatRegistry& registry, const std::string& prefix) const {
  registry.begin_optional(&is_used_);
  registry.counter(prefix + ".reads", "requests", "Reads of the disk.", &reads_);
  registry.counter(prefix + ".writes", "requests", "Writes to the disk.", &writes_);
  registry.counter(prefix + ".read_bytes", "bytes", "Bytes read from the disk.", &read_bytes_);
  registry.counter(prefix + ".written_bytes", "bytes", "Bytes written to the disk.", &written_bytes_);
  registry.total(prefix + ".busy_cycles", "cycles", "Cycles for which requests occupy the disk.",
                 [this] { return busy_ps_ * frequency_mhz_ / 1'000'000; });
  registry.histogram(prefix + ".depth", "requests",
                     "Requests that wait for the disk when one has arrived, that one included, by requests.",
                     &depth_);
  registry.histogram(prefix + ".latency", "cycles", "From a request's arrival until it is done, by requests.",
                     &latency_);
  registry.end_optional();
}

}  // namespace rubato::chip
