// SPDX-License-Identifier: MIT
#include "tm/profile/file.hpp"

#include <dlfcn.h>
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

// Weak: a static program may have no such function, and a library that needs it would need the loader by
// name.
extern "C" [[gnu::weak]] int _dl_find_object(void*, dl_find_object*) noexcept;

namespace rubato::tm::profile {
namespace {

// Pages of the modules' first segment, and how many segments there may be: 491 modules.
constexpr std::size_t kModulePages = 1, kModuleSegments = 5;

Header* mapped = nullptr;
Segment* modules[kModuleSegments];
int file = -1;
bool has_file = false;
bool is_full = false;  ///< a segment had no room, which was said: no more are tried
char name[PATH_MAX];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  ///< of modules, and of adding segments

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
  mapped = static_cast<Header*>(map(0, kPage));
  if (mapped == nullptr) return false;
  for (Segment*& segment : modules) segment = nullptr;
  is_full = false;
  mapped->process = static_cast<Word>(::getpid());
  mapped->header_bytes = mapped->bytes = kPage;
  mapped->stacks_every = stacks_every;
  mapped->stripe = records.stripe();
  note_time();
  mapped->start_ns = mapped->last_ns;
  mapped->start_ticks = mapped->last_ticks;
  std::memcpy(mapped->magic, kMagic, sizeof kMagic);
  return true;
}

/// The caller holds the lock.
Segment* append(Kind kind, Word thread, std::size_t bytes) {
  if (is_full) return nullptr;
  auto* const segment = static_cast<Segment*>(map(mapped->bytes, bytes));
  if (segment == nullptr) {
    is_full = true;
    warn("there is no room for more of the profile (%s): it is incomplete", std::strerror(errno));
    return nullptr;
  }
  segment->kind = static_cast<Word>(kind);
  segment->thread = thread;
  segment->bytes = bytes;
  __atomic_store_n(&mapped->bytes, mapped->bytes + bytes,
                   __ATOMIC_RELEASE);  // the segment is complete before
  return segment;
}

/// The module of a number, or the place for one more; null if there is no room.
Module* module_at(Word number) {
  for (std::size_t n = 0; n < kModuleSegments; ++n) {
    const std::size_t bytes = kModulePages * kPage << n, rows = rows_in(bytes, sizeof(Module));
    if (number >= rows) {
      number -= rows;
      continue;
    }
    if (modules[n] == nullptr) modules[n] = append(Kind::modules, 0, bytes);
    return modules[n] != nullptr ? &rows_of<Module>(*modules[n])[number] : nullptr;
  }
  return nullptr;
}

/// A module's number plus 1, and the distance of its addresses from those of the file. 0: no module.
struct Found {
  Word number, bias;
};
Found find(std::uintptr_t address) {
  for (Word i = 0; i < mapped->modules; ++i) {
    const Module& module = *module_at(i);
    if (address >= module.begin && address < module.end) return {i + 1, module.bias};
  }
  return {};
}

struct Object {
  Word begin, end, bias;
  const char* name;  ///< empty: the program
};

void add_module(const Object& object) {
  Module* const module = module_at(mapped->modules);
  if (module == nullptr) return;
  module->begin = object.begin;
  module->end = object.end;
  module->bias = object.bias;
  if (object.name != nullptr && *object.name != '\0') {
    std::snprintf(module->path, kPath, "%s", object.name);
  } else if (::readlink("/proc/self/exe", module->path, kPath - 1) < 0) {
    module->path[0] = '\0';
  }
  ++mapped->modules;
}

int add_if_wanted(dl_phdr_info* info, std::size_t, void* wanted) {
  Object object{~Word{0}, 0, info->dlpi_addr, info->dlpi_name};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    const Word at = info->dlpi_addr + part.p_vaddr;
    if (at < object.begin) object.begin = at;
    if (at + part.p_memsz > object.end) object.end = at + part.p_memsz;
  }
  const Word address = *static_cast<const std::uintptr_t*>(wanted);
  if (address < object.begin || address >= object.end) return 0;
  add_module(object);
  return 1;
}

/// dl_iterate_phdr() takes a lock of the loader. A thread that holds it may wait for the profile's own, and a
/// forked child may have no thread that gives it back.
void add_module_of(std::uintptr_t address) {
  if (_dl_find_object == nullptr) {
    ::dl_iterate_phdr(add_if_wanted, &address);
    return;
  }
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return;
  add_module({reinterpret_cast<Word>(found.dlfo_map_start), reinterpret_cast<Word>(found.dlfo_map_end),
              found.dlfo_link_map->l_addr, found.dlfo_link_map->l_name});
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

Word add_thread() { return mapped->threads++; }

Segment* add_segment(Kind kind, Word thread, std::size_t pages) {
  pthread_mutex_lock(&lock);
  Segment* const segment = append(kind, thread, pages * kPage);
  pthread_mutex_unlock(&lock);
  return segment;
}

void reopen_in_child() {
  pthread_mutex_init(&lock, nullptr);
  if (!has_file) return;
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
  pthread_mutex_lock(&lock);
  Found module = find(address);
  if (module.number == 0) {
    add_module_of(address);
    module = find(address);
  }
  pthread_mutex_unlock(&lock);
  return module.number != 0 ? module.number << kModuleShift | (address - module.bias)
                            : address & ((Word{1} << kModuleShift) - 1);
}

void note_time() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  mapped->last_ns = static_cast<Word>(now.tv_sec) * 1000000000u + static_cast<Word>(now.tv_nsec);
  mapped->last_ticks = ticks();
}

}  // namespace rubato::tm::profile
