// The walk: a stack of (name, O_PATH descriptor) from the root; ".." pops, links push their text back on the
// list of components to come.
// SPDX-License-Identifier: MIT
#include "chip/os/path_resolver.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "base/error.hpp"
#include "chip/os/own_places.hpp"

namespace rubato::chip {
namespace {

constexpr int kMaxLinks = 40;  // as Linux
constexpr std::size_t kMaxComponents = 2048;

std::string canonical(const std::string& path) {
  char* text = ::realpath(path.c_str(), nullptr);
  if (text == nullptr) return {};
  std::string result = text;
  std::free(text);
  return result;
}

bool is_harmless_device(std::string_view path) {
  for (std::string_view device : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    if (path == device) return true;
  return false;
}

// Puts the components of `path` in front of those to come.
void push_components(std::string_view path, std::deque<std::string>& components) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  components.insert(components.begin(), parts.begin(), parts.end());
}

struct Step {
  std::string name;
  OwnedFd fd;
  bool is_own = false;  // see ResolvedPath
};

std::string absolute_path(const std::vector<Step>& steps, std::string_view last) {
  std::string path;
  for (const Step& step : steps)
    if (!step.name.empty()) path += "/" + step.name;
  if (last != ".") path.append("/").append(last);
  return path.empty() ? "/" : path;
}

// A user of the host would be the program's by chance, or none.
bool is_list_of_users(std::string_view absolute) {
  return absolute == "/etc/passwd" || absolute == "/etc/group";
}

}  // namespace

bool is_beneath(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

PathResolver::PathResolver(const std::string& sandbox, std::function<void(const std::string&)> log)
    : log_(std::move(log)) {
  const std::string here = canonical(".");
  if (sandbox.empty()) {
    root_ = initial_ = here.empty() ? "/" : here;
    if (here.empty()) root_ = "/nonexistent";  // the working directory is gone: nothing may be written
    own_ = std::make_unique<OwnPlaces>(root_, std::string());
    return;
  }
  sandbox_ = canonical(sandbox);
  if (sandbox_.empty()) throw UsageError("--sandbox {}: {}", sandbox, std::strerror(errno));
  struct stat info {};
  if (::stat(sandbox_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw UsageError("--sandbox {}: is not a directory", sandbox);
  root_ = sandbox_;
  initial_ = is_beneath(here, sandbox_) ? here : sandbox_;
  own_ = std::make_unique<OwnPlaces>(root_, sandbox_);
}

PathResolver::~PathResolver() = default;

bool PathResolver::may_make_files_in(std::string_view absolute) const { return own_->is_place(absolute); }

bool PathResolver::may_read(std::string_view absolute) const {
  return sandbox_.empty() || is_beneath(absolute, sandbox_) || is_harmless_device(absolute) ||
         own_->holds(absolute);
}

bool PathResolver::may_write(std::string_view absolute) const {
  return is_beneath(absolute, root_) || is_harmless_device(absolute) || own_->holds(absolute);
}

std::int64_t PathResolver::refuse(const char* what, std::string_view absolute) const {
  log_(fmt::format("refused to {} {}: outside of {} {}", what, absolute,
                   sandbox_.empty() ? "the working directory" : "the sandbox", root_));
  return -EACCES;
}

std::int64_t PathResolver::resolve(const std::string& base, std::string_view path, Follow follow,
                                   ResolvedPath& result) const {
  if (path.empty()) return -ENOENT;
  if (path.size() >= PATH_MAX) return -ENAMETOOLONG;
  result.wants_directory = path.back() == '/' || path.ends_with("/.") || path.ends_with("/..");
  std::deque<std::string> components;
  push_components(path, components);
  // The base is canonical: walking it again finds no link, and gives every ancestor for "..".
  if (path.front() != '/') push_components(base, components);

  std::vector<Step> steps;
  steps.push_back({"", OwnedFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC))});
  if (!steps.back().fd) return -errno;
  int links = 0;

  // An error met outside of the sandbox must not tell what exists there.
  const auto failed = [&](std::string_view name, int error) -> std::int64_t {
    const std::string where = absolute_path(steps, name);
    return may_read(where) ? -error : refuse("look at", where);
  };

  while (true) {
    while (!components.empty() && components.front() == ".") components.pop_front();
    if (components.empty()) {  // a directory on the stack: "/", or a path that ended in ".."
      result.absolute = absolute_path(steps, ".");
      result.name = ".";
      result.is_own = steps.back().is_own;
      result.parent = std::move(steps.back().fd);
      break;
    }
    if (components.size() > kMaxComponents) return -ENAMETOOLONG;
    const std::string name = std::move(components.front());
    components.pop_front();
    if (name == "..") {
      if (steps.size() > 1) steps.pop_back();
      continue;
    }
    if (name.size() > NAME_MAX) return -ENAMETOOLONG;
    if (steps.size() == 1 && (name == "proc" || name == "sys")) {
      result.absolute = "/" + name;
      for (const std::string& rest : components) {
        if (rest == "..") {  // the made-up trees have no way back
          return -ENOENT;
        }
        if (rest != ".") result.absolute += "/" + rest;
      }
      result.is_virtual = true;
      return 0;
    }
    // A "." behind the last name is the directory itself, to a call that follows nothing.
    const bool is_last = components.empty() ||
                         (follow != Follow::never && std::all_of(components.begin(), components.end(),
                                                                 [](const auto& c) { return c == "."; }));
    struct stat info {};
    const int own =
        steps.back().is_own ? -1 : own_->find(absolute_path(steps, "."), steps.back().fd.get(), name);
    const int folder = own >= 0 ? own : steps.back().fd.get();
    const bool is_own = own >= 0 || steps.back().is_own;
    const bool exists = ::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && (!is_last || errno != ENOENT)) return is_own ? -errno : failed(name, errno);
    const bool follows =
        !is_last || follow == Follow::yes || (follow == Follow::no && result.wants_directory);
    if (exists && S_ISLNK(info.st_mode) && follows) {
      if (++links > kMaxLinks) return failed(name, ELOOP);
      std::array<char, PATH_MAX> target;
      const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
      if (length <= 0) return failed(name, length == 0 ? ENOENT : errno);
      const std::string_view text(target.data(), static_cast<std::size_t>(length));
      push_components(text, components);
      if (text.front() == '/') steps.erase(steps.begin() + 1, steps.end());
      continue;
    }
    if (is_last) {
      result.absolute = absolute_path(steps, name);
      result.name = name;
      result.is_own = is_own;
      result.parent = own >= 0 ? OwnedFd(::fcntl(own, F_DUPFD_CLOEXEC, 0)) : std::move(steps.back().fd);
      if (!result.parent) return -EMFILE;
      break;
    }
    OwnedFd next(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return is_own ? -errno : failed(name, errno);
    steps.push_back({name, std::move(next), is_own});
  }
  result.is_virtual = is_list_of_users(result.absolute) && sandbox_.empty() && !may_write(result);
  if (result.is_virtual) return 0;
  result.is_device = is_harmless_device(result.absolute);
  if (!result.is_own && !may_read(result.absolute)) return refuse("access", result.absolute);
  return 0;
}

}  // namespace rubato::chip
