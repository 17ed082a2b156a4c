// Folders in which programs expect that they can make files, wherever they run: /tmp and /dev/shm. Names that
// the host has there are the host's, to be read. All others are the run's own: they lie in a folder of the
// host that is made when the first is looked up, and is removed at the end.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "chip/os/path_resolver.hpp"

namespace rubato::chip {

class OwnPlaces {
 public:
  /// @param root of what the program may write: a place within is as it is on the host
  /// @param sandbox empty, or the folder to which it is confined: of the places it sees no other names
  OwnPlaces(std::string root, std::string sandbox);
  ~OwnPlaces();
  OwnPlaces(const OwnPlaces&) = delete;
  OwnPlaces& operator=(const OwnPlaces&) = delete;

  /// The folder in which `name` of the folder `absolute` (open as `folder`) lies, if it is the run's own.
  /// Else, or if the host refuses such a folder: -1.
  int find(std::string_view absolute, int folder, const std::string& name);
  /// Names can be made in the folder `absolute`.
  bool is_place(std::string_view absolute) const;
  /// `absolute` is the run's own, by its name on the host.
  bool holds(std::string_view absolute) const;

 private:
  struct Place {
    std::string_view path, name;
    OwnedFd fd;
  };

  bool make();

  std::string root_, sandbox_;
  std::string host_path_;  // empty: not made yet
  bool is_refused_ = false;
  std::array<Place, 2> places_;
};

}  // namespace rubato::chip
