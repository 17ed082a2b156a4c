// The text of /proc that tells of the process, its threads and the machine, as far as programs look it up.
// Every page that is mapped counts as resident, as in getrusage().
// SPDX-License-Identifier: MIT
#include "chip/os/proc_files.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kTicks = 100, kNanosecondsPerTick = 1000000000 / kTicks;
constexpr std::string_view kTasks = "/proc/self/task", kDescriptors = "/proc/self/fd",
                           kCores = "/sys/devices/system/cpu";

/// The folder of one of the cores.
bool is_core(std::string_view path, std::uint32_t cores) {
  constexpr std::string_view kCore = "/cpu";
  if (!path.starts_with(kCores) || !path.substr(kCores.size()).starts_with(kCore)) return false;
  path.remove_prefix(kCores.size() + kCore.size());
  std::uint32_t core = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), core);
  return error == std::errc{} && end == path.data() + path.size() && core < cores;
}

std::uint64_t folder_number(std::string_view name) {
  std::uint64_t number = 4000;
  for (const char letter : name) number = number * 31 + static_cast<unsigned char>(letter);
  return number & 0xffffffff;
}

char state_letter(const Thread& thread) { return thread.state == ThreadState::blocked ? 'S' : 'R'; }

}  // namespace

std::int64_t NameFile::write(std::span<const std::byte> from) {
  constexpr std::size_t kLongest = 15;
  std::string name(reinterpret_cast<const char*>(from.data()), std::min(from.size(), kLongest));
  if (const std::size_t end = name.find_first_of(std::string_view("\n\0", 2)); end != std::string::npos)
    name.resize(end);
  set_name_(name);
  return static_cast<std::int64_t>(from.size());
}

std::int64_t ListedFolder::seek(std::int64_t offset, int whence) {
  if (whence == SEEK_CUR) offset += position();
  if ((whence != SEEK_SET && whence != SEEK_CUR) || offset < 0) return -EINVAL;
  position_ = static_cast<std::size_t>(offset);
  return offset;
}

std::int64_t ListedFolder::stat(abi::Stat& result) {
  stat_of_made_up(14, folder_number(path), S_IFDIR | 0555, result);
  result.nlink = 2;
  return 0;
}

std::string Process::Impl::thread_name(const Thread& thread) const {
  const ThreadInfo& of = info(thread);
  return of.name.empty() ? options.program.substr(options.program.find_last_of('/') + 1).substr(0, 15)
                         : of.name;
}

std::string Process::Impl::proc_status(const Thread& thread) const {
  const ThreadInfo& of = info(thread);
  std::uint64_t ignored = 0, caught = 0;
  for (int signal = 1; signal <= abi::kSignals; ++signal) {
    const std::uint64_t handler = actions[static_cast<std::size_t>(signal)].handler;
    if (handler == 1) ignored |= bit_of(signal);
    if (handler > 1) caught |= bit_of(signal);
  }
  const std::uint64_t size = memory.mapped_bytes() >> 10, peak = memory.peak_mapped_bytes() >> 10;
  const std::uint64_t data = memory.writable_bytes() >> 10, stack = (stack_high - stack_low) >> 10;
  std::string text = fmt::format(
      "Name:\t{}\nUmask:\t{:04o}\nState:\t{}\nTgid:\t{}\nNgid:\t0\nPid:\t{}\nPPid:\t{}\nTracerPid:\t0\n"
      "Uid:\t{}\t{}\t{}\t{}\nGid:\t{}\t{}\t{}\t{}\nFDSize:\t{}\nGroups:\t{} \n",
      thread_name(thread), umask, state_letter(thread) == 'S' ? "S (sleeping)" : "R (running)", pid,
      thread.tid, kernel.children.at(pid).parent, kGuestUser, kGuestUser, kGuestUser, kGuestUser, kGuestUser,
      kGuestUser, kGuestUser, kGuestUser, std::max<std::int64_t>(64, files.size()), kGuestUser);
  text += fmt::format(
      "VmPeak:\t{:8} kB\nVmSize:\t{:8} kB\nVmLck:\t{:8} kB\nVmPin:\t{:8} kB\nVmHWM:\t{:8} kB\nVmRSS:\t{:8} "
      "kB\n"
      "RssAnon:\t{:8} kB\nRssFile:\t{:8} kB\nRssShmem:\t{:8} kB\nVmData:\t{:8} kB\nVmStk:\t{:8} kB\n"
      "VmExe:\t{:8} kB\nVmLib:\t{:8} kB\nVmPTE:\t{:8} kB\nVmSwap:\t{:8} kB\nThreads:\t{}\n",
      peak, size, 0, 0, peak, size, data, size - data, 0, data, stack, size - data, 0, size / 512, 0,
      live_threads());
  const std::uint32_t last = options.cores - 1;
  return text +
         fmt::format(
             "SigQ:\t{}/{}\nSigPnd:\t{:016x}\nShdPnd:\t{:016x}\nSigBlk:\t{:016x}\nSigIgn:\t{:016x}\n"
             "SigCgt:\t{:016x}\nCapInh:\t{:016x}\nCapPrm:\t{:016x}\nCapEff:\t{:016x}\nNoNewPrivs:\t{}\n"
             "Seccomp:\t0\nCpus_allowed_list:\t{}\nMems_allowed_list:\t0\n",
             pending.size() + of.pending.size(), most_pending, of.pending.mask(), pending.mask(),
             thread.signal_mask, ignored, caught, 0, 0, 0, settings.has_no_new_privileges ? 1 : 0,
             last == 0 ? "0" : fmt::format("0-{}", last));
}

std::string Process::Impl::proc_stat(const Thread& thread, bool of_process) {
  const std::uint64_t ran = (of_process ? cpu_time() : cpu_time(thread)) / kNanosecondsPerTick;
  const std::uint64_t core = thread.core == Thread::kNoCore ? 0 : thread.core;
  // pid comm state ppid pgrp session tty tpgid flags; faults; times; priority nice threads; start; sizes; ...
  return fmt::format(
      "{} ({}) {} {} {} {} 0 -1 4194304 0 0 0 0 {} 0 0 0 {} {} {} 0 0 {} {} 18446744073709551615 {} {} {} 0 "
      "0 "
      "0 0 0 0 "
      "0 0 0 17 {} 0 0 0 0 0 {} {} {} 0 0 0 0 0\n",
      thread.tid, thread_name(thread), state_letter(thread), kernel.children.at(pid).parent,
      kernel.children.at(pid).group, kernel.children.at(pid).session, ran, 20 + nice, nice, live_threads(),
      memory.mapped_bytes(), memory.mapped_bytes() / AddressSpace::kPageBytes, program.entry, brk_start,
      stack_high, core, brk_start, brk_start, brk_now);
}

std::string Process::Impl::proc_limits() const {
  struct Row {
    const char *name, *units;
  };
  static constexpr Row kRows[] = {
      // by their numbers
      {"Max cpu time", "seconds"},    {"Max file size", "bytes"},      {"Max data size", "bytes"},
      {"Max stack size", "bytes"},    {"Max core file size", "bytes"}, {"Max resident set", "bytes"},
      {"Max processes", "processes"}, {"Max open files", "files"},     {"Max locked memory", "bytes"},
      {"Max address space", "bytes"}, {"Max file locks", "locks"},     {"Max pending signals", "signals"},
      {"Max msgqueue size", "bytes"}, {"Max nice priority", ""},       {"Max realtime priority", ""},
      {"Max realtime timeout", "us"},
  };
  const auto text_of = [](std::uint64_t value) {
    return value == ~std::uint64_t{0} ? std::string("unlimited") : std::to_string(value);
  };
  std::string text = fmt::format("{:25} {:20} {:20} {:10}\n", "Limit", "Soft Limit", "Hard Limit", "Units");
  std::uint32_t which = 0;
  for (const auto& [name, units] : kRows) {
    const abi::ResourceLimit now = limit(which++);
    text += fmt::format("{:25} {:20} {:20} {:10}\n", name, text_of(now.now), text_of(now.most), units);
  }
  return text;
}

std::string Process::Impl::proc_machine(std::string_view path) {
  const std::uint64_t time = now();
  if (path == "/proc/stat") {
    std::string text, cores;
    std::uint64_t ran = 0;
    for (const auto& thread : threads) ran += cpu_time(*thread) / kNanosecondsPerTick;
    const std::uint64_t all = time / kNanosecondsPerTick * options.cores, idle = all - std::min(all, ran);
    for (std::uint32_t core = 0; core < options.cores; ++core)
      cores += fmt::format("cpu{} {} 0 0 {} 0 0 0 0 0 0\n", core, ran / options.cores, idle / options.cores);
    return fmt::format(
        "cpu  {} 0 0 {} 0 0 0 0 0 0\n{}intr 0\nctxt 0\nbtime {}\nprocesses {}\nprocs_running 1\n"
        "procs_blocked 0\n",
        ran, idle, cores, clock_value(0, *threads.front()).value_or(0) / 1000000000 - time / 1000000000,
        kernel.made + 1);
  }
  if (path == "/proc/uptime")
    return fmt::format("{}.{:02} {}.{:02}\n", time / 1000000000, time / 10000000 % 100, 0, 0);
  if (path == "/proc/loadavg") return fmt::format("0.00 0.00 0.00 1/{} {}\n", live_threads(), pid);
  if (path == "/proc/version") return "Linux version 6.1.0 (rubato) (gcc) #1 SMP\n";
  if (path == "/proc/mounts" || path == "/proc/self/mounts") return "rubato / ext4 rw,relatime 0 0\n";
  if (path == "/proc/filesystems") return "nodev\tproc\nnodev\ttmpfs\n\text4\n";
  if (path == "/proc/sys/kernel/osrelease") return "6.1.0\n";
  if (path == "/proc/sys/kernel/ostype") return "Linux\n";
  if (path == "/proc/sys/kernel/hostname") return "rubato\n";
  if (path == "/proc/sys/kernel/pid_max" || path == "/proc/sys/kernel/threads-max") return "32768\n";
  if (path == "/proc/sys/net/core/somaxconn") return "4096\n";
  if (path == "/proc/sys/fs/pipe-max-size") return fmt::format("{}\n", PipeBuffer::kMostCapacity);
  return {};
}

std::string Process::Impl::proc_auxiliary() const {
  // Behind argc, the arguments and the environment, each with its null.
  Addr at = initial_sp + 8;
  for (unsigned nulls = 0; nulls < 2; at += 8) {
    const auto word = user.get<std::uint64_t>(at);
    if (!word) return {};
    if (*word == 0) ++nulls;
  }
  std::string text;
  std::uint64_t type = AT_NULL + 1;
  while (type != AT_NULL) {
    std::array<std::uint64_t, 2> entry{};
    if (!user.read(at, entry.data(), sizeof entry)) return {};
    text.append(reinterpret_cast<const char*>(entry.data()), sizeof entry);
    type = entry[0];
    at += sizeof entry;
  }
  return text;
}

std::string Process::Impl::proc_smaps() const {
  std::string text;
  const std::string maps = proc_maps();
  for (std::size_t at = 0; at < maps.size();) {
    const std::size_t end = maps.find('\n', at) + 1;
    Addr low = 0, high = 0;
    const char* const line = maps.data() + at;
    const auto first = std::from_chars(line, maps.data() + end, low, 16);
    std::from_chars(first.ptr + 1, maps.data() + end, high, 16);
    const std::uint64_t size = (high - low) >> 10;
    text.append(maps, at, end - at);
    text += fmt::format(
        "Size:           {:8} kB\nKernelPageSize:        4 kB\nMMUPageSize:           4 kB\n"
        "Rss:            {:8} kB\nPss:            {:8} kB\nSwap:                  0 kB\n",
        size, size, size);
    at = end;
  }
  return text;
}

std::vector<ListedFile> Process::Impl::list_proc_folder(const std::string& path) {
  std::vector<ListedFile> entries;
  constexpr std::uint8_t kFolder = 4, kRegular = 8, kLink = 10;
  const auto add = [&](const std::string& name, std::uint8_t type) {
    entries.push_back({folder_number(path + "/" + name), type, name});
  };
  add(".", kFolder);
  add("..", kFolder);
  if (path == kDescriptors) {
    for (std::int64_t fd = 0; fd < files.size(); ++fd)
      if (files.find(fd)) add(std::to_string(fd), kLink);
  } else if (path == kTasks) {
    for (const auto& thread : threads)
      if (thread->state != ThreadState::exited && is_own(*thread)) add(std::to_string(thread->tid), kFolder);
  } else if (path == kCores) {
    for (std::uint32_t core = 0; core < options.cores; ++core) add(fmt::format("cpu{}", core), kFolder);
    for (const char* name : {"online", "possible", "present"}) add(name, kRegular);
  } else if (path.starts_with(kTasks)) {
    for (const char* name : {"comm", "stat", "status"}) add(name, kRegular);
  }
  return entries;
}

std::shared_ptr<OpenFile> Process::Impl::open_proc_folder(const std::string& path, std::uint32_t flags) {
  const bool is_there = path == kDescriptors || path == kTasks || path == kCores ||
                        is_core(path, options.cores) || thread_of_task(path, "") != nullptr;
  if (!is_there) return nullptr;
  // A process that inherits the descriptor lists what the one that opened it has, as long as that one runs.
  return std::make_shared<ListedFolder>(
      [&kernel = kernel, own = pid, path] {
        Impl* const process = kernel.find(own);
        return process != nullptr ? process->list_proc_folder(path) : std::vector<ListedFile>{};
      },
      flags & abi::kAccessMask, path);
}

Thread* Process::Impl::thread_of_task(std::string_view path, std::string_view file) {
  if (!path.starts_with(kTasks) || !path.ends_with(file)) return nullptr;
  path.remove_prefix(kTasks.size());
  path.remove_suffix(file.size());
  int tid = 0;
  if (path.size() < 2 || path[0] != '/') return nullptr;
  const auto [end, error] = std::from_chars(path.data() + 1, path.data() + path.size(), tid);
  return error == std::errc{} && end == path.data() + path.size() ? find_thread(tid) : nullptr;
}

std::shared_ptr<OpenFile> Process::Impl::open_name(const std::string& path, std::uint32_t flags) {
  const Thread* const thread = path == "/proc/self/comm" ? &main_thread() : thread_of_task(path, "/comm");
  if (thread == nullptr) return nullptr;
  // The thread may have ended when the name is written: its information stays.
  ThreadInfo& of = info(*thread);
  return std::make_shared<NameFile>(
      thread_name(*thread), [&of](const std::string& name) { of.name = name; }, flags & abi::kAccessMask,
      path);
}

std::optional<std::string> Process::Impl::proc_text(const std::string& path) {
  const Thread& main = main_thread();
  if (path == "/proc/self/status") return proc_status(main);
  if (path == "/proc/self/stat") return proc_stat(main, true);
  if (const Thread* thread = thread_of_task(path, "/status")) return proc_status(*thread);
  if (const Thread* thread = thread_of_task(path, "/stat")) return proc_stat(*thread, false);
  if (path == "/proc/self/statm") {
    const std::uint64_t pages = memory.mapped_bytes() / AddressSpace::kPageBytes,
                        data = memory.writable_bytes() / AddressSpace::kPageBytes;
    return fmt::format("{} {} {} {} 0 {} 0\n", pages, pages, pages - data, pages - data, data);
  }
  if (path == "/proc/self/environ") {
    std::string text;
    for (const auto& variable : options.environment) text += variable + '\0';
    return text;
  }
  if (path == "/proc/self/limits") return proc_limits();
  if (path == "/proc/self/auxv") return proc_auxiliary();
  if (path == "/proc/self/smaps") return proc_smaps();
  if (std::string text = proc_machine(path); !text.empty()) return text;
  return std::nullopt;
}

// An open of what a descriptor of the program has open: anew, with a position, access and status of its own.
std::shared_ptr<OpenFile> Process::Impl::open_again(const std::string& path, std::uint32_t flags,
                                                    std::int64_t& error) {
  const auto open = open_virtual(path, abi::kReadOnly, error);
  if (!open) return nullptr;
  const bool writes = (flags & abi::kAccessMask) != abi::kReadOnly || (flags & abi::kTruncate) != 0;
  const std::uint32_t kept = flags & (abi::kAccessMask | abi::kAppend | abi::kNonBlock | abi::kDirect |
                                      abi::kPath | abi::kDirectory);
  if (auto* const pipe = dynamic_cast<PipeEnd*>(open.get())) return pipe->open_again(kept);
  const bool has_path = (flags & abi::kPath) != 0;
  if (open->host_fd() >= 0) {
    const bool is_device = !open->may_modify && open->path.starts_with("/dev/");
    if (writes && !has_path && !open->may_modify && !is_device) {
      error = open->is_directory ? -EISDIR : -EACCES;
      return nullptr;
    }
    const std::string host = fmt::format("/proc/self/fd/{}", open->host_fd());
    const std::uint32_t meant = flags & ~(abi::kCreate | abi::kExclusive | abi::kNoFollow);
    OwnedFd fd(::open(host.c_str(), host_open_flags(meant) & ~O_NOFOLLOW));
    if (!fd) {
      error = -errno;
      return nullptr;
    }
    auto file = std::make_shared<HostFile>(std::move(fd), kept, open->path);
    file->may_modify = open->may_modify;
    if ((flags & abi::kTruncate) != 0) file_changed(*file);
    return file;
  }
  if (dynamic_cast<StandardStream*>(open.get()) != nullptr) {  // a stream has no position to have anew
    if ((writes && !open->can_write()) ||
        ((flags & abi::kAccessMask) == abi::kReadOnly && !open->can_read())) {
      error = -EACCES;
      return nullptr;
    }
    return open;
  }
  if (dynamic_cast<RandomFile*>(open.get()) != nullptr)
    return std::make_shared<RandomFile>(rng, kept, open->path);
  if (open->path.starts_with("/proc/") || open->path.starts_with("/sys/"))
    return open_virtual(open->path, flags, error);
  error = -ENXIO;  // a socket, a counter, a set: nothing that a path leads to
  return nullptr;
}

}  // namespace rubato::chip
