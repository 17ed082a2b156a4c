// SPDX-License-Identifier: MIT
#include "tm/profile/file.hpp"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "tm/failure.hpp"
#include "tm/thread/records.hpp"

namespace rubato::tm::profile {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Header* mapped = nullptr;
int file = -1;
bool has_file = false;
char name[PATH_MAX];
pthread_mutex_t modules_lock = PTHREAD_MUTEX_INITIALIZER;

/// Zeros at `offset` of the file, or anonymous ones; null if there is no room.
void* map(std::size_t offset, std::size_t bytes) {
  if (has_file) {
    // Room is taken now: a full disk is an error here, and not a signal at some later store.
    errno = ::posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (errno != 0) return nullptr;
  }
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, has_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS,
             file, has_file ? static_cast<off_t>(offset) : 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

bool open_alone(const char* path) {
  file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return false;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return ::ftruncate(file, 0) == 0;
  ::close(file);
  file = -1;
  errno = EWOULDBLOCK;
  return false;
}

/// The file, or, where a process is writing it already, FILE.PID.
bool open_file() {
  if (open_alone(name)) return true;
  if (errno != EWOULDBLOCK) return false;
  char own[PATH_MAX];
  std::snprintf(own, sizeof own, "%.*s.%d", PATH_MAX - 16, name, static_cast<int>(::getpid()));
  return open_alone(own);
}

bool make_header(std::uint64_t stacks_every) {
  mapped = static_cast<Header*>(map(0, pages(sizeof(Header))));
  if (mapped == nullptr) return false;
  mapped->process = static_cast<Word>(::getpid());
  mapped->header_bytes = pages(sizeof(Header));
  mapped->block_bytes = pages(sizeof(Block));
  mapped->stacks_every = stacks_every;
  mapped->stripe = records.stripe();
  note_time();
  mapped->start_ns = mapped->last_ns;
  mapped->start_ticks = mapped->last_ticks;
  std::memcpy(mapped->magic, kMagic, sizeof kMagic);
  return true;
}

const Module* find(std::uintptr_t address) {
  for (Word i = 0; i < mapped->modules; ++i) {
    if (address >= mapped->module[i].begin && address < mapped->module[i].end) return &mapped->module[i];
  }
  return nullptr;
}

int add_module(dl_phdr_info* info, std::size_t, void* wanted) {
  Word begin = ~Word{0}, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const Word at = info->dlpi_addr + part.p_vaddr;
    if (at < begin) begin = at;
    if (at + part.p_memsz > end) end = at + part.p_memsz;
  }
  const Word address = *static_cast<const std::uintptr_t*>(wanted);
  if (address < begin || address >= end) return 0;
  if (mapped->modules == kModules) return 1;
  Module& module = mapped->module[mapped->modules];
  module.begin = begin;
  module.end = end;
  module.bias = info->dlpi_addr;
  if (info->dlpi_name != nullptr && *info->dlpi_name != '\0') {
    std::snprintf(module.path, kPath, "%s", info->dlpi_name);
  } else if (::readlink("/proc/self/exe", module.path, kPath - 1) < 0) {
    module.path[0] = '\0';
  }
  ++mapped->modules;
  return 1;
}

}  // namespace

bool open(const char* path, std::uint64_t stacks_every) {
  has_file = path != nullptr;
  if (has_file) {
    std::snprintf(name, sizeof name, "%s", path);
    if (!open_file()) {
      warn("the profile %s cannot be written (%s): there is none", path, std::strerror(errno));
      return false;
    }
  }
  if (make_header(stacks_every)) return true;
  warn("there is no room for a profile (%s): there is none", std::strerror(errno));
  return false;
}

bool is_open() { return mapped != nullptr; }
Header& header() { return *mapped; }

Block* add_block() {
  const std::size_t bytes = mapped->block_bytes;
  auto* const block = static_cast<Block*>(map(mapped->header_bytes + mapped->blocks * bytes, bytes));
  if (block == nullptr) {
    warn("there is no room for one more thread's profile (%s): it has none", std::strerror(errno));
    return nullptr;
  }
  ++mapped->blocks;
  return block;
}

void reopen_in_child() {
  pthread_mutex_init(&modules_lock, nullptr);
  if (!has_file) {  // the parent's summary is the parent's
    mapped->blocks = 0;
    return;
  }
  const Word stacks_every = mapped->stacks_every;
  ::close(file);  // the lock stays the parent's, which has the same file open
  mapped = nullptr;
  char own[PATH_MAX];
  std::snprintf(own, sizeof own, "%.*s.%d", PATH_MAX - 16, name, static_cast<int>(::getpid()));
  if (!open_alone(own) || !make_header(stacks_every))
    warn("the profile %s of a forked process cannot be written (%s): there is none", own,
         std::strerror(errno));
}

Word place_of(std::uintptr_t address) {
  constexpr int kModuleShift = 48;
  if (address == 0) return 0;
  pthread_mutex_lock(&modules_lock);
  const Module* module = find(address);
  if (module == nullptr) {
    ::dl_iterate_phdr(add_module, &address);
    module = find(address);
  }
  const Word place = module != nullptr ? (static_cast<Word>(module - mapped->module) + 1) << kModuleShift |
                                             (address - module->bias)
                                       : address & ((Word{1} << kModuleShift) - 1);
  pthread_mutex_unlock(&modules_lock);
  return place;
}

void note_time() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  mapped->last_ns = static_cast<Word>(now.tv_sec) * 1000000000u + static_cast<Word>(now.tv_nsec);
  mapped->last_ticks = ticks();
}

}  // namespace rubato::tm::profile
