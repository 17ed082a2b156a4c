// Keys of what is between the caches and beyond them: net, mem and disk.
// SPDX-License-Identifier: MIT
#include "chip/config/keys/declare.hpp"
#include "chip/config/keys/groups.hpp"

namespace rubato::chip {

void add_network_keys(std::vector<Key>& k) {
  k.push_back(number("net.link_bytes", RUBATO_MEMBER(net.link_bytes), "bytes", 1, 256,
                     "Bytes a link carries in a cycle: the size of a flit.", kTable));
  k.push_back(number("net.straight", RUBATO_MEMBER(net.straight), "cycles", 1, 100,
                     "Cycles of a hop that keeps its direction.", kTable));
  k.push_back(number("net.turn", RUBATO_MEMBER(net.turn), "cycles", 1, 100,
                     "Cycles of the hop on which X-Y routing turns.", kTable));
  k.push_back(plain("net.contention", RUBATO_MEMBER(net.contention),
                    "Messages wait for links that others occupy; false: links carry any number at once.",
                    kOurs));
}

void add_memory_keys(std::vector<Key>& k) {
  k.push_back(number("mem.controllers", RUBATO_MEMBER(mem.controllers), "controllers", 1, 64,
                     "Memory controllers at the chip's edges.", kTable));
  k.push_back(number("mem.latency", RUBATO_MEMBER(mem.latency), "cycles", 1, 100000,
                     "Cycles of a memory access.", kTable));
  k.push_back(number("mem.bytes_per_cycle", RUBATO_MEMBER(mem.bytes_per_cycle), "bytes/cycle", 0.1, 1024,
                     "Bandwidth of a memory controller.", kTable));
}

void add_disk_keys(std::vector<Key>& k) {
  constexpr std::string_view kSsd = "Samsung 960 PRO";
  k.push_back(number("disk.read_iops", RUBATO_MEMBER(disk.read_iops), "requests/s", 1, 1e9,
                     "Reads of 4 KiB a second, at most, of files opened with O_DIRECT.", kSsd));
  k.push_back(number("disk.write_iops", RUBATO_MEMBER(disk.write_iops), "requests/s", 1, 1e9,
                     "Writes of 4 KiB a second, at most.", kSsd));
  k.push_back(number("disk.read_bandwidth", RUBATO_MEMBER(disk.read_bandwidth), "MB/s", 1, 1e6,
                     "Bytes read a second, at most, in millions.", kSsd));
  k.push_back(number("disk.write_bandwidth", RUBATO_MEMBER(disk.write_bandwidth), "MB/s", 1, 1e6,
                     "Bytes written a second, at most, in millions.", kSsd));
  k.push_back(number("disk.read_latency", RUBATO_MEMBER(disk.read_latency), "us", 0, 1e6,
                     "From the start of a read of at most 4 KiB until it is done.", kSsd));
  k.push_back(number("disk.write_latency", RUBATO_MEMBER(disk.write_latency), "us", 0, 1e6,
                     "From the start of a write of at most 4 KiB until it is done.", kSsd));
  k.push_back(number("disk.queue_depth", RUBATO_MEMBER(disk.queue_depth), "requests", 1, 65536,
                     "Requests that are inside the disk at a time; others wait in order of arrival.", kOurs));
}

}  // namespace rubato::chip
