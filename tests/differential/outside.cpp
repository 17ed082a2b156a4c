// SPDX-License-Identifier: MIT
#include "tests/differential/outside.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace differential {
namespace {

#if defined(RUBATO_ENGINE_NATIVE)
constexpr bool kHasThreads = true;
#else
constexpr bool kHasThreads = false;
#endif

constexpr unsigned kMaxThreads = 3, kProgramsAThreaded = 6;
/// Tasks with timestamps of their own may be numbered like the children of root 7, which no program has.
constexpr std::uint32_t kFirstNumber = 7 * 8 + 1, kMaxEarly = 2;

using Answers = std::atomic<std::uint64_t>;

void answer(std::uint64_t word, Answers* answers) {
  tell(word);
  ++*answers;
}

/// Readers may run twice, and answer once.
void read_and_answer(std::uint64_t key, const Cell* cell, Answers* answers) {
  Rng random(key);
  if (!is_whole(*cell, random)) on_commit(tell_violation, "a task from outside reads half an update");
  on_commit(answer, mix64(key), answers);
}
void write_and_answer(std::uint64_t key, Cell* cell, Answers* answers) {
  Rng random(key);
  update(*cell, key, random, "what a task from outside changes");
  answer(mix64(key), answers);
}
void only_answer(std::uint64_t key, Answers* answers) { answer(mix64(key), answers); }

void use_own(resource<Temporary> object, std::uint64_t id, std::uint64_t key, Answers* answers) {
  if (object->id != id) on_commit(tell_violation, "an object of a thread outside is gone before its tasks");
  read_and_answer(key, &object->cell, answers);
  if (object->id != id) on_commit(tell_violation, "an object of a thread outside goes while a task uses it");
}

}  // namespace

/// Part of the program that a thread plays.
class OutsideThreads::Creator {
 public:
  Creator(std::uint64_t seed, unsigned thread)
      : random_(mix64(seed * 8 + thread)),
        pauses_(mix64(seed * 8 + thread) + 1),
        thread_(thread),
        answers_(state->new_answers()) {}

  /// Before run(): tasks with timestamps may come from here, too.
  void create_early() {
    for (std::uint64_t left = random_.below(kMaxEarly + 1); left != 0; --left) {
      const auto number = static_cast<std::uint32_t>(kFirstNumber + thread_ * kMaxEarly + left - 1);
      std::optional<Timestamp> at;
      if (state->order == Order::dense) at = random_.below(4);
      if (state->order == Order::unique) at = number;
      create_tree(random_(), number, 1, at);
    }
  }

  /// Before run() or during it, or after it has failed.
  void create_late() {
    for (std::uint64_t left = 1 + random_.below(8); left != 0; --left) {
      pause();
      switch (random_.below(6)) {
        case 0:
        case 1:
          create_tree(random_(), 0, static_cast<std::uint32_t>(random_.below(6)), std::nullopt);
          break;
        case 2:
          create_group(random_());
          break;
        case 3:
          create_own(random_());
          break;
        default:
          ask(random_());
          if (random_.below(2) == 0) wait_for_answers();
          break;
      }
    }
    if (random_.below(2) == 0) wait_for_answers();
  }

 private:
  /// Pause of any length: workers may fall asleep meanwhile, and run() may begin.
  void pause() {
    const std::uint64_t chosen = pauses_.below(16);
    if (!kHasThreads || chosen < 8) return;
    if (chosen < 15) return dawdle(pauses_);
    std::this_thread::sleep_for(std::chrono::microseconds(pauses_.below(60)));
  }

  /// A task that says that it ran.
  void ask(std::uint64_t key) {
    Rng random(key);
    const auto priority = static_cast<Priority>(random.below(3));
    const bool reads = random.below(2) == 0;
    ++asked_;
    switch (random.below(4)) {
      case 0:
        return create<nonspec>(only_answer, {.priority = priority}, key, answers_);
      case 1: {
        const auto index = static_cast<unsigned>(random.below(kLocales));
        return create<nonspec>(write_and_answer, {.on = index, .priority = priority}, key,
                               &state->locales[index], answers_);
      }
      case 2: {
        const resource<Cell> cell = state->resources[random.below(kResources)];
        if (reads) {
          return create<nonspec>(read_and_answer, {.on = cell, .access = Access::reads}, key, cell.get(),
                                 answers_);
        }
        return create<nonspec>(write_and_answer, {.on = cell, .priority = priority}, key, cell.get(),
                               answers_);
      }
      default: {
        Cell* const cell = &state->locales[random.below(kLocales)];
        return create<spec>(write_and_answer, {}, key, cell, answers_);
      }
    }
  }

  void wait_for_answers() {
    while (kHasThreads && *answers_ != asked_ && !state->is_over) std::this_thread::yield();
  }

  /// Members of a group, and a task that waits for them.
  void create_group(std::uint64_t key) {
    Rng random(key);
    Fan* const fan = state->new_fan();
    const std::uint64_t members = 1 + random.below(4);
    create_members(fan, members, key);
  }

  /// An object that this thread removes: run() may be far from its end then.
  void create_own(std::uint64_t key) {
    Rng random(key);
    const ResourceOptions options{random.below(2) == 0 ? Isolation::exclusive : Isolation::shared_reads,
                                  static_cast<Ratio>(random.below(3)),
                                  static_cast<Frequency>(random.below(3))};
    const std::uint64_t id = key | 1;
    const auto object = make_resource<Temporary>(options, id);
    ++state->made;
    for (std::uint64_t left = 1 + random.below(3); left != 0; --left, ++asked_) {
      create<nonspec>(use_own, {.on = object, .access = Access::reads}, object, id, mix64(key + left),
                      answers_);
    }
    wait_for_answers();
    if (*answers_ == asked_) return remove(object);
    const std::lock_guard lock(state->mutex);  // it must not go before its tasks are gone
    state->temporaries.push_back(object);
  }

  Rng random_, pauses_;
  const unsigned thread_;
  Answers* const answers_;
  std::uint64_t asked_ = 0;
};

OutsideThreads::OutsideThreads(std::uint64_t seed) {
  Rng random(mix64(seed ^ 0x6f75747369646521));
  if (random.below(kProgramsAThreaded) != 0) return;
  count_ = 1 + static_cast<unsigned>(random.below(kMaxThreads));
#if defined(RUBATO_ENGINE_NATIVE)
  for (unsigned i = 0; i < count_; ++i) {
    threads_.emplace_back([this, seed, i, hold = native::hold()]() mutable {
      try {
        Creator creator(seed, i);
        creator.create_early();
        ++early_ends_;
        creator.create_late();
      } catch (const TaskError& e) {
        state->violate(std::string("a task is refused that a thread outside creates: ") + e.what());
        early_ends_ += kMaxThreads;
      }
      hold.close();
    });
  }
  while (early_ends_ < count_) std::this_thread::yield();
#else
  for (unsigned i = 0; i < count_; ++i) {
    Creator creator(seed, i);
    creator.create_early();
    creator.create_late();
  }
#endif
}

void OutsideThreads::join() {
  state->is_over = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace differential
