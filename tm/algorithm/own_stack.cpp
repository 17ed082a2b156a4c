// SPDX-License-Identifier: MIT
#include "tm/algorithm/own_stack.hpp"

#include <pthread.h>

#include <cerrno>

namespace rubato::tm {

void ask_for_stack(Thread& thread) {
  const int saved = errno;
  thread.stack_first = thread.stack_last = 1;  // holds no address, if there is no answer
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    void* first = nullptr;
    std::size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &first, &bytes) == 0 && bytes != 0) {
      thread.stack_first = reinterpret_cast<std::uintptr_t>(first);
      thread.stack_last = thread.stack_first + bytes;
    }
    pthread_attr_destroy(&attributes);
  }
  errno = saved;
}

}  // namespace rubato::tm
