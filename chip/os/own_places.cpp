// SPDX-License-Identifier: MIT
#include "chip/os/own_places.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace rubato::chip {

OwnPlaces::OwnPlaces(std::string root, std::string sandbox)
    : root_(std::move(root)),
      sandbox_(std::move(sandbox)),
      places_{{{"/tmp", "tmp", {}}, {"/dev/shm", "shm", {}}}} {}

OwnPlaces::~OwnPlaces() {
  std::error_code ignored;
  if (!host_path_.empty()) std::filesystem::remove_all(host_path_, ignored);
}

bool OwnPlaces::make() {
  if (!host_path_.empty() || is_refused_) return !is_refused_;
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "rubato-run-XXXXXX").string();
  is_refused_ = error || ::mkdtemp(path.data()) == nullptr;
  if (is_refused_) return false;
  char* const canonical = ::realpath(path.c_str(), nullptr);
  host_path_ = canonical != nullptr ? canonical : path;
  std::free(canonical);
  for (Place& place : places_) {
    const std::string folder = host_path_ + "/" + std::string(place.name);
    if (::mkdir(folder.c_str(), 0700) == 0)
      place.fd = OwnedFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    is_refused_ = is_refused_ || !place.fd;
  }
  return !is_refused_;
}

bool OwnPlaces::is_place(std::string_view absolute) const {
  return !is_beneath(absolute, root_) && std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
    return place.path == absolute;
  });
}

bool OwnPlaces::holds(std::string_view absolute) const {
  return !host_path_.empty() && is_beneath(absolute, host_path_);
}

int OwnPlaces::find(std::string_view absolute, int folder, const std::string& name) {
  if (!is_place(absolute)) return -1;
  const std::string path = std::string(absolute) + "/" + name;
  // The way to what the program may write, or to the folder that this class has made.
  if (is_beneath(root_, path) || (!host_path_.empty() && is_beneath(host_path_, path))) return -1;
  struct stat info {};
  if (sandbox_.empty() &&
      (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT))
    return -1;
  if (!make()) return -1;
  const auto place =
      std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.path == absolute; });
  return place->fd.get();
}

}  // namespace rubato::chip
