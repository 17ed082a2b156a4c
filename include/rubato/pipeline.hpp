// parallel_pipeline: items go through stages, a limited number at once; the same on every engine. Not part of
// rubato.hpp: include it where it is used.
//
//   parallel_pipeline(8, [&] { return read_block(file); },            // a std::optional; empty at the end
//                     [](Block block) { return compress(block); },    // several items at once
//                     in_order([&](Block block) { write(block); }));  // one item at a time, in their order
//
// No stage waits: an item that comes too early to a stage in order is left there, and goes on when the item
// before it has left. In a task the continuation is the last argument, as in algorithms.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rubato/algorithms.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

/// A stage of a pipeline that takes one item at a time, in the order of the source. See in_order().
template <class Function>
struct InOrder {
  Function function;  ///< is called with the item
};
/// Makes a stage of a pipeline that is called for one item at a time, in the order of the source.
template <class Function>
InOrder<Function> in_order(Function function) {
  return {std::move(function)};
}

namespace engine {

namespace task_names {
template <class... Functions>
struct parallel_pipeline {};
}  // namespace task_names

template <class Function>
struct PipelineStage {
  static constexpr bool kIsInOrder = false;
  template <class Item>
  decltype(auto) operator()(Item item) const {
    return function(std::move(item));
  }
  Function function;
};
template <class Function>
struct PipelineStage<InOrder<Function>> {
  static constexpr bool kIsInOrder = true;
  template <class Item>
  decltype(auto) operator()(Item item) {
    return stage.function(std::move(item));
  }
  InOrder<Function> stage;
};

/// The types of the items before each stage.
template <class Item, class... Stages>
struct PipelineItems;
template <class Item, class Last>
struct PipelineItems<Item, Last> {
  using type = std::tuple<std::optional<Item>>;
};
template <class Item, class First, class... Others>
struct PipelineItems<Item, First, Others...> {
  using Next = std::invoke_result_t<PipelineStage<First>&, Item>;
  static_assert(!std::is_void_v<Next>, "each stage but the last returns the item of the next one");
  using type = decltype(std::tuple_cat(
      std::declval<std::tuple<std::optional<Item>>>(),
      std::declval<typename PipelineItems<std::remove_cvref_t<Next>, Others...>::type>()));
};

template <class Work>
struct PipelineStep {
  using TaskName = typename Work::TaskName;
  void operator()(Work* work, std::uint64_t item, std::uint64_t stage) const {
    for (bool goes_on = true; goes_on; ++stage) {
      goes_on = false;
      work->failures.attempt([&] { goes_on = work->algorithm.pass(*work, item, stage); });
    }
  }
};

/// A pipeline at work. Item n lies in place n modulo the limit, and has a gate at each stage in order, the
/// source included. A gate opens at its second call: one says that the item is there, the other that the item
/// before it has left the stage. The second caller takes the item on.
template <class Source, class... Stages>
struct Pipeline {
  using TaskName = task_names::parallel_pipeline<Source, Stages...>;
  static constexpr const char* kName = "parallel_pipeline()";
  static constexpr std::size_t kStages = sizeof...(Stages);  // the source is number 0
  using Item = typename std::invoke_result_t<Source&>::value_type;
  struct alignas(64) Place {
    typename PipelineItems<Item, Stages...>::type items;
    std::array<std::atomic<std::uint32_t>, kStages + 1> gates{};
  };

  Pipeline(std::uint64_t most, Source first, Stages... others)
      : limit(most == 0 ? 1 : most),
        source(std::move(first)),
        stages{PipelineStage<Stages>{std::move(others)}...},
        places(std::make_unique<Place[]>(limit)) {
    for (auto& gate : places[0].gates) gate.store(1, std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < limit; ++i) places[i].gates[0].store(1, std::memory_order_relaxed);
  }
  void start(auto& work) { call(work, 0, 0); }
  void finish() {}

  /// A call of a gate.
  void call(auto& work, std::uint64_t item, std::uint64_t stage) {
    if (opens(item, stage))
      rubato::create<TaskType::nonspec>(PipelineStep<std::remove_reference_t<decltype(work)>>{},
                                        work.annotations(), &work, item, stage);
  }
  /// The gate is closed again, for the next item of the place: its calls come when this item has passed.
  bool opens(std::uint64_t item, std::uint64_t stage) {
    std::atomic<std::uint32_t>& gate = place_of(item).gates[stage];
    if (gate.fetch_add(1, std::memory_order_acq_rel) == 0) return false;
    gate.store(0, std::memory_order_relaxed);
    return true;
  }
  /// Calls a stage for an item that may enter it. @returns whether it may enter the next one
  bool pass(auto& work, std::uint64_t item, std::uint64_t stage) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((stage == I && pass_stage<I>(work, item)) || ...);
    }(std::make_index_sequence<kStages + 1>{});
  }

 private:
  Place& place_of(std::uint64_t item) { return places[item % limit]; }
  template <std::size_t stage>
  bool pass_stage(auto& work, std::uint64_t item) {
    auto& items = place_of(item).items;
    if constexpr (stage == 0) {
      std::optional<Item> made = source();
      if (!made) return false;
      std::get<0>(items) = std::move(made);
      call(work, item + 1, 0);
    } else {
      auto& own = std::get<stage - 1>(stages);
      auto& before = std::get<stage - 1>(items);
      auto taken = std::move(*before);
      before.reset();
      if constexpr (stage == kStages) {
        own(std::move(taken));
      } else {
        std::get<stage>(items).emplace(own(std::move(taken)));
      }
      if constexpr (std::remove_reference_t<decltype(own)>::kIsInOrder) call(work, item + 1, stage);
    }
    if constexpr (stage == kStages) {
      call(work, item + limit, 0);  // the place is free
      return false;
    } else if constexpr (std::tuple_element_t<stage, decltype(stages)>::kIsInOrder) {
      return opens(item, stage + 1);
    } else {
      return true;
    }
  }

 public:
  std::uint64_t limit;
  Source source;
  std::tuple<PipelineStage<Stages>...> stages;
  std::unique_ptr<Place[]> places;
};

}  // namespace engine

/// Calls source() for one item after the other, until it returns an empty std::optional. Each item goes
/// through all stages: a stage is called with the result of the one before. At most `limit` items, at least
/// one, are under way; more are not made before. The source and stages made by in_order() are called for one
/// item at a time, other stages for several at once, as constants. The last argument may be a then(). If a
/// function throws, no further item enters a stage.
template <class Source, class... Stages>
  requires(sizeof...(Stages) != 0)
void parallel_pipeline(std::uint64_t limit, Source source, Stages... stages) {
  constexpr std::size_t kLast = sizeof...(Stages) - 1;
  std::tuple<Stages...> all(std::move(stages)...);
  if constexpr (engine::is_then<std::tuple_element_t<kLast, std::tuple<Stages...>>>) {
    static_assert(kLast != 0, "a pipeline has a stage beside its source");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      using Algorithm = engine::Pipeline<Source, std::tuple_element_t<I, std::tuple<Stages...>>...>;
      engine::run_before(Algorithm(limit, std::move(source), std::move(std::get<I>(all))...),
                         std::move(std::get<kLast>(all)));
    }(std::make_index_sequence<kLast>{});
  } else {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      engine::run_to_end(
          engine::Pipeline<Source, Stages...>(limit, std::move(source), std::move(std::get<I>(all))...));
    }(std::make_index_sequence<kLast + 1>{});
  }
}

}  // namespace rubato::inline v0
