// SPDX-License-Identifier: MIT
#include "rubato/actor/dead_letters.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <utility>

#include "actors/lifecycle.hpp"

namespace rubato::inline v0 {
namespace {

struct Listeners {
  std::recursive_mutex mutex;
  std::list<std::function<void(const DeadLetter&)>> all;
  std::atomic<unsigned> count{0};
  std::atomic<std::uint64_t> letters[5] = {};
};
/// Never destroyed: actors may end after static objects.
Listeners& listeners() {
  static Listeners& instance = *new Listeners;
  return instance;
}

}  // namespace

subscription on_dead_letter(std::function<void(const DeadLetter&)> f) {
  Listeners& l = listeners();
  const std::lock_guard lock(l.mutex);
  const auto place = l.all.insert(l.all.end(), std::move(f));
  l.count.fetch_add(1, std::memory_order_relaxed);
  return subscription([place] {
    Listeners& current = listeners();
    const std::lock_guard again(current.mutex);
    current.all.erase(place);
    current.count.fetch_sub(1, std::memory_order_relaxed);
  });
}

namespace engine {
namespace {

std::atomic<std::uint64_t> allocated{0};

}  // namespace

void count_allocated() { allocated.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t messages_allocated() { return allocated.load(std::memory_order_relaxed); }

std::uint64_t dead_letters_by(DeadLetter::Cause cause) {
  return listeners().letters[static_cast<unsigned>(cause)].load(std::memory_order_relaxed);
}

void dead_letter(std::uint64_t to, MessageNode* node, DeadLetter::Cause cause) {
  // What the runtime sent itself is no message of the program, unless it stands for one of a timer.
  const MessageType& type = *node->type;
  if (type.run == nullptr || (type.withdraw != nullptr && type.withdraw(node))) {
    Listeners& l = listeners();
    l.letters[static_cast<unsigned>(cause)].fetch_add(1, std::memory_order_relaxed);
    if (l.count.load(std::memory_order_relaxed) != 0) {
      const std::lock_guard lock(l.mutex);
      const DeadLetter letter{actor<>::of(to), node->sender(), node->type->type, cause};
      for (const auto& f : l.all) f(letter);
    }
  }
  if (node->type->fail != nullptr) node->type->fail(node, AskError::stopped);
  destroy_payload(node);
}

}  // namespace engine
}  // namespace rubato::inline v0
