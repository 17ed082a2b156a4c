// SPDX-License-Identifier: MIT
#include "chip/session/trace_writer.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace rubato::chip {
namespace {

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
  if (is_new) it->second = quoted(options_.symbol(function));
  return it->second;
}

void TraceWriter::on_created(std::uint64_t id, std::uint64_t parent, const TaskDescriptor&, CoreId core,
                             Cycle now) {
  last_ = later(last_, now);
  if (parent == 0 || !in_window(now) || flows_.size() >= kMostFlows) return;
  flows_.insert(id);
  write_event(fmt::format(R"("ph":"s","cat":"create","name":"create","id":{},"pid":{},"tid":{},"ts":{})",
                          json_exact(id), core.value / options_.cores_per_tile, core.value,
                          microseconds(now)));
}

void TraceWriter::on_dispatched(CoreId core, const DispatchedTask& task, Cycle now) {
  last_ = later(last_, now);
  Lane& lane = lanes_[core.value];
  if (lane.open) end_slice(core, now);
  lane = {true, task, now};
}

void TraceWriter::on_suspended(std::uint64_t, CoreId core, Cycle now) {
  end_slice(core, now, std::nullopt, true);
}

void TraceWriter::on_resumed(CoreId core, const DispatchedTask& task, Cycle now) {
  on_dispatched(core, task, now);
  lanes_[core.value].task.kind = DispatchedTask::Kind::guest;
}

void TraceWriter::on_finished(std::uint64_t, CoreId core, Cycle now) { end_slice(core, now); }

void TraceWriter::on_committed(std::uint64_t id, CoreId, Cycle, bool) { flows_.erase(id); }

void TraceWriter::on_aborted(std::uint64_t id, CoreId core, AbortCause cause, bool discarded, Cycle now) {
  last_ = later(last_, now);
  const Lane& lane = lanes_[core.value];
  if (lane.open && lane.task.kind == DispatchedTask::Kind::guest && lane.task.id == id) {
    end_slice(core, now, cause);
  } else if (in_window(now)) {
    write_event(fmt::format(
        R"("ph":"i","s":"t","cat":"abort","name":"aborted: {}",{},"args":{{"id":{},"cause":"{}","discarded":{}}})",
        rubato::chip::name_of(cause), position(core, now), json_exact(id), rubato::chip::name_of(cause),
        discarded));
  }
  if (discarded) flows_.erase(id);
}

void TraceWriter::on_internal_finished(CoreId core, DispatchedTask::Kind, Cycle now) { end_slice(core, now); }

std::string TraceWriter::position(CoreId core, Cycle at) const {
  return fmt::format(R"("pid":{},"tid":{},"ts":{})", core.value / options_.cores_per_tile, core.value,
                     microseconds(at));
}

void TraceWriter::end_slice(CoreId core, Cycle now, std::optional<AbortCause> aborted, bool suspended) {
  last_ = later(last_, now);
  Lane& lane = lanes_[core.value];
  if (!lane.open) return;
  lane.open = false;
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
  if (aborted) {
    const auto why = rubato::chip::name_of(*aborted);
    name.insert(name.size() - 1, fmt::format(" (aborted: {})", why));  // within the quotes
    cause = fmt::format(R"(,"aborted":"{}")", why);
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
                          aborted || suspended ? "t" : R"(f","bp":"e)", json_exact(lane.task.id), where));
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

void TraceWriter::close() {
  if (closed_) return;
  closed_ = true;
  for (std::uint32_t core = 0; core < options_.cores; ++core) end_slice(CoreId{core}, last_);
  file_.append("\n]}\n");
  file_.close();
}

}  // namespace rubato::chip
