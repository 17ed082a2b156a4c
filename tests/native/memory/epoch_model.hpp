// A model of what tasks can reach, beside real epochs: virtual workers take steps one after the other, and
// the model notices when an object is freed that a running or a pending task can still use.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "native/memory/epochs.hpp"

namespace rubato::inline v0::native::test {

template <class Rules>
class EpochModel {
 public:
  enum class Step : std::uint8_t { start, take, read, remove, spawn, end, refresh, park, unpark };
  static constexpr unsigned kSteps = 9;

  EpochModel(unsigned workers, unsigned most_pending)
      : most_pending_(most_pending), epochs_({.members = workers}), workers_(workers) {
    link_ = make_object();
    for (unsigned w = 0; w < workers; ++w) epochs_.unpark(epochs_.member(w));
  }
  ~EpochModel() {
    for (auto& object : objects_) object->model = nullptr;
  }

  /// Whether worker `w` can do this now.
  bool allows(unsigned w, Step step) const {
    const Worker& worker = workers_[w];
    switch (step) {
      case Step::start:
        return worker.state == State::idle;
      case Step::take:
        return worker.state == State::idle && !pending_.empty();
      case Step::read:
        return worker.state == State::running && worker.held != link_;
      case Step::remove:
        return worker.state == State::running && worker.held == link_;
      case Step::spawn:
        return worker.state == State::running && worker.held != nullptr && pending_.size() < most_pending_;
      case Step::end:
        return worker.state == State::running;
      case Step::refresh:
      case Step::park:
        return worker.state == State::idle;
      case Step::unpark:
        return worker.state == State::parked;
    }
    return false;
  }

  void take_step(unsigned w, Step step) {
    Worker& worker = workers_[w];
    EpochMember& member = epochs_.member(w);
    switch (step) {
      case Step::start:  // a task without a resource: no birth epoch
        worker = {State::running, nullptr, nullptr, kUnborn};
        break;
      case Step::take:
        worker = {State::running, pending_.front().object, pending_.front().object, pending_.front().slot};
        pending_.pop_front();
        break;
      case Step::read:
        worker.held = link_;
        break;
      case Step::remove: {
        Object* const removed = link_;
        link_ = make_object();
        epochs_.retire(member, &removed->header);
        break;
      }
      case Step::spawn: {
        const unsigned slot = worker.slot == kUnborn ? member.birth_slot() : worker.slot;
        member.count_created(slot);
        pending_.push_back({worker.held, slot});
        break;
      }
      case Step::end:
        if (worker.slot != kUnborn) member.count_finished(worker.slot);
        worker = {State::idle, nullptr, nullptr, kUnborn};
        break;
      case Step::refresh:
        epochs_.refresh(member);
        break;
      case Step::park:
        epochs_.park(member);
        worker.state = State::parked;
        break;
      case Step::unpark:
        epochs_.unpark(member);
        worker.state = State::idle;
        break;
    }
  }

  /// An object was freed while a task could still use it.
  bool is_violated() const { return is_violated_; }

  /// Finishes all tasks, then lets worker 0 pass `refreshes` refresh points and the others one after each.
  /// Returns what is not freed then.
  std::uint64_t unreclaimed_after(unsigned refreshes) {
    for (unsigned w = 0; w < workers_.size(); ++w) {
      if (workers_[w].state == State::parked) take_step(w, Step::unpark);
      if (workers_[w].state == State::running) take_step(w, Step::end);
      while (!pending_.empty()) {
        take_step(w, Step::take);
        take_step(w, Step::end);
      }
    }
    for (unsigned i = 0; i < refreshes; ++i) {
      for (unsigned w = 0; w < workers_.size(); ++w) take_step(w, Step::refresh);
    }
    return epochs_.unreclaimed_bytes();
  }
  std::uint64_t global() const { return epochs_.global(); }
  std::uint64_t unreclaimed_bytes() const { return epochs_.unreclaimed_bytes(); }

 private:
  enum class State : std::uint8_t { idle, running, parked };
  static constexpr unsigned kUnborn = ~0u;
  struct Object {
    ResourceHeader header;
    EpochModel* model;
  };
  struct Worker {
    State state = State::idle;
    const Object* held = nullptr;   // what the running task read
    const Object* given = nullptr;  // what the running task is annotated with
    unsigned slot = kUnborn;
  };
  struct Pending {
    const Object* object;
    unsigned slot;
  };

  Object* make_object() {
    objects_.push_back(std::make_unique<Object>());
    Object* const object = objects_.back().get();
    object->model = this;
    object->header.bytes = 1;
    object->header.destroy = [](ResourceHeader* header) {
      auto* const freed = reinterpret_cast<Object*>(header);  // the header is the first member
      if (freed->model != nullptr) freed->model->check_free(freed);
    };
    return object;
  }
  void check_free(const Object* object) {
    is_violated_ |= object == link_;
    for (const Worker& worker : workers_) is_violated_ |= worker.held == object || worker.given == object;
    for (const Pending& task : pending_) is_violated_ |= task.object == object;
  }

  const std::size_t most_pending_;
  std::vector<std::unique_ptr<Object>> objects_;  // memory outlives the epochs: freeing is only noted
  BasicEpochs<Rules> epochs_;
  std::vector<Worker> workers_;
  std::deque<Pending> pending_;
  Object* link_ = nullptr;  // the only way to an object
  bool is_violated_ = false;
};

}  // namespace rubato::inline v0::native::test
