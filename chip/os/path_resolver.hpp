// The host file of a guest path, and the guest's rights to it (C2): reading is allowed anywhere (with
// --sandbox: in that directory only), writing only under the working directory (the sandbox), and in /tmp and
// /dev/shm for the run's own files there (own_places.hpp).
//
// The walk goes component by component with O_PATH descriptors and follows symbolic links itself. So neither
// `..` nor links, nor a rename meanwhile, lead to a file other than the one whose rights were checked. /proc
// and /sys never reach the host: the few files of them that the guest sees are made up (virtual_files.cpp).
// So are, without a sandbox, /etc/passwd and /etc/group: they name the user that the program has.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_fd.hpp"

namespace rubato::chip {

/// A path whose directory was walked: act on `name` in `parent` with *at() calls that do not follow links.
struct ResolvedPath {
  OwnedFd parent;
  std::string name;  ///< the last component, "." for the directory itself
  /// With the '/' that the path ended in: the host refuses what is no directory, as it does for any program.
  std::string marked_name() const { return wants_directory && name != "." ? name + "/" : name; }
  std::string absolute;          ///< of the guest's and host's view alike
  bool wants_directory = false;  ///< the path ended in '/'
  bool is_virtual = false;       ///< as those of /proc and /sys: look up `absolute` in the virtual files
  bool is_own = false;           ///< in /tmp or /dev/shm, and of this run: may be written though outside
  bool is_device = false;        ///< /dev/null and its harmless siblings: may be written though outside
};

/// `path` is `root` or lies in it; both absolute and canonical.
bool is_beneath(std::string_view path, std::string_view root);

class OwnPlaces;

class PathResolver {
 public:
  /// `sandbox`: empty or a directory. `log` takes one sentence for each refused access.
  /// @throws UsageError if the sandbox is no directory.
  PathResolver(const std::string& sandbox, std::function<void(const std::string&)> log);
  ~PathResolver();

  /// The guest's initial directory: the host's working directory, or the sandbox if that lies outside of it.
  const std::string& initial_directory() const { return initial_; }

  /// A symbolic link as the last component; `no` follows one with a '/' behind it, `never` does not.
  enum class Follow { yes, no, never };

  /// Resolves `path` against the absolute directory `base`. 0 or -errno (-EACCES: outside of the sandbox).
  std::int64_t resolve(const std::string& base, std::string_view path, Follow follow,
                       ResolvedPath& result) const;

  bool may_read(std::string_view absolute) const;
  bool may_write(std::string_view absolute) const;
  bool may_write(const ResolvedPath& path) const { return path.is_own || may_write(path.absolute); }
  /// Files can be made in the folder, though it may not be changed itself.
  bool may_make_files_in(std::string_view absolute) const;
  /// Tells the log of a refused access; returns -EACCES.
  std::int64_t refuse(const char* what, std::string_view absolute) const;

 private:
  std::string root_;     // of what may be written
  std::string sandbox_;  // canonical, or empty
  std::string initial_;
  std::function<void(const std::string&)> log_;
  std::unique_ptr<OwnPlaces> own_;
};

}  // namespace rubato::chip
