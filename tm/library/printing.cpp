// Printing into memory, and what leaves the program and is deferred until commit (T55, T58).
// SPDX-License-Identifier: MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "rubato/tm/library.h"
#include "tm/library/format.hpp"
#include "tm/library/itm.hpp"
#include "tm/library/text.hpp"

namespace rubato::tm::library {
namespace {

/// Bytes that are written after commit: to a stream, or to a file descriptor if that is null.
struct Output {
  std::FILE* stream;
  int file;
  std::size_t size;
  char* bytes() { return reinterpret_cast<char*>(this + 1); }
};

void write_out(void* argument) {
  auto* const output = static_cast<Output*>(argument);
  const int error = errno;
  if (output->stream != nullptr) {
    std::fwrite(output->bytes(), 1, output->size, output->stream);
  } else {
    for (std::size_t done = 0; done < output->size;) {
      const ssize_t written = ::write(output->file, output->bytes() + done, output->size - done);
      if (written < 0 && errno != EINTR) break;
      if (written > 0) done += static_cast<std::size_t>(written);
    }
  }
  errno = error;
  std::free(output);
}

/// Private: the library frees it if the transaction is rolled back, and write_out() after commit.
Output* new_output(std::FILE* stream, int file, std::size_t size) {
  void* const memory = _ITM_malloc(sizeof(Output) + size + 1);
  if (memory == nullptr) return nullptr;
  return new (memory) Output{stream, file, size};
}
void defer(Output* output) { _ITM_addUserCommitAction(write_out, kNoTransaction, output); }

int print_later(std::FILE* to, const char* format, std::va_list arguments) {
  Text text(format);
  const std::size_t size = format_to(nullptr, 0, text.c_str(), arguments);
  Output* const output = new_output(to, -1, size);
  if (output == nullptr) return -1;
  format_to(output->bytes(), size, text.c_str(), arguments);
  defer(output);
  return static_cast<int>(size);
}

int print_into(char* to, std::size_t n, const char* format, std::va_list arguments) {
  Text text(format);
  const std::size_t size = format_to(nullptr, 0, text.c_str(), arguments);
  if (n == 0) return static_cast<int>(size);
  const std::size_t fits = std::min(size, n - 1);
  Buffer buffer(fits + 1);
  if (!buffer.is_there()) return -1;
  format_to(buffer.data(), fits, text.c_str(), arguments);
  buffer.data()[fits] = '\0';
  _ITM_memcpyRnWt(to, buffer.data(), fits + 1);
  return static_cast<int>(size);
}

ssize_t write_later(int file, const void* p, std::size_t n) {
  Output* const output = new_output(nullptr, file, n);
  if (output == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  if (n > 0) _ITM_memcpyRtWn(output->bytes(), p, n);
  defer(output);
  return static_cast<ssize_t>(n);
}

void say_error_later(const char* s) {
  const int error = errno;
  Text text(s == nullptr ? "" : s);
  const char* const reason = ::strerrordesc_np(error);
  const char* const separator = text.size() == 0 ? "" : ": ";
  char unknown[32];
  std::snprintf(unknown, sizeof unknown, "Unknown error %d", error);
  const char* const what = reason != nullptr ? reason : unknown;
  const std::size_t size = text.size() + std::strlen(separator) + std::strlen(what) + 1;
  Output* const output = new_output(stderr, -1, size);
  if (output == nullptr) return;
  std::snprintf(output->bytes(), size + 1, "%s%s%s\n", text.c_str(), separator, what);
  defer(output);
}

struct Signal {
  int file;
  std::uint64_t value;
};
void send_signal(void* argument) {
  auto* const signal = static_cast<Signal*>(argument);
  const int error = errno;
  ::eventfd_write(signal->file, signal->value);
  errno = error;
  std::free(signal);
}
int signal_later(int file, std::uint64_t value) {
  void* const memory = _ITM_malloc(sizeof(Signal));
  if (memory == nullptr) return -1;
  _ITM_addUserCommitAction(send_signal, kNoTransaction, new (memory) Signal{file, value});
  return 0;
}

void post(void* semaphore) { ::sem_post(static_cast<sem_t*>(semaphore)); }

/// Code without instrumentation, which runs in irrevocable transactions, calls the functions themselves: what
/// was deferred before must not be overtaken.
bool is_outside() { return _ITM_inTransaction() == 0; }

}  // namespace
}  // namespace rubato::tm::library

using namespace rubato::tm::library;

int tm_vsnprintf(char* to, std::size_t n, const char* format, std::va_list arguments) {
  return std::vsnprintf(to, n, format, arguments);
}
RUBATO_TM_CLONE(12, tm_vsnprintf);
int clone_of_tm_vsnprintf(char* to, std::size_t n, const char* format, std::va_list arguments) {
  return print_into(to, n, format, arguments);
}

int tm_snprintf(char* to, std::size_t n, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(to, n, format, arguments);
  va_end(arguments);
  return size;
}
RUBATO_TM_CLONE(11, tm_snprintf);
int clone_of_tm_snprintf(char* to, std::size_t n, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int size = print_into(to, n, format, arguments);
  va_end(arguments);
  return size;
}

int tm_fprintf(std::FILE* to, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int size = is_outside() ? std::vfprintf(to, format, arguments) : print_later(to, format, arguments);
  va_end(arguments);
  return size;
}
RUBATO_TM_CLONE(10, tm_fprintf);
int clone_of_tm_fprintf(std::FILE* to, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  const int size = print_later(to, format, arguments);
  va_end(arguments);
  return size;
}

void tm_perror(const char* s) { is_outside() ? std::perror(s) : say_error_later(s); }
RUBATO_TM_CLONE(9, tm_perror);
void clone_of_tm_perror(const char* s) { say_error_later(s); }

ssize_t tm_write(int file, const void* p, std::size_t n) {
  return is_outside() ? ::write(file, p, n) : write_later(file, p, n);
}
RUBATO_TM_CLONE(8, tm_write);
ssize_t clone_of_tm_write(int file, const void* p, std::size_t n) { return write_later(file, p, n); }

int tm_eventfd_signal(int file, std::uint64_t value) {
  return is_outside() ? ::eventfd_write(file, value) : signal_later(file, value);
}
RUBATO_TM_CLONE(17, tm_eventfd_signal);
int clone_of_tm_eventfd_signal(int file, std::uint64_t value) { return signal_later(file, value); }

int tm_sem_post(sem_t* semaphore) {
  if (is_outside()) return ::sem_post(semaphore);
  _ITM_addUserCommitAction(post, kNoTransaction, semaphore);
  return 0;
}
RUBATO_TM_CLONE(11, tm_sem_post);
int clone_of_tm_sem_post(sem_t* semaphore) {
  _ITM_addUserCommitAction(post, kNoTransaction, semaphore);
  return 0;
}

void tm_on_commit(void (*f)(void*), void* argument) {
  if (is_outside()) return f(argument);
  _ITM_addUserCommitAction(f, kNoTransaction, argument);
}
RUBATO_TM_CLONE(12, tm_on_commit);
void clone_of_tm_on_commit(void (*f)(void*), void* argument) {
  _ITM_addUserCommitAction(f, kNoTransaction, argument);
}

void tm_on_abort(void (*f)(void*), void* argument) {
  if (!is_outside()) _ITM_addUserUndoAction(f, argument);
}
RUBATO_TM_CLONE(11, tm_on_abort);
void clone_of_tm_on_abort(void (*f)(void*), void* argument) { _ITM_addUserUndoAction(f, argument); }

int tm_in_transaction() { return !is_outside(); }
void tm_abort() { std::abort(); }
void tm_assert_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: assertion '%s' failed\n", file, line, condition);
  std::abort();
}
