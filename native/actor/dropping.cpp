// SPDX-License-Identifier: MIT
#include "native/actor/dropping.hpp"

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/lifecycle.hpp"
#include "base/function_names.hpp"
#include "native/actor/own_thread.hpp"
#include "native/memory/cells.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"
#include "rubato/actor/actor.hpp"

namespace rubato::inline v0::native {

void drop_lanes(Cell& cell, DeadLetter::Cause cause) {
  const engine::ActorScope nobody(0);
  auto& lanes = cell.extras->lanes;
  for (engine::NodeList* lane : {&lanes.high, &lanes.normal}) {
    while (!lane->is_empty()) {
      MessageNode* const node = lane->take();
      engine::dead_letter(cell.self, node, cause);
      engine::free_node(node);
    }
  }
  if (MessageNode* const last = std::exchange(lanes.last, nullptr)) {
    engine::dead_letter(cell.self, last, cause);
    last->type = &engine::message_type<engine::KillMessage>;  // nothing is left of it; finish() releases it
  }
}

namespace {

/// A message of a reader that has lost was never sent.
void withdraw(MessageNode* node) {
  if (node->type->fail != nullptr) node->type->fail(node, engine::kWithdrawn);
  engine::destroy_payload(node);
}

}  // namespace

void drop_message(std::uint64_t to, MessageNode* node) {
  const engine::ThreadState* const self = engine::current_thread;
  if (node->is_admitted()) engine::give_back_place(to);
  if (self != nullptr && self->is_worker && static_cast<const Worker*>(self)->is_dropping_attempt()) {
    withdraw(node);
  } else if (the_shared().is_running()) {  // a worker drops what it has
    engine::dead_letter(to, node, DeadLetter::Cause::run_failed);
  } else {
    engine::drop_of_failed_run(to, node);
  }
  engine::free_node(node);
}

void refuse_message(MessageNode* node) {
  const std::string type = engine::function_name(nullptr, *node->type->type);
  engine::destroy_payload(node);
  engine::free_node(node);
  throw TaskError(errors::foreign_thread(type));
}

namespace {

constexpr std::uint8_t kToClear = 1, kHasMessages = 2;

/// A message was on its actor's thread when the run failed. What has become of it is of no use any more.
void drop_result(Cell& cell) {
  const OwnThread::Message message = take_message(cell);
  the_shared().worker(0).counts.messages.add(message.was_handled ? 1 : 0);
  release(message);
  if (message.report == nullptr) return;
  engine::destroy_payload(message.report);
  engine::free_node(message.report);
}

}  // namespace

void mark_mailboxes(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    if ((mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) != 0) return;
    mailbox.to_clear = kToClear | (mailbox.is_empty() ? 0 : kHasMessages);
  });
}

void clear_mailboxes(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    if ((mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) != 0) return;
    const std::uint8_t to_clear = std::exchange(mailbox.to_clear, std::uint8_t{0});
    if (to_clear == 0) return;  // it has begun since, and its turn, if it has one, is there
    // The mailbox of a child that does looks as if it handled a message.
    const bool waits_for_restart = mailbox.extras != nullptr && mailbox.extras->waits_for_restart;
    if (mailbox.extras != nullptr) {
      engine::clear_flags_of_failed_run(mailbox);
      engine::NodeList& unstashed = mailbox.extras->unstashed;
      while (!unstashed.is_empty()) {
        MessageNode* const node = unstashed.take();
        engine::note_stashed(-1);
        engine::dead_letter(mailbox.self, node, DeadLetter::Cause::run_failed);
        engine::free_node(node);
      }
      drop_lanes(mailbox, DeadLetter::Cause::run_failed);
      if (mailbox.extras->is_away) drop_result(mailbox);
    }
    if (engine::Bounded* const bounded = engine::bounded_of(mailbox)) engine::clear_bound(*bounded);
    if ((to_clear & kHasMessages) == 0) return;
    for (bool is_empty = false; !is_empty;) {  // then it is of the thread outside that pushes next
      const Mailbox::Taken taken = mailbox.take();
      if (taken.node == nullptr) {
        if (waits_for_restart && mailbox.last_taken() != nullptr && !mailbox.has_more()) return;
        const Mailbox::Finished finished = mailbox.finish();
        if (finished.released != nullptr) engine::free_node(finished.released);
        is_empty = finished.is_empty;
        continue;
      }
      engine::drop_of_failed_run(mailbox.self, taken.node);
      if (taken.is_last) {
        taken.node->type = &engine::message_type<engine::KillMessage>;
      } else {
        engine::free_node(taken.node);
      }
    }
  });
}

/// A message for each, since its mailbox then makes a turn due if there is none.
void end_in_next_run(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    const bool is_born = (mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) == 0;
    if (!is_born || mailbox.type == nullptr || (mailbox.flags & Cell::kEnded) != 0) return;
    if (engine::is_to_end(mailbox)) engine::post(mailbox.self, engine::make_node<engine::StopMessage>());
  });
}

}  // namespace rubato::inline v0::native
