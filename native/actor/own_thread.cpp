// SPDX-License-Identifier: MIT
#include "native/actor/own_thread.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "actors/lifecycle.hpp"
#include "native/clock.hpp"
#include "native/worker/shared.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::Cell;

constexpr std::chrono::milliseconds kWithoutMemory{1};

/// Scope in which a message keeps the run open.
class EndOfMessage {
 public:
  explicit EndOfMessage(Hold hold) : hold_(std::move(hold)) {}
  ~EndOfMessage() {
    Shared& shared = the_shared();
    if (shared.own_threads.end_message()) shared.events.notify_all();
  }
  EndOfMessage(const EndOfMessage&) = delete;
  EndOfMessage& operator=(const EndOfMessage&) = delete;

 private:
  const Hold hold_;
};

void handle_on_own_thread(OwnThread& own) {
  Cell& cell = own.cell();
  OwnThread::Message& message = own.message();
  const engine::MessageType& type = *message.node->type;
  const std::uint64_t began = ticks();
  try {
    const engine::ActorScope scope(cell.self);
    message.was_handled = engine::handle_message(cell, message.node);
  } catch (...) {
    message.was_handled = engine::is_of_program(type);
    try {
      message.report = engine::on_exception(cell, *type.type);
    } catch (...) {
      message.error = std::current_exception();
    }
  }
  message.took = ticks() - began;
  const EndOfMessage end(std::move(message.hold));  // when the turn is due
  for (;;) {
    try {
      return engine::resume_actor(cell);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kWithoutMemory);
    }
  }
}

}  // namespace

OwnThread& own_thread_of(Cell& cell) {
  auto& thread = cell.extras->thread;
  if (thread == nullptr)
    thread = {new OwnThread(the_shared().own_threads, cell, handle_on_own_thread),
              [](void* own) { delete static_cast<OwnThread*>(own); }};
  return *static_cast<OwnThread*>(thread.get());
}
OwnThread::Message take_message(Cell& cell) {
  cell.extras->is_away = false;
  return std::exchange(own_thread_of(cell).message(), {});
}
void release(const OwnThread::Message& message) {
  if (message.is_mine) {
    engine::free_node(message.node);
  } else {
    message.node->type = &engine::message_type<engine::KillMessage>;
  }
}

}  // namespace rubato::inline v0::native
