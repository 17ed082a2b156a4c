// intruder: packets are captured from a queue, put together to flows in a tree of lists, and the flows
// searched for the signatures of attacks. The two first steps are transactions that meet at the queues' ends;
// their results are private then. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "apps/stamp/common/program.hpp"
#include "apps/stamp/intruder/decoder.hpp"
#include "apps/stamp/intruder/traffic.hpp"

namespace rubato::apps::stamp::intruder {
namespace {

class Intruder final : public Program {
 public:
  explicit Intruder(const Settings& settings)
      : traffic_({settings["flows"], settings["attacks"], settings["longest"]}, settings.seed),
        by_thread_(settings.threads) {
    for (const Packet& packet : traffic_.packets()) captured_.push(&packet);
  }

  void work(Worker& worker) override {
    Found& found = by_thread_[worker.index()];
    for (const Packet* packet = nullptr; capture(packet);) {
      __transaction_atomic { decoder_.add(*packet); }
      Whole whole;
      bool is_there = false;
      __transaction_atomic { is_there = decoder_.take(whole); }
      if (is_there) detect(whole, found);
    }
  }

  std::string check() override {
    std::vector<int> seen(traffic_.flows());
    for (const Found& found : by_thread_) {
      if (found.wrong_texts != 0) return "flows were put together wrongly";
      for (const FlowId flow : found.harmless) ++seen[flow];
      for (const FlowId flow : found.attacks) seen[flow] += 2;
    }
    for (FlowId flow = 0; flow < traffic_.flows(); ++flow) {
      if (seen[flow] != (traffic_.is_attack(flow) ? 2 : 1))
        return "flow " + std::to_string(flow) + " was not seen once as what it is";
    }
    return decoder_.is_empty() ? "" : "packets are left over";
  }

  std::uint64_t digest() override {
    std::vector<FlowId> attacks;
    for (const Found& found : by_thread_)
      attacks.insert(attacks.end(), found.attacks.begin(), found.attacks.end());
    std::sort(attacks.begin(), attacks.end());
    std::uint64_t hash = traffic_.flows();
    for (const FlowId flow : attacks) hash = mix64(hash ^ flow);
    return hash;
  }

 private:
  struct alignas(64) Found {
    std::vector<FlowId> harmless, attacks;
    std::uint64_t wrong_texts = 0;
  };

  bool capture(const Packet*& packet) {
    bool is_there = false;
    __transaction_atomic { is_there = captured_.pop(packet); }
    return is_there;
  }
  /// The text is this thread's own since it was taken from the decoder.
  void detect(const Whole& whole, Found& found) const {
    std::string text(whole.text, whole.bytes);
    delete[] whole.text;
    if (text != traffic_.text(whole.flow)) ++found.wrong_texts;
    (traffic_.has_signature(std::move(text)) ? found.attacks : found.harmless).push_back(whole.flow);
  }

  Traffic traffic_;
  alignas(64) Queue<const Packet*> captured_;
  alignas(64) Decoder decoder_;
  std::vector<Found> by_thread_;
};

const Description kDescription{
    .name = "intruder",
    .summary = "STAMP's intrusion detection: flows are put together from packets.",
    .parameters = {{"flows", 16'384, 1'024, 1, 100'000'000, "how many"},
                   {"attacks", 10, 10, 0, 100, "percentage of the flows that are attacks"},
                   {"longest", 128, 16, 1, 65'536, "bytes of the longest flow, and its most packets"}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      return std::make_unique<Intruder>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::intruder

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::intruder::kDescription, argc, argv);
}
