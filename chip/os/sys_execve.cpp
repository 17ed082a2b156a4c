// execve: a process goes on with another program, a static one or a script whose interpreter is one, in
// memory of its own.
// Invariant: until the program is loaded nothing of the caller has changed, so an error leaves it as it was.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/syscall_names.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kLongestString = 32 * AddressSpace::kPageBytes;  // as Linux
constexpr unsigned kMostScripts = 4;  // an interpreter that is a script itself, and so on

/// The interpreter of a script and its argument, or nothing.
std::vector<std::string> interpreter_of(const std::string& host_path) {
  constexpr std::size_t kLine = 256;
  std::array<char, kLine> line{};
  const OwnedFd fd(::open(host_path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const ssize_t got = fd ? ::read(fd.get(), line.data(), line.size()) : 0;
  std::string_view text(line.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (!text.starts_with("#!")) return {};
  text = text.substr(2, text.substr(2).find_first_of(std::string_view("\n\0", 2)));
  const auto trim = [](std::string_view part) {
    const std::size_t first = part.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return std::string_view{};
    return part.substr(first, part.find_last_not_of(" \t\r") - first + 1);
  };
  text = trim(text);
  const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
  std::vector<std::string> words{std::string(text.substr(0, end))};
  if (const std::string_view argument = trim(text.substr(end)); !argument.empty())
    words.emplace_back(argument);
  return words;
}

}  // namespace

// A program that was given a name is not told where it is: nothing of its run depends on that then.
std::string own_path(const ProcessOptions& options) {
  if (!options.executed_path.empty()) return options.executed_path;
  if (!options.argv0.empty()) return options.argv0.starts_with('/') ? options.argv0 : "/" + options.argv0;
  char* const path = ::realpath(options.program.c_str(), nullptr);
  std::string text = path != nullptr ? path : "";
  std::free(path);
  return text;
}

Process::Impl::Impl(const Impl& before, ProcessOptions its_options, std::shared_ptr<GuestSpace> its_space)
    : kernel(before.kernel),
      pid(before.pid),
      options(std::move(its_options)),
      space(std::move(its_space)),
      memory(space->memory),
      user(memory),
      actions(before.actions),
      limits(before.limits),
      settings(before.settings),
      nice(before.nice),
      pending(before.pending),
      most_pending(before.most_pending),
      most_pending_hard(before.most_pending_hard),
      itimers(before.itimers),
      timer_files(before.timer_files),
      file_table(std::make_shared<FileTable>(*before.file_table)),
      directory(before.directory),
      umask(before.umask),
      waited_nanoseconds(before.waited_nanoseconds) {
  user.observe(kernel.access_observer);
  settings.keeps_capabilities = false;
  settings.is_dumpable = true;
  load();
  files.close_on_exec();
  for (auto& action : actions) {
    const std::uint64_t handler = action.handler;
    action = {};
    if (handler == 1) action.handler = 1;
  }
}

std::int64_t Process::Impl::read_strings(Addr list, std::uint64_t& room,
                                         std::vector<std::string>& result) const {
  constexpr std::uint64_t kPointers = 16;
  if (list == 0) return 0;
  for (Addr at = list;; at += 8) {
    const auto text_at = user.get<std::uint64_t>(at);
    if (!text_at) return -EFAULT;
    if (*text_at == 0) return 0;
    const auto text = user.string(*text_at, kLongestString);
    if (!text) return -EFAULT;
    const std::uint64_t needed = text->size() + kPointers;
    if (text->size() >= kLongestString || needed > room) return -E2BIG;
    room -= needed;
    result.push_back(*text);
  }
}

std::int64_t Process::Impl::program_file(std::int32_t from, const std::string& path, ProgramFile& result) {
  if (!path.empty() && path == kernel.begun_path) {
    result = {kernel.begun_file, path};
    return 0;
  }
  ResolvedPath where;
  if (const auto error = resolve(from, path, PathResolver::Follow::yes, where); error < 0) return error;
  if (where.is_virtual) {
    if (where.absolute != "/proc/self/exe") return -EACCES;
    result = {options.program, own_path(options)};
    return 0;
  }
  abi::Stat info{};
  if (const auto error = stat_of_host_path(where.parent.get(), where.name.c_str(), info); error < 0)
    return error;
  if (where.wants_directory && !S_ISDIR(info.mode)) return -ENOTDIR;
  if (!S_ISREG(info.mode)) return -EACCES;
  if (const auto error = check_access(where, info, X_OK); error < 0) return error;
  std::error_code failed;
  const auto folder =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", where.parent.get()), failed);
  if (failed) return -EACCES;
  result = {(folder / where.name).string(), where.absolute};
  return 0;
}

std::int64_t Process::Impl::sys_execve(Call& call) {
  call.a = {static_cast<std::uint64_t>(std::int64_t{abi::kAtCwd}), call.a[0], call.a[1], call.a[2], 0, 0};
  return sys_execveat(call);
}

std::int64_t Process::Impl::sys_execveat(Call& call) {
  if ((call.u32(4) & ~(abi::kAtEmptyPath | abi::kAtSymlinkNoFollow)) != 0) return -EINVAL;
  const auto path = user.string(call.a[1], PATH_MAX);
  if (!path) return -EFAULT;
  if (path->size() >= PATH_MAX) return -ENAMETOOLONG;
  if (const auto error = refuse_processes(call); error < 0) return error;
  if ((call.u32(4) & abi::kAtSymlinkNoFollow) != 0) return not_implemented(call, "execveat of no link");
  const auto open = files.find(call.i32(0));
  const bool is_open = path->empty() && call.u32(4) != 0;
  if (is_open && (!open || open->path.empty())) return open ? -EACCES : -EBADF;
  ProgramFile file;
  if (const auto error = program_file(call.i32(0), is_open ? open->path : *path, file); error < 0)
    return error;
  // The stack holds at most a quarter of itself, and other things beside them.
  constexpr std::uint64_t kBeside = 3 * AddressSpace::kPageBytes;
  std::uint64_t room = options.stack_bytes / 4 - kBeside;
  std::vector<std::string> arguments, environment;
  if (const auto error = read_strings(call.a[2], room, arguments); error < 0) return error;
  if (const auto error = read_strings(call.a[3], room, environment); error < 0) return error;
  if (arguments.empty()) arguments.emplace_back();

  std::string shown = *path;  // as the interpreter gets it
  for (unsigned scripts = 0;; ++scripts) {
    std::vector<std::string> words = interpreter_of(file.host);
    if (words.empty()) break;
    if (scripts == kMostScripts) return -ELOOP;
    if (words.front().empty()) return -ENOEXEC;
    arguments.front() = shown;
    arguments.insert(arguments.begin(), words.begin(), words.end());
    shown = words.front();
    if (const auto error = program_file(abi::kAtCwd, words.front(), file); error < 0) return error;
  }
  ProcessOptions its_options = options;
  its_options.program = file.host;
  its_options.executed_path = file.guest.empty() ? shown : file.guest;
  its_options.argv0 = arguments.front();
  its_options.arguments.assign(arguments.begin() + 1, arguments.end());
  its_options.environment = std::move(environment);
  if (2 * its_options.argv0.size() + its_options.executed_path.size() > room) return -E2BIG;
  return execute(call, std::move(its_options));
}

std::int64_t Process::Impl::execute(Call& call, ProcessOptions its_options) {
  std::int64_t error = 0;
  auto its_space = make_space(call, error);
  if (its_space == nullptr) return error;
  std::unique_ptr<Impl> after;
  try {
    after = std::make_unique<Impl>(*this, std::move(its_options), its_space);
    if (after->program.symbols.find("rubato_task_region"))
      throw UsageError("{}: the program has tasks, which run only in the process that a run begins with",
                       after->options.program);
  } catch (const UsageError& refused) {
    log(fmt::format("system call {} by thread {} got ENOEXEC: {}", syscall_name(call.number), call.thread.tid,
                    refused.what()));
    return -ENOEXEC;
  }

  release_robust_list(call.thread);
  end_threads(&call.thread);
  Thread& main = main_thread();
  if (&main != &call.thread) {  // the caller gets the number of the process
    main.signal_mask = call.thread.signal_mask;
    main.affinity = call.thread.affinity;
    call.thread.state = ThreadState::exited;
    main.state = ThreadState::runnable;
  }
  ThreadInfo& of_main = info(main);
  of_main.name.clear();
  of_main.alternate_stack = {0, abi::kSsDisable, 0, 0};
  of_main.restores_mask = false;
  main.regs = HartState{};
  main.regs.pc = after->program.start;
  main.regs.x[reg::sp] = after->initial_sp;
  main.clear_child_tid = main.robust_list = 0;
  main.stack_low = after->stack_low;
  main.stack_high = after->stack_high;
  main.space = its_space.get();
  release_vfork_waiter();
  kernel.children.at(pid).has_executed = true;
  for (std::int64_t fd = 0; fd < files.size(); ++fd)
    if (const auto* const entry = files.entry(fd); entry != nullptr && entry->closes_on_exec)
      note_close(*entry->file);
  close_files();
  note_left();
  if (space == nullptr && !shares_memory()) release_program_memory();
  std::unique_ptr<Impl>& here = kernel.processes.at(pid);
  // Reports go on to name functions of the program that was started.
  std::unique_ptr<Impl>& place =
      is_first() && kernel.first_image == nullptr ? kernel.first_image : kernel.buried.emplace_back();
  place = std::move(here);  // this function is its own
  here = std::move(after);
  kernel.drop_removed_segments();
  call.outcome = &main == &call.thread ? SyscallOutcome::moved : SyscallOutcome::thread_exited;
  if (&main != &call.thread && observer != nullptr) observer->on_runnable(main);
  return 0;
}

void Process::Impl::release_program_memory() {
  const std::map<Addr, Addr> regions = memory.regions();
  for (const auto& [begin, end] : regions) memory.unmap(begin, end - begin);
}

}  // namespace rubato::chip
