// The state of a process in checkpoints: memory, files, signals, and its output so far. Its threads are in
// thread_checkpoint.cpp.
// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "chip/memory/checkpoint_file.hpp"
#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr int kStreams = 3;
constexpr std::uint64_t kNoPosition = ~std::uint64_t{0};
constexpr std::string_view kChipFiles[] = {"/proc/cpuinfo", "/sys/devices/system/cpu"};

[[noreturn]] void refuse(std::string_view what) {
  throw UsageError("a checkpoint cannot be taken: {}", what);
}

/// A lock of its owner ends with the file's last descriptor, so that none is missed.
bool is_locked(FileLocks& locks, const OpenFile& file) {
  const auto id = id_of(file);
  return id && locks.is_locked(*id);
}

std::uint64_t size_of(OpenFile& file) {
  abi::Stat now{};
  return file.stat(now) == 0 ? static_cast<std::uint64_t>(now.size) : 0;
}

/// A file that has changed would give the program another one's contents, from its middle on.
void check_size(const CheckpointReader& file, const std::string& path, std::uint64_t then,
                std::uint64_t now) {
  if (then == now) return;
  throw UsageError("{}: {} had {} bytes when the checkpoint was taken and has {} now: take it anew",
                   file.path().string(), path, then, now);
}

std::uint64_t system_call_of(const Thread& thread) { return thread.regs.x[reg::a7]; }

}  // namespace

// The cores that a thread may use, other threads, and files that list the chip's cores.
Process::ChipCall Process::chip_call(const Thread& thread) const {
  constexpr std::uint64_t kOpenat = 56, kSetAffinity = 122, kGetAffinity = 123, kGetcpu = 168, kClone = 220,
                          kExecve = 221, kMark = 250, kExecveat = 281, kClone3 = 435;
  switch (system_call_of(thread)) {
    case kSetAffinity:
    case kGetAffinity:
    case kGetcpu:
      return ChipCall::asks;
    case kClone:
    case kClone3:
    case kExecve:
    case kExecveat:
      return ChipCall::starts;
    case kMark:
      return ChipCall::marks;
    case kOpenat: {
      const auto path = kernel_->process_of(thread).user.string(thread.regs.x[reg::a1], 4096);
      const bool is_of_chip =
          path && std::any_of(std::begin(kChipFiles), std::end(kChipFiles),
                              [&](std::string_view file) { return path->starts_with(file); });
      return is_of_chip ? ChipCall::asks : ChipCall::none;
    }
    default:
      return ChipCall::none;
  }
}

void Process::keep_output() {
  for (int fd = 1; fd < kStreams; ++fd) {
    const auto stream = std::dynamic_pointer_cast<StandardStream>(impl_->files.find(fd));
    if (stream != nullptr) stream->keep_written();
  }
}

void Process::save(CheckpointWriter& file) const {
  const Impl& p = *impl_;
  if (kernel_->made != 0) refuse("the program has started other processes");
  if (kernel_->first_image != nullptr) refuse("the program has executed another program");
  const auto is_any = [&](auto&& is) { return std::any_of(p.infos.begin(), p.infos.end(), is); };
  if (!p.pending.empty() || is_any([](const ThreadInfo& info) { return !info.pending.empty(); }))
    refuse("a signal is on its way");
  if (is_any([](const ThreadInfo& info) { return info.transfer != nullptr; }))
    refuse("a thread waits for the disk");
  if (is_any([](const ThreadInfo& info) { return !info.wait.keys.empty(); }))
    refuse("a thread waits for several futexes");
  if (!p.limits.empty() || p.nice != 0)
    refuse("the program has set a limit of its resources, or its priority");
  if (!kernel_->fifos.empty()) refuse("the program has made a FIFO");
  if (!kernel_->ipc.empty() || !kernel_->posix_queues.empty())
    refuse("the program has made shared memory, semaphores or a queue of messages");
  const bool has_itimer = std::any_of(p.itimers.begin(), p.itimers.end(),
                                      [](const IntervalTimer& timer) { return timer.next.has_value(); });
  if (has_itimer || !p.posix_timers.empty()) refuse("a timer of the program runs");
  const auto views = p.memory.file_views().in(0, AddressSpace::kSize);
  for (const auto& range : views) {
    if (!range.view.file) continue;
    if (range.view.is_shared && range.view.file->is_writable())
      refuse("the program has mapped a file shared and writable");
    if (!range.view.file->path().starts_with('/') || range.view.file->path().starts_with("/memfd:"))
      refuse("the program has mapped a file without a name");
  }

  std::array<std::shared_ptr<StandardStream>, kStreams> streams;
  for (int fd = 0; fd < kStreams; ++fd) {
    streams[static_cast<std::size_t>(fd)] = std::dynamic_pointer_cast<StandardStream>(p.files.find(fd));
    if (streams[static_cast<std::size_t>(fd)] == nullptr)
      refuse(fmt::format("the program has closed or redirected its descriptor {}", fd));
  }
  if (streams[0]->was_read()) refuse("the program has read its standard input");

  file.object(p.actions);
  file.number(p.brk_now);
  file.number(p.brk_mapped);
  file.text(p.directory);
  file.number(p.umask);
  for (const std::uint64_t limit : {p.files.most, p.files.most_hard, p.most_pending, p.most_pending_hard})
    file.number(limit);
  file.number(p.next_pipe);
  const auto [last_socket, next_port] = p.network.numbers();
  file.number(last_socket);
  file.number(next_port);
  file.object(p.rng);
  file.number(p.unknown.size());
  for (const auto& [number, count] : p.unknown) file.number(number), file.number(count);
  p.memory.save(file);
  file.number(views.size());
  for (const auto& range : views) {
    file.number(range.begin);
    file.number(range.end - range.begin);
    file.number(range.attributes);
    file.number(range.view.is_shared ? 1 : 0);
    file.number(range.view.offset);
    file.text(range.view.file ? range.view.file->path() : "");
    file.number(range.view.file ? range.view.file->bytes() : 0);
  }
  p.save_threads(file);
  file.text(streams[1]->written());
  file.text(streams[2]->written());

  for (std::int64_t fd = kStreams; fd < p.files.size(); ++fd) {
    const auto open = p.files.find(fd);
    if (open == nullptr) continue;
    if (open->as_socket() != nullptr) refuse(fmt::format("descriptor {} is a socket", fd));
    if (open->path.empty()) refuse(fmt::format("descriptor {} is a pipe or a counter", fd));
    if (open->can_write()) refuse(fmt::format("{} is open for writing", open->path));
    if (open.use_count() > 2) refuse(fmt::format("{} is open under several descriptors", open->path));
    if (is_locked(kernel_->locks, *open)) refuse(fmt::format("{} is locked", open->path));
    if (open->is_directory) refuse(fmt::format("the directory {} is open", open->path));
    const std::int64_t position = open->seek(0, SEEK_CUR);
    file.number(static_cast<std::uint64_t>(fd));
    file.text(open->path);
    file.number(size_of(*open));
    file.number(open->flags);
    file.number(position < 0 ? kNoPosition : static_cast<std::uint64_t>(position));
    file.number(const_cast<Impl&>(p).files.entry(fd)->closes_on_exec ? 1 : 0);
  }
  file.number(kNoPosition);
}

void Process::print_restored() {
  int fd = 1;
  for (std::string& text : impl_->printed_before) {
    if (!text.empty()) impl_->files.find(fd)->write(std::as_bytes(std::span(text)));
    text.clear();
    ++fd;
  }
}

void Process::Impl::restore_view(CheckpointReader& file) {
  const Addr begin = file.number();
  const std::uint64_t bytes = file.number();
  const auto attributes = static_cast<std::uint8_t>(file.number());
  FileView view;
  view.is_shared = file.number() != 0;
  view.offset = file.number();
  const std::string path = file.text();
  const std::uint64_t size = file.number();
  if (bytes == 0 || ((begin | bytes) & AddressSpace::kPageMask) != 0 || !memory.all_mapped(begin, bytes))
    file.refuse_damaged();
  if (!path.empty()) {
    const std::int64_t fd = open_path(nullptr, abi::kAtCwd, path, abi::kReadOnly, 0);
    const bool is_open = fd >= 0 && mapped_file(*files.find(fd), view.file) == 0;
    if (fd >= 0) files.close(fd);
    if (!is_open)
      throw UsageError("{}: the program had {} mapped, which cannot be opened", file.path().string(), path);
    check_size(file, path, size, view.file->bytes());
  }
  if (memory.put_under(begin, bytes, attributes, view) != 0)
    throw UsageError("{}: the host does not map {}, which the program had mapped", file.path().string(),
                     path);
}

void Process::restore(CheckpointReader& file) {
  Impl& p = *impl_;
  p.actions = file.object<decltype(p.actions)>();
  p.brk_now = file.number();
  p.brk_mapped = file.number();
  p.directory = file.text();
  p.umask = static_cast<std::uint32_t>(file.number());
  const std::uint64_t most_files = file.number(), most_files_hard = file.number();
  p.most_pending = file.number();
  p.most_pending_hard = file.number();
  p.next_pipe = file.number();
  const std::uint64_t last_socket = file.number();
  p.network.continue_with(last_socket, static_cast<std::uint16_t>(file.number()));
  file.bytes(std::as_writable_bytes(std::span(&p.rng, 1)));
  p.unknown.clear();
  for (std::uint64_t left = file.number(); left != 0; --left) {
    const std::uint64_t number = file.number();
    p.unknown[number] = file.number();
  }
  p.memory.restore(file);
  for (std::uint64_t left = file.number(); left != 0; --left) p.restore_view(file);
  p.restore_threads(file);
  for (std::string& text : p.printed_before) text = file.text();
  for (std::uint64_t fd = file.number(); fd != kNoPosition; fd = file.number()) {
    const std::string path = file.text();
    const std::uint64_t size = file.number();
    const auto flags = static_cast<std::uint32_t>(file.number());
    const std::uint64_t position = file.number();
    const bool closes_on_exec = file.number() != 0;
    const std::int64_t opened = p.open_path(nullptr, abi::kAtCwd, path, flags, 0);
    if (opened < 0 || fd >= FileTable::kLimit)
      throw UsageError("{}: the program had {} open, which cannot be opened", file.path().string(), path);
    FileTable::Entry entry = *p.files.entry(opened);
    check_size(file, path, size, size_of(*entry.file));
    p.files.close(opened);
    entry.closes_on_exec = closes_on_exec;
    if (position != kNoPosition) entry.file->seek(static_cast<std::int64_t>(position), SEEK_SET);
    p.files.put(static_cast<std::int64_t>(fd), std::move(entry));
  }
  p.files.most = std::min<std::uint64_t>(most_files, FileTable::kLimit);  // at last: it bounds no open files
  p.files.most_hard = std::min<std::uint64_t>(most_files_hard, FileTable::kLimit);
}

}  // namespace rubato::chip
