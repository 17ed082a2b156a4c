// SPDX-License-Identifier: MIT
#include "chip/session/trace_writer.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "chip/capsule/capsule_calls.hpp"
#include "chip/os/wait_names.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kMostMessages = 1 << 20;  // bounds the file: a window shows them where it begins
constexpr std::size_t kMostFlows = 1 << 20;  // children shown with their parent at a time: bounds the memory

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

TraceWriter::TraceWriter(Options options)
    : options_(std::move(options)), file_(options_.file, "the trace"), lanes_(options_.cores) {
  write_header();
}

void TraceWriter::write_header() {
  file_.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  for (std::uint32_t core = 0; core < options_.cores; ++core) {
    const std::uint32_t tile = core / options_.cores_per_tile;
    if (core % options_.cores_per_tile == 0) {
      write_event(
          fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"tile {}"}})", tile, tile));
      write_event(fmt::format(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}})",
                              tile, tile));
    }
    write_event(fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"core {}"}})",
                            tile, core, core));
  }
}

void TraceWriter::write_event(std::string_view fields) {
  file_.append(fmt::format("{}{{{}}}", is_first_ ? "\n" : ",\n", fields));
  is_first_ = false;
}

const std::string& TraceWriter::name_of_function(Addr function) {
  const auto [it, is_new] = names_.try_emplace(function);
  if (is_new) it->second = quoted(short_names_.of(options_.symbol(function)));
  return it->second;
}

void TraceWriter::on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId core,
                             Cycle now) {
  last_ = later(last_, now);
  if (parent != 0) begin_flow(id, core, now);
}

void TraceWriter::on_handler_queued(std::uint64_t id, CoreId core, Cycle now) { begin_flow(id, core, now); }

void TraceWriter::begin_flow(std::uint64_t id, CoreId core, Cycle now) {
  if (!in_window(now) || flows_.size() >= kMostFlows) return;
  flows_.insert(id);
  write_event(fmt::format(R"("ph":"s","cat":"create","name":"create","id":{},"pid":{},"tid":{},"ts":{})",
                          json_exact(id), core.value / options_.cores_per_tile, core.value,
                          microseconds(now)));
}

void TraceWriter::on_dispatched(CoreId core, const DispatchedTask& task, Cycle now) {
  last_ = later(last_, now);
  Lane& lane = lanes_[core.value];
  if (lane.open) end_slice(core, now);
  lane = {.open = true, .task = task, .began = now, .ended = now};
}

void TraceWriter::on_suspended(std::uint64_t, CoreId core, Cycle now) { end_slice(core, now, nullptr, true); }

void TraceWriter::on_resumed(CoreId core, const DispatchedTask& task, Cycle now) {
  on_dispatched(core, task, now);
  lanes_[core.value].task.kind = DispatchedTask::Kind::guest;
}

// Its attempt's slice has ended: what follows is drawn by on_doomed_ended().
void TraceWriter::on_doomed_resumed(CoreId core, const DispatchedTask& task, Cycle now) {
  on_resumed(core, task, now);
  lanes_[core.value].open = false;
}

void TraceWriter::on_finished(std::uint64_t, CoreId core, Cycle now) { end_slice(core, now); }

void TraceWriter::on_committed(std::uint64_t id, CoreId, Cycle, bool) { flows_.erase(id); }

std::string TraceWriter::arguments_of(const AbortReason& reason, std::string_view key) {
  std::string said = fmt::format(R"("{}":"{}")", key, rubato::chip::name_of(reason.cause));
  if (reason.by_task != nullptr)
    said += fmt::format(R"(,"by":{},"by_id":{})", name_of_function(reason.by_task->descriptor.name()),
                        json_exact(reason.by_task->id));
  if (reason.line != LineAddr{})
    said += fmt::format(R"(,"line":{})", quoted(options_.symbol(addr_of(reason.line))));
  return said;
}

void TraceWriter::on_aborted(std::uint64_t id, CoreId core, const AbortReason& reason, bool discarded,
                             Cycle now) {
  last_ = later(last_, now);
  const Lane& lane = lanes_[core.value];
  if (lane.open && lane.task.kind == DispatchedTask::Kind::guest && lane.task.id == id) {
    end_slice(core, now, &reason);
  } else if (in_window(now)) {
    write_event(fmt::format(
        R"("ph":"i","s":"t","cat":"abort","name":"aborted: {}",{},"args":{{"id":{},{},"discarded":{}}})",
        rubato::chip::name_of(reason.cause), position(core, now), json_exact(id),
        arguments_of(reason, "cause"), discarded));
  }
  if (discarded) flows_.erase(id);
}

void TraceWriter::on_capsule(CoreId core, Addr stub, Cycle from, Cycle to, bool doomed) {
  last_ = later(last_, to);
  if (from >= options_.to || to < options_.from) return;
  write_event(fmt::format(
      R"("ph":"X","cat":"capsule","name":{},{},"dur":{},"args":{{"doomed":{},"begin_cycle":{},"end_cycle":{}}})",
      quoted(capsule_name(options_.symbol(stub))), position(core, from),
      microseconds(to) - microseconds(from), doomed, from.value, to.value));
}

void TraceWriter::on_doomed_ended(CoreId core, Cycle now) {
  const Lane& lane = lanes_[core.value];
  if (lane.open) return end_slice(core, now);  // it was stopped by an exception
  last_ = later(last_, now);
  if (lane.ended >= options_.to || now < options_.from) return;
  std::string name = name_of_function(lane.task.descriptor.name());
  name.insert(1, "doomed: ");  // within the quotes
  write_event(fmt::format(
      R"("ph":"X","cat":"doomed","name":{},{},"dur":{},"args":{{"id":{},"begin_cycle":{},"end_cycle":{}}})",
      name, position(core, lane.ended), microseconds(now) - microseconds(lane.ended),
      json_exact(lane.task.id), lane.ended.value, now.value));
}

void TraceWriter::on_internal_finished(CoreId core, DispatchedTask::Kind, Cycle now) { end_slice(core, now); }

std::string TraceWriter::position(CoreId core, Cycle at) const {
  return fmt::format(R"("pid":{},"tid":{},"ts":{})", core.value / options_.cores_per_tile, core.value,
                     microseconds(at));
}

void TraceWriter::end_slice(CoreId core, Cycle now, const AbortReason* aborted, bool suspended) {
  last_ = later(last_, now);
  Lane& lane = lanes_[core.value];
  if (!lane.open) return;
  lane.open = false;
  lane.ended = now;
  const bool flow = lane.task.kind == DispatchedTask::Kind::guest && flows_.contains(lane.task.id);
  if (lane.began >= options_.to || now < options_.from) return;
  const std::string where = position(core, lane.began);
  const double duration = microseconds(now) - microseconds(lane.began);
  if (lane.task.kind != DispatchedTask::Kind::guest) {
    write_event(fmt::format(R"("ph":"X","cat":"internal","name":"{}",{},"dur":{})",
                            lane.task.kind == DispatchedTask::Kind::spill ? "spill" : "refill", where,
                            duration));
    return;
  }
  const TaskDescriptor& d = lane.task.descriptor;
  std::string name = name_of_function(d.name()), cause;
  if (aborted != nullptr) {
    const auto why = rubato::chip::name_of(aborted->cause);
    name.insert(name.size() - 1, fmt::format(" (aborted: {})", why));  // within the quotes
    cause = "," + arguments_of(*aborted, "aborted");
  }
  if (suspended) name.insert(name.size() - 1, " (waits)");
  write_event(fmt::format(
      R"("ph":"X","cat":"task","name":{},{},"dur":{},"args":{{"id":{},"timestamp":{},"locale":{},"type":"{}","speculative":{},"begin_cycle":{},"end_cycle":{}{}}})",
      name, where, duration, json_exact(lane.task.id), d.has_timestamp ? json_exact(d.timestamp) : "null",
      d.has_locale ? json_exact(d.locale) : "null", name_of(d.type), lane.task.speculative, lane.began.value,
      now.value, cause));
  if (!flow) return;
  // A task that will run again keeps its flow: a step to this attempt, further ones to those that follow.
  write_event(fmt::format(R"("ph":"{}","cat":"create","name":"create","id":{},{})",
                          aborted != nullptr || suspended ? "t" : R"(f","bp":"e)", json_exact(lane.task.id),
                          where));
}

void TraceWriter::write_instant(std::string_view name, std::uint64_t id, TileId tile, Cycle now) {
  last_ = later(last_, now);
  if (!in_window(now)) return;
  write_event(fmt::format(
      R"("ph":"i","s":"p","cat":"internal","name":"{}","pid":{},"tid":{},"ts":{},"args":{{"id":{}}})", name,
      tile.value, tile.value * options_.cores_per_tile, microseconds(now), json_exact(id)));
}

void TraceWriter::on_spilled(std::uint64_t id, TileId tile, Cycle now) {
  write_instant("spilled", id, tile, now);
}

void TraceWriter::on_refilled(std::uint64_t id, TileId tile, Cycle now) {
  write_instant("refilled", id, tile, now);
}

void TraceWriter::on_gvt(VirtualTime gvt, Cycle now) {
  last_ = later(last_, now);
  // Beyond every task (none is active) there is nothing to draw.
  if (!in_window(now) || gvt.timestamp == gvt_ || gvt.timestamp == kMaxVirtualTime.timestamp) return;
  gvt_ = gvt.timestamp;
  write_event(fmt::format(R"("ph":"C","name":"GVT timestamp","pid":0,"ts":{},"args":{{"timestamp":{}}})",
                          microseconds(now), gvt_));
}

void TraceWriter::write_thread_slice(int thread, std::string_view name, Cycle from, Cycle to,
                                     std::string_view arguments) {
  last_ = later(last_, to);
  if (from >= options_.to || to < options_.from || from == to) return;
  const std::uint32_t lanes = (options_.cores - 1) / options_.cores_per_tile + 1;  // behind the tiles
  if (threads_.insert(thread).second) {
    if (threads_.size() == 1) {
      write_event(
          fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":"threads"}})", lanes));
      write_event(
          fmt::format(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":-1}})", lanes));
    }
    write_event(
        fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"thread {}"}})", lanes,
                    thread, thread));
  }
  write_event(
      fmt::format(R"("ph":"X","cat":"thread","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})",
                  quoted(std::string(name)), lanes, thread, microseconds(from),
                  microseconds(to) - microseconds(from), arguments));
}

void TraceWriter::on_ran(int thread, CoreId core, Cycle from, Cycle to) {
  write_thread_slice(
      thread, fmt::format("runs on core {}", core.value), from, to,
      fmt::format(R"("core":{},"begin_cycle":{},"end_cycle":{})", core.value, from.value, to.value));
  if (from >= options_.to || to < options_.from || from == to) return;
  write_event(fmt::format(R"("ph":"X","cat":"thread","name":"thread {}",{},"dur":{})", thread,
                          position(core, from), microseconds(to) - microseconds(from)));
}

void TraceWriter::on_waited(int thread, const ThreadWait& wait, const std::vector<Addr>& chain, Cycle from,
                            Cycle to, int by) {
  const std::vector<Called> calls = called_by(chain, options_.symbol, options_.has_source);
  const std::size_t user = user_frame(calls);
  const std::string where = user < calls.size() ? calls[user].function
                            : calls.empty()     ? ""
                                                : calls.front().function;
  const std::string what =
      wait.word != 0 ? options_.symbol(object_of_wait(wait.word, calls, options_.symbol)) : "";
  const std::string name =
      fmt::format("{}{}{}", describe_wait(wait.kind, calls), what.empty() ? "" : " ", what);
  write_thread_slice(
      thread, name, from, to,
      fmt::format(R"("at":{},"address":"{:#x}","held_by":{},"ended_by":{},"begin_cycle":{},"end_cycle":{})",
                  quoted(where), wait.word, wait.holder, by, from.value, to.value));
}

void TraceWriter::on_message(const SeenMessage& m) {
  if (!in_window(m.when) || messages_ == kMostMessages) return;
  last_ = later(last_, m.when);
  ++messages_;
  constexpr std::string_view nodes[] = {"caches", "home", "memory"};
  const auto node = static_cast<std::uint32_t>(m.node);
  const std::uint64_t lane = options_.cores + std::uint64_t{m.at.value} * std::size(nodes) + node;
  if (message_lanes_.insert(lane).second)
    write_event(fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}})",
                            m.at.value, lane, nodes[node]));
  const std::string where =
      fmt::format(R"("pid":{},"tid":{},"ts":{})", m.at.value, lane, microseconds(m.when));
  write_event(fmt::format(
      R"("ph":"X","cat":"coherence","name":"{}{}",{},"dur":{},"args":{{"line":"{:#x}","transaction":{},"cycle":{}}})",
      m.is_sent ? "asks: " : "", m.kind, where, microseconds(Cycle{1}), addr_of(m.line), m.transaction,
      m.when.value));
  write_event(fmt::format(R"("ph":"{}","cat":"coherence","name":"transaction","id":{},{})",
                          m.is_sent ? "s" : "t", m.transaction, where));
}

void TraceWriter::close() {
  if (closed_) return;
  closed_ = true;
  for (std::uint32_t core = 0; core < options_.cores; ++core) end_slice(CoreId{core}, last_);
  nlohmann::json about = nlohmann::json::parse(options_.about);
  for (const auto& [function, name] : short_names_.all()) about["functions"][name] = function;
  constexpr auto replace = nlohmann::json::error_handler_t::replace;
  file_.append(fmt::format("\n],\"otherData\":{}}}\n", about.dump(-1, ' ', false, replace)));
  file_.close();
}

}  // namespace rubato::chip
