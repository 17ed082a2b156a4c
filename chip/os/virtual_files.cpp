// The made-up part of /proc and /sys, and the lists of users: what C libraries and runtimes look up, the same
// on every host. Nothing else exists in /proc and /sys.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>

#include "chip/os/isa_extensions.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

// /proc/1000/..., /proc/thread-self/... and /proc/self/... are one.
std::string with_self(std::string path, int pid) {
  for (const std::string& prefix : {fmt::format("/proc/{}", pid), std::string("/proc/thread-self")})
    if (path.starts_with(prefix + "/")) return "/proc/self" + path.substr(prefix.size());
  return path;
}

std::string cpu_info(unsigned cores) {
  std::string text;
  for (unsigned core = 0; core < cores; ++core)
    text += fmt::format("processor\t: {}\nhart\t\t: {}\nisa\t\t: {}\nmmu\t\t: sv39\nuarch\t\t: rubato\n\n",
                        core, core, isa_string());
  return text;
}

}  // namespace

std::string Process::Impl::proc_maps() const {
  std::string text;
  for (const auto& [begin, end] : memory.regions()) {
    for (Addr run = begin; run < end;) {
      const std::uint8_t rights = memory.asked_attributes(run);
      const FileViews::Range* const file = memory.file_views().at(run);
      Addr to = file != nullptr ? file->end : run + AddressSpace::kPageBytes;
      while (file == nullptr && to < end && memory.attributes(to) == rights &&
             memory.file_views().at(to) == nullptr)
        to += AddressSpace::kPageBytes;
      std::string name;
      std::string source = "00000000 00:00 0";
      if (run >= stack_low && run < stack_high) name = "[stack]";
      if (run >= brk_start && run < brk_mapped) name = "[heap]";
      if (file != nullptr && file->view.file) {
        const auto [device, inode] = file->view.file->id();
        name = file->view.file->path();
        source =
            fmt::format("{:08x} {:02x}:{:02x} {}", file->view.offset, major(device), minor(device), inode);
      }
      text +=
          fmt::format("{:x}-{:x} {}{}{}{} {} {:>{}}\n", run, to, (rights & Page::kRead) != 0 ? 'r' : '-',
                      (rights & Page::kWrite) != 0 ? 'w' : '-', (rights & Page::kExecute) != 0 ? 'x' : '-',
                      file != nullptr && file->view.is_shared ? 's' : 'p', source, name, name.size() + 10);
      run = to;
    }
  }
  return text;
}

std::shared_ptr<OpenFile> Process::Impl::open_made_up(const std::string& asked, std::uint32_t flags,
                                                      std::int64_t& error) {
  const std::string path = with_self(asked, pid);
  auto file =
      path.starts_with("/proc/self/fd/") ? open_again(path, flags, error) : open_virtual(path, flags, error);
  if (file && !file->is_directory && (flags & abi::kDirectory) != 0) {
    error = -ENOTDIR;
    return nullptr;
  }
  return file;
}

std::shared_ptr<OpenFile> Process::Impl::open_virtual(const std::string& asked, std::uint32_t flags,
                                                      std::int64_t& error) {
  const std::string path = with_self(asked, pid);
  constexpr std::string_view kDescriptor = "/proc/self/fd/";
  if (path.starts_with(kDescriptor)) {
    std::int64_t fd = -1;
    const char* begin = path.data() + kDescriptor.size();
    const auto parsed = std::from_chars(begin, path.data() + path.size(), fd);
    if (parsed.ec != std::errc{} || parsed.ptr != path.data() + path.size()) return nullptr;
    return files.find(fd);
  }
  if (auto file = open_name(path, flags)) return file;
  if ((flags & abi::kAccessMask) != abi::kReadOnly || (flags & abi::kTruncate) != 0) {
    error = -EACCES;
    return nullptr;
  }
  if (path == "/proc/self/exe") {
    OwnedFd fd(::open(options.program.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) {
      error = -errno;
      return nullptr;
    }
    return std::make_shared<HostFile>(std::move(fd), flags & abi::kAccessMask, path);
  }
  std::string text;
  const std::string cores = options.cores == 1 ? "0\n" : fmt::format("0-{}\n", options.cores - 1);
  if (path == "/proc/self/maps") {
    text = proc_maps();
  } else if (path == "/proc/cpuinfo") {
    text = cpu_info(options.cores);
  } else if (path == "/proc/meminfo") {
    text = fmt::format("MemTotal: {:>14} kB\nMemFree: {:>15} kB\n", options.memory_bytes >> 10,
                       free_bytes() >> 10);
  } else if (path == "/proc/self/cmdline") {
    text = options.name() + '\0';
    for (const auto& argument : options.arguments) text += argument + '\0';
  } else if (path == "/proc/sys/vm/overcommit_memory") {
    text = "1\n";
  } else if (path == "/sys/devices/system/cpu/online" || path == "/sys/devices/system/cpu/possible" ||
             path == "/sys/devices/system/cpu/present") {
    text = cores;
  } else if (path == "/etc/passwd") {
    text = fmt::format(
        "root:x:0:0::/root:/bin/sh\nrubato:x:{0}:{0}::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n",
        kGuestUser);
  } else if (path == "/etc/group") {
    text = fmt::format("root:x:0:\nrubato:x:{}:\nnogroup:x:65534:\n", kGuestUser);
  } else if (auto told = proc_text(path)) {
    text = std::move(*told);
  } else {
    return open_proc_folder(path, flags);
  }
  return std::make_shared<TextFile>(std::move(text), flags & abi::kAccessMask, path);
}

}  // namespace rubato::chip
