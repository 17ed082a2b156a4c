// SPDX-License-Identifier: MIT
#include "chip/os/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace rubato::chip {
namespace {

/// The number that a file of one word holds; nothing if it holds another word, such as "max".
std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (!(in >> value)) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> total_of_host(const std::filesystem::path& root) {
  std::ifstream in(root / "proc/meminfo");
  for (std::string name; in >> name;) {
    std::uint64_t kib = 0;
    if (name == "MemTotal:" && in >> kib) return kib << 10;
    std::getline(in, name);
  }
  return std::nullopt;
}

/// The folder of this process's control group in the hierarchy of version 2.
std::string control_group(const std::filesystem::path& root) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("0::/")) return line.substr(4);
  return {};
}

}  // namespace

std::optional<std::uint64_t> host_memory_for_guests(const std::filesystem::path& root) {
  std::optional<std::uint64_t> most = total_of_host(root);
  const auto limit = [&](const std::filesystem::path& file) {
    if (const auto bytes = number_in(file)) most = std::min(most.value_or(*bytes), *bytes);
  };
  // Each group above limits, too. In a container the hierarchy begins with its own group.
  const std::filesystem::path groups = root / "sys/fs/cgroup";
  limit(groups / "memory.max");
  limit(groups / "memory/memory.limit_in_bytes");
  std::filesystem::path group = groups;
  for (const auto& part : std::filesystem::path(control_group(root))) {
    group /= part;
    limit(group / "memory.max");
  }
  if (!most) return std::nullopt;
  constexpr std::uint64_t kLeast = std::uint64_t{512} << 20;
  return *most - std::min(std::max(*most / 8, kLeast), *most / 2);
}

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  if (!(in >> size >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace rubato::chip
