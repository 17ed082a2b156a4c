// The input of intruder: flows that were cut into packets, and the packets shuffled. Some flows hold one of
// the strings that attacks are known by; the others are checked to hold none.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::stamp::intruder {

using FlowId = std::uint64_t;

/// A part of a flow; `data` is the traffic's own and does not change.
struct Packet {
  FlowId flow;
  std::uint32_t fragment;   ///< its number, from 0
  std::uint32_t fragments;  ///< of the flow
  std::uint32_t bytes;
  const char* data;
};

struct TrafficShape {
  std::uint64_t flows;
  std::uint64_t attacks;  ///< percentage of the flows
  std::uint64_t longest;  ///< bytes of a flow, and so its most packets
};

class Traffic {
 public:
  Traffic(const TrafficShape& shape, std::uint64_t seed) : text_(shape.flows), is_attack_(shape.flows) {
    Rng rng(seed);
    make_signatures(rng);
    for (FlowId flow = 0; flow < shape.flows; ++flow) {
      text_[flow] = harmless(1 + rng.below(shape.longest), rng);
      is_attack_[flow] = rng.below(100) < shape.attacks;
      if (is_attack_[flow]) put_attack(text_[flow], rng);
      cut(flow, rng);
    }
    for (std::size_t i = packets_.size(); i > 1; --i) std::swap(packets_[i - 1], packets_[rng.below(i)]);
  }

  const std::vector<Packet>& packets() const { return packets_; }
  std::uint64_t flows() const { return text_.size(); }
  const std::string& text(FlowId flow) const { return text_[flow]; }
  bool is_attack(FlowId flow) const { return is_attack_[flow]; }

  /// Whether a text holds a signature, in capital letters or small ones.
  bool has_signature(std::string text) const {
    for (char& c : text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return std::any_of(signatures_.begin(), signatures_.end(), [&](const std::string& signature) {
      return text.find(signature) != std::string::npos;
    });
  }

 private:
  static constexpr std::uint64_t kSignatures = 72;

  static char letter(Rng& rng) { return static_cast<char>('a' + rng.below(26)); }
  void make_signatures(Rng& rng) {
    for (std::uint64_t i = 0; i < kSignatures; ++i) {
      std::string signature(6 + rng.below(11), ' ');
      for (char& c : signature) c = letter(rng);
      signatures_.push_back(std::move(signature));
    }
  }
  std::string harmless(std::uint64_t bytes, Rng& rng) const {
    std::string text(bytes, ' ');
    do {
      for (char& c : text) c = static_cast<char>(rng.below(2) == 0 ? letter(rng) : letter(rng) - 'a' + 'A');
    } while (has_signature(text));
    return text;
  }
  void put_attack(std::string& text, Rng& rng) const {
    const std::string& signature = signatures_[rng.below(signatures_.size())];
    if (text.size() < signature.size()) text.resize(signature.size(), '.');
    text.replace(rng.below(text.size() - signature.size() + 1), signature.size(), signature);
  }
  /// Into packets of random sizes.
  void cut(FlowId flow, Rng& rng) {
    const std::string& text = text_[flow];
    const auto count = static_cast<std::uint32_t>(1 + rng.below(text.size()));
    std::vector<std::size_t> ends{text.size()};
    for (std::uint32_t i = 1; i < count; ++i) ends.push_back(1 + rng.below(text.size()));
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::size_t begin = 0;
    for (std::uint32_t i = 0; i < ends.size(); ++i) {
      packets_.push_back({flow, i, static_cast<std::uint32_t>(ends.size()),
                          static_cast<std::uint32_t>(ends[i] - begin), text.data() + begin});
      begin = ends[i];
    }
  }

  std::vector<std::string> signatures_;
  std::vector<std::string> text_;
  std::vector<bool> is_attack_;
  std::vector<Packet> packets_;
};

}  // namespace rubato::apps::stamp::intruder
