// SPDX-License-Identifier: MIT
#include "rubato/actor/dead_letters.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "actors/lifecycle.hpp"

namespace rubato::inline v0 {
namespace {

/// Null: it has ended its subscription, but may be the one that is being called.
using Listener = std::shared_ptr<std::function<void(const DeadLetter&)>>;

struct Listeners {
  std::recursive_mutex mutex;
  std::list<Listener> all;
  bool is_telling = false;  // the thread that has the mutex calls listeners, and goes through the list
  std::atomic<unsigned> count{0};
  std::atomic<std::uint64_t> letters[5] = {};
};
/// Never destroyed: actors may end after static objects.
Listeners& listeners() {
  static Listeners& instance = *new Listeners;
  return instance;
}

/// Its exception is not the sender's.
void call(const std::function<void(const DeadLetter&)>& listener, const DeadLetter& letter) {
  const char* what = "of an unknown type";
  try {
    return listener(letter);
  } catch (const std::exception& e) {
    what = e.what();
    std::fprintf(stderr, "rubato: a listener of dead letters ended with an exception: %s\n", what);
  } catch (...) {
    std::fprintf(stderr, "rubato: a listener of dead letters ended with an exception: %s\n", what);
  }
}

/// To all that listen. A dead letter that a listener causes is counted, but no listener hears of it.
void tell(Listeners& l, const DeadLetter& letter) {
  const std::lock_guard lock(l.mutex);
  if (std::exchange(l.is_telling, true)) return;
  const std::size_t known = l.all.size();  // not those that listen from now on
  auto listener = l.all.begin();
  for (std::size_t i = 0; i < known; ++i, ++listener)
    if (const Listener called = *listener) call(*called, letter);
  l.is_telling = false;
  std::erase(l.all, nullptr);
}

}  // namespace

subscription on_dead_letter(std::function<void(const DeadLetter&)> f) {
  Listeners& l = listeners();
  const std::lock_guard lock(l.mutex);
  const auto place =
      l.all.insert(l.all.end(), std::make_shared<std::function<void(const DeadLetter&)>>(std::move(f)));
  l.count.fetch_add(1, std::memory_order_relaxed);
  return subscription([place] {
    Listeners& current = listeners();
    Listener ended;  // destroyed last: it may hold other subscriptions
    const std::lock_guard again(current.mutex);
    ended = std::exchange(*place, nullptr);
    current.count.fetch_sub(1, std::memory_order_relaxed);
    if (!current.is_telling) current.all.erase(place);
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

namespace {

void count_and_tell(std::uint64_t to, const MessageNode* node, DeadLetter::Cause cause) {
  Listeners& l = listeners();
  l.letters[static_cast<unsigned>(cause)].fetch_add(1, std::memory_order_relaxed);
  if (l.count.load(std::memory_order_relaxed) != 0)
    tell(l, {actor<>::of(to), node->sender(), node->type->type, cause});
}

}  // namespace

void dead_letter(std::uint64_t to, MessageNode* node, DeadLetter::Cause cause) {
  // Messages of the runtime itself are none of the program's, unless one stands for a timer's message.
  const MessageType& type = *node->type;
  if (type.takes_place || (type.withdraw != nullptr && type.withdraw(node))) count_and_tell(to, node, cause);
  if (node->type->fail != nullptr) node->type->fail(node, AskError::stopped);
  destroy_payload(node);
}

/// In the turn of its actor, which has sealed the channel.
void note_dead_event(const MessageNode* node) {
  const std::uint64_t to = current_actor();
  const ActorScope none(0);
  count_and_tell(to, node, DeadLetter::Cause::sealed);
}

}  // namespace engine
}  // namespace rubato::inline v0
