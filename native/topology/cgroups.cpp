// See cgroups.hpp. File formats: cgroups(7), proc(5), Documentation/admin-guide/cgroup-v2.rst of Linux.
// SPDX-License-Identifier: MIT
#include "native/topology/cgroups.hpp"

#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "native/topology/cpu_list.hpp"

namespace rubato::inline v0::native {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  for (const std::string& entry : list) {
    if (entry == item) return true;
  }
  return false;
}

/// mountinfo writes blanks in paths as \040.
std::string unescape(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Mount {
  std::string root;   // the group that is visible at `point`
  std::string point;  // absolute
  bool is_v2 = false;
  std::vector<std::string> controllers;  // v1
};

std::vector<Mount> read_mounts(const fs::path& root) {
  std::vector<Mount> mounts;
  const auto text = read_file(root / "proc/self/mountinfo");
  if (!text) return mounts;
  for (const std::string& line : split(*text, '\n')) {
    // 36 35 98:0 ROOT POINT OPTIONS [OPTIONAL...] - TYPE SOURCE SUPER_OPTIONS
    const std::vector<std::string> fields = split(line, ' ');
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    const std::string& type = fields[dash + 1];
    if (type != "cgroup" && type != "cgroup2") continue;
    mounts.push_back(
        {unescape(fields[3]), unescape(fields[4]), type == "cgroup2", split(fields[dash + 3], ',')});
  }
  return mounts;
}

/// The folders of `group` and of those above it, as far as they are visible at the mount, the group's own
/// first.
std::vector<std::string> folders_upwards(const Mount& mount, const std::string& group) {
  std::string below = group;
  if (mount.root != "/") {  // a container sees only a part of the hierarchy
    const bool is_inside = group.starts_with(mount.root) &&
                           (group.size() == mount.root.size() || group[mount.root.size()] == '/');
    below = is_inside ? group.substr(mount.root.size()) : "";
  }
  if (below.starts_with("/..")) below.clear();  // outside our cgroup namespace
  std::vector<std::string> folders;
  while (!below.empty() && below != "/") {
    folders.push_back(mount.point + below);
    below.resize(below.rfind('/'));
  }
  folders.push_back(mount.point);
  return folders;
}

class Reader {
 public:
  explicit Reader(const fs::path& root) : root_(root) {}

  CgroupLimits read() {
    const std::vector<Mount> mounts = read_mounts(root_);
    const auto groups = read_file(root_ / "proc/self/cgroup");
    if (!groups) return std::move(limits_);
    for (const std::string& line : split(*groups, '\n')) {
      // HIERARCHY:CONTROLLERS:PATH; version 2 is hierarchy 0 without controllers
      const std::size_t first = line.find(':');
      const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
      if (second == std::string::npos) continue;
      const std::string group = line.substr(second + 1);
      const std::vector<std::string> controllers = split(line.substr(first + 1, second - first - 1), ',');
      for (const Mount& mount : mounts) {
        if (mount.is_v2 ? line.starts_with("0::") : shares_controller(mount, controllers)) {
          read_hierarchy(mount, controllers, folders_upwards(mount, group));
          break;
        }
      }
    }
    return std::move(limits_);
  }

 private:
  static bool shares_controller(const Mount& mount, const std::vector<std::string>& controllers) {
    for (const std::string& controller : controllers) {
      if ((controller == "cpu" || controller == "cpuset") && contains(mount.controllers, controller))
        return true;
    }
    return false;
  }

  void read_hierarchy(const Mount& mount, const std::vector<std::string>& controllers,
                      const std::vector<std::string>& folders) {
    if (mount.is_v2 || contains(controllers, "cpu")) {
      for (const std::string& folder : folders) mount.is_v2 ? read_quota_v2(folder) : read_quota_v1(folder);
    }
    if (mount.is_v2) {
      read_first_set(folders, {"cpuset.cpus.effective"});
    } else if (contains(controllers, "cpuset")) {
      read_first_set(folders, {"cpuset.effective_cpus", "cpuset.cpus"});
    }
  }

  std::optional<std::string> contents(const std::string& file) const {
    return read_file(root_ / fs::path(file).relative_path());
  }
  void note(const std::string& file, const std::string& text) {
    limits_.notes.push_back(file + " is not understood and ignored: \"" + text.substr(0, text.find('\n')) +
                            "\"");
  }

  /// "max 100000" or "50000 100000".
  void read_quota_v2(const std::string& folder) {
    const std::string file = folder + "/cpu.max";
    const auto text = contents(file);
    if (!text) return;
    std::istringstream words(*text);
    std::string quota;
    double period = 100'000;
    words >> quota >> period;
    if (quota == "max") return;
    add_quota(file, *text, quota, period);
  }

  /// -1 is no limit.
  void read_quota_v1(const std::string& folder) {
    const std::string file = folder + "/cpu.cfs_quota_us";
    const auto quota = contents(file);
    const auto period = contents(folder + "/cpu.cfs_period_us");
    if (!quota || !period || quota->starts_with("-1")) return;
    std::istringstream number(*period);
    double microseconds = 0;
    number >> microseconds;
    add_quota(file, *quota, quota->substr(0, quota->find('\n')), microseconds);
  }

  void add_quota(const std::string& file, const std::string& text, const std::string& quota, double period) {
    std::istringstream number(quota);
    double microseconds = 0;
    number >> microseconds;
    if (microseconds > 0 && period > 0 && number.eof()) {
      limits_.quotas.push_back({file, microseconds, period});
    } else {
      note(file, text);
    }
  }

  /// A group's set is contained in those above it, so the first that says something is the one in force.
  void read_first_set(const std::vector<std::string>& folders, const std::vector<std::string>& names) {
    for (const std::string& folder : folders) {
      for (const std::string& name : names) {
        const std::string file = folder + "/" + name;
        const auto text = contents(file);
        if (!text) continue;
        const auto cpus = parse_cpu_list(*text);
        if (!cpus) {
          note(file, *text);
        } else if (!cpus->empty()) {
          limits_.sets.push_back({file, *cpus});
          return;
        }
      }
    }
  }

  fs::path root_;
  CgroupLimits limits_;
};

}  // namespace

CgroupLimits read_cgroup_limits(const std::filesystem::path& root) { return Reader(root).read(); }

}  // namespace rubato::inline v0::native
