// Filter bank: a signal passes branches of delays and filters side by side and is put together again.
// SPDX-License-Identifier: MIT
#include <deque>

#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::filter_bank {
namespace {

struct Value {
  double value;
};
struct Exit {};
using Stage = actor<Value, Exit>;

/// Work of the stages on a value, without actors: the check uses the same.
class Delay {
 public:
  explicit Delay(std::size_t length) : state_(length, 0) {}
  double operator()(double value) {
    std::swap(state_[at_], value);
    at_ = (at_ + 1) % state_.size();
    return value;
  }

 private:
  std::vector<double> state_;
  std::size_t at_ = 0;
};

class Filter {
 public:
  explicit Filter(std::vector<double> coefficients)
      : coefficients_(std::move(coefficients)), data_(coefficients_.size(), 0) {}
  /// @returns whether there is a value yet, which is then the new one.
  bool operator()(double& value) {
    data_[at_] = value;
    at_ = (at_ + 1) % data_.size();
    is_full_ = is_full_ || at_ == 0;
    if (!is_full_) return false;
    double sum = 0;
    for (std::size_t i = 0; i < data_.size(); ++i) sum += data_[i] * coefficients_[data_.size() - i - 1];
    value = sum;
    return true;
  }

 private:
  std::vector<double> coefficients_, data_;
  std::size_t at_ = 0;
  bool is_full_ = false;
};

class Sample {
 public:
  explicit Sample(std::size_t rate) : rate_(rate) {}
  double operator()(double value) {
    const bool is_taken = at_ == 0;
    at_ = (at_ + 1) % rate_;
    return is_taken ? value : 0;
  }

 private:
  std::size_t rate_, at_ = 0;
};

/// The two filters of a channel; the suite's numbers.
std::vector<double> first_coefficients(std::size_t channel, std::size_t columns, std::size_t channels) {
  std::vector<double> h(columns);
  for (std::size_t i = 0; i < columns; ++i)
    h[i] = static_cast<double>(i * columns + channel * channels + channel + i + channel + 1);
  return h;
}
std::vector<double> second_coefficients(std::size_t channel, std::size_t columns) {
  std::vector<double> f(columns);
  for (std::size_t i = 0; i < columns; ++i)
    f[i] = static_cast<double>(i * channel + channel * channel + channel + i);
  return f;
}
double signal(std::uint64_t step) { return static_cast<double>(step % 1000); }

template <class Work>
struct StageActor : behavior<Value, Exit> {
  StageActor(Work work, Stage next) : work_(std::move(work)), next_(next) {}
  void on(Value value) {
    if constexpr (std::is_same_v<Work, Filter>) {
      if (!work_(value.value)) return;
    } else {
      value.value = work_(value.value);
    }
    next_.send(value);
  }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  Work work_;
  Stage next_;
};

struct Unchanged {
  double operator()(double value) const { return value; }
};

struct SourcedValue {
  std::size_t channel;
  double value;
};
struct Collection {
  std::vector<double> values;  // one a channel
};

struct Tagger : behavior<Value, Exit> {
  Tagger(std::size_t channel, actor<SourcedValue, Exit> next) : channel_(channel), next_(next) {}
  void on(Value value) { next_.send(SourcedValue{channel_, value.value}); }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  std::size_t channel_;
  actor<SourcedValue, Exit> next_;
};

/// Waits for the values of all channels.
struct Integrator : behavior<SourcedValue, Exit> {
  Integrator(std::size_t channels, actor<Collection, Exit> next) : waiting_(channels), next_(next) {}
  void on(SourcedValue value) {
    waiting_[value.channel].push_back(value.value);
    if (waiting_[value.channel].size() == 1) ++ready_;
    if (ready_ != waiting_.size()) return;
    Collection collection;
    for (std::deque<double>& channel : waiting_) {
      collection.values.push_back(channel.front());
      channel.pop_front();
      if (channel.empty()) --ready_;
    }
    next_.send(std::move(collection));
  }
  void on(Exit) {
    if (++exits_ != waiting_.size()) return;
    next_.send(Exit{});
    stop();
  }
  std::vector<std::deque<double>> waiting_;
  std::size_t ready_ = 0, exits_ = 0;
  actor<Collection, Exit> next_;
};

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

struct Combiner : behavior<Collection, Exit> {
  explicit Combiner(Stage next) : next_(next) {}
  void on(Collection collection) { next_.send(Value{sum_of(collection.values)}); }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  Stage next_;
};

struct Sink : behavior<Value, Exit> {
  explicit Sink(std::vector<double>& result) : result_(result) {}
  void on(Value value) { result_.push_back(value.value); }
  void on(Exit) { stop(); }
  std::vector<double>& result_;
};

struct Branches : behavior<Value, Exit> {
  explicit Branches(std::vector<Stage> banks) : banks_(std::move(banks)) {}
  void on(Value value) {
    for (const Stage bank : banks_) bank.send(value);
  }
  void on(Exit) {
    for (const Stage bank : banks_) bank.send(Exit{});
    stop();
  }
  std::vector<Stage> banks_;
};

struct Boot {};
struct Next {
  actor<Boot, Exit> source;
};

struct Source : behavior<Boot, Exit> {
  Source(actor<Next> producer, Stage next) : producer_(producer), next_(next) {}
  void on(Boot) {
    next_.send(Value{signal(step_++)});
    producer_.send(Next{self()});
  }
  void on(Exit) {
    next_.send(Exit{});
    stop();
  }
  actor<Next> producer_;
  Stage next_;
  std::uint64_t step_ = 0;
};

struct Producer : behavior<Next> {
  explicit Producer(std::uint64_t steps) : left_(steps) {}
  void on(Next next) {
    if (left_-- != 0) return next.source.send(Boot{});
    next.source.send(Exit{});
    stop();
  }
  std::uint64_t left_;
};

Stage make_bank(std::size_t channel, const Iteration& it, actor<SourcedValue, Exit> integrator) {
  const std::size_t columns = it["c"];
  Stage next = spawn<Tagger>(channel, integrator);
  next = spawn<StageActor<Filter>>(Filter(second_coefficients(channel, columns)), next);
  next = spawn<StageActor<Delay>>(Delay(columns - 1), next);
  next = spawn<StageActor<Sample>>(Sample(columns), next);
  next = spawn<StageActor<Filter>>(Filter(first_coefficients(channel, columns, it["a"])), next);
  next = spawn<StageActor<Delay>>(Delay(columns - 1), next);
  return spawn<StageActor<Unchanged>>(Unchanged{}, next);
}

std::vector<double> serially(const Iteration& it) {
  const std::size_t columns = it["c"], channels = it["a"];
  std::vector<std::vector<double>> outputs;  // of each step that has one, by channel
  for (std::size_t channel = 0; channel < channels; ++channel) {
    Delay first_delay(columns - 1), second_delay(columns - 1);
    Filter first(first_coefficients(channel, columns, channels)),
        second(second_coefficients(channel, columns));
    Sample sample(columns);
    std::size_t count = 0;
    for (std::uint64_t step = 0; step < it["s"]; ++step) {
      double value = first_delay(signal(step));
      if (!first(value)) continue;
      value = second_delay(sample(value));
      if (!second(value)) continue;
      if (channel == 0) outputs.emplace_back();
      outputs[count++].push_back(value);
    }
  }
  std::vector<double> sums;
  for (const std::vector<double>& values : outputs) sums.push_back(sum_of(values));
  return sums;
}

std::uint64_t expected_messages(const Iteration& it) {
  const std::uint64_t steps = it["s"], columns = it["c"], channels = it["a"];
  const auto filtered = [&](std::uint64_t values) { return values < columns ? 0 : values - columns + 1; };
  const std::uint64_t once = filtered(steps), twice = filtered(once);
  const std::uint64_t values = 3 * steps + 1 + channels * (3 * steps + 3 * once + 2 * twice) + 2 * twice;
  return values + 4 + channels * 8;  // the exits
}

void iterate(Iteration& it) {
  std::vector<double> result;
  const std::size_t channels = it["a"];
  it.measure([&] {
    const auto producer = spawn<Producer>(it["s"]);
    const auto integrator = spawn<Integrator>(channels, spawn<Combiner>(spawn<Sink>(result)));
    std::vector<Stage> banks;
    for (std::size_t i = 0; i < channels; ++i) banks.push_back(make_bank(i, it, integrator));
    producer.send(Next{spawn<Source>(producer, spawn<Branches>(std::move(banks)))});
  });
  it.verify([&] {
    const std::vector<double> expected = serially(it);
    it.expect("values at the end", result.size(), expected.size());
    it.expect_that("other values than serially", result == expected);
    it.expect_actors(6 + 7 * channels);
    it.expect_messages(expected_messages(it));
  });
}

constexpr Parameter kParameters[] = {
    {"c", 16'384, 64, 2, 1'000'000}, {"s", 34'816, 300}, {"a", 8, 3, 1, 1'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"filterbank", "parallelism", "a signal passes delays and filters side by side",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::filter_bank
