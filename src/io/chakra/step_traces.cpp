// Each chip runs its passes in the order of its schedule: the parts of a pass one after the other,
// in each part the kernels and then the exchanges, for which the chip waits.  Messages between
// stages, and gathers of weights by replicas, overlap with other work.  Schedules: Narayanan et
// al., Efficient large-scale language model training on GPU clusters, SC 2021, sections 2.2 and
// 2.3.

#include "io/chakra/import_trace.hpp"

#include <chakra/chakra.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/counts.hpp"
#include "base/error.hpp"
#include "model/training/plan.hpp"
#include "model/training/stages.hpp"

namespace dfsearch {
namespace {

using training::kRoles;
using training::Role;

constexpr std::int64_t kMostChips = 1024;
constexpr std::int64_t kMostNodes = 20'000'000;

/// Values of CollectiveCommType of the schema.
std::int64_t comm_type(const std::string& exchange) {
  if (exchange == "all_reduce") return 0;
  if (exchange == "all_gather") return 2;
  return exchange == "all_to_all" ? 6 : 7;  // reduce_scatter
}

/// The chips by their places in the groups of all roles.
class Ranks {
 public:
  /// The roles of a dimension are from the inside out, as a plan has them.
  explicit Ranks(const Json& network) {
    for (const Json& dimension : network) {
      for (const Role role : kRoles) {
        const std::int64_t degree = dimension.value(training::name_of(role), std::int64_t{1});
        digits_.push_back({role, degree});
        count_ = saturating_product(count_, degree);
      }
    }
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t degree(Role role) const {
    std::int64_t all = 1;
    for (const auto& [of, degree] : digits_) {
      if (of == role) all = saturating_product(all, degree);
    }
    return all;
  }
  [[nodiscard]] std::int64_t place(std::int64_t rank, Role role) const {
    std::int64_t place = 0, stride = 1;
    for (const auto& [of, degree] : digits_) {
      if (of == role) {
        place += rank % degree * stride;
        stride *= degree;
      }
      rank /= degree;
    }
    return place;
  }
  /// All chips that differ only in these roles.
  [[nodiscard]] std::vector<std::int64_t> group(std::int64_t rank,
                                                std::initializer_list<Role> roles) const {
    std::vector<std::int64_t> members{rank};
    std::int64_t step = 1;
    for (const auto& [of, degree] : digits_) {
      if (std::find(roles.begin(), roles.end(), of) != roles.end()) {
        const std::vector<std::int64_t> before = members;
        members.clear();
        const std::int64_t own = rank / step % degree;
        for (std::int64_t digit = 0; digit < degree; ++digit) {
          for (const std::int64_t member : before) members.push_back(member + (digit - own) * step);
        }
      }
      step *= degree;
    }
    std::sort(members.begin(), members.end());
    return members;
  }
  /// The chip of another stage with the same places in all other groups.
  [[nodiscard]] std::int64_t in_stage(std::int64_t rank, std::int64_t stage) const {
    for (const std::int64_t member : group(rank, {Role::Pipeline})) {
      if (place(member, Role::Pipeline) == stage) return member;
    }
    throw InternalError("a stage without a chip");
  }

 private:
  struct Digit {
    Role role;
    std::int64_t degree;
  };
  std::vector<Digit> digits_;
  std::int64_t count_ = 1;
};

class GroupNumbers {
 public:
  std::int64_t number(const std::vector<std::int64_t>& members) {
    return numbers_.try_emplace(members, static_cast<std::int64_t>(numbers_.size()) + 1)
        .first->second;
  }
  [[nodiscard]] Json json() const {
    Json json = Json::object();
    for (const auto& [members, number] : numbers_) json[std::to_string(number)] = members;
    return json;
  }

 private:
  std::map<std::vector<std::int64_t>, std::int64_t> numbers_;
};

/// One chip's nodes.
class Trace {
 public:
  using Id = std::uint64_t;

  Trace() : out_(&bytes_) { put(version()); }

  /// Appends work after the chip's previous work.  FLOP and bytes are 0 if the result does not
  /// contain them.
  void compute(const std::string& name, double seconds, double flop, double bytes) {
    if (!(seconds > 0.0)) return;
    chakra::Node node = made(name, chakra::COMP_NODE);
    // Traces have whole microseconds; rounding the sum prevents errors from adding up.
    time_ += seconds * 1e6;
    const auto micros = static_cast<std::uint64_t>(std::llround(time_)) - traced_;
    traced_ += micros;
    node.set_duration_micros(micros);
    add(node, "num_ops")->set_int64_val(std::llround(flop));
    add(node, "tensor_size")->set_uint64_val(static_cast<std::uint64_t>(std::llround(bytes)));
    chain(node);
  }
  /// `bytes` are the bytes that each chip contributes.
  Id exchange(const std::string& name, const std::string& kind, double bytes, std::int64_t group,
              bool is_waited_for) {
    chakra::Node node = made(name + " " + kind, chakra::COMM_COLL_NODE);
    add(node, "comm_type")->set_int64_val(comm_type(kind));
    add(node, "comm_size")->set_int64_val(std::llround(bytes));
    add(node, "pg_name")->set_string_val(std::to_string(group));
    if (is_waited_for) return chain(node);
    depend(node);
    put(node);
    return node.id();
  }
  void send(double bytes, std::int64_t from, std::int64_t to, std::int64_t tag) {
    chakra::Node node = message("send", chakra::COMM_SEND_NODE, bytes, from, to, tag);
    depend(node);
    put(node);
  }
  /// Receives a message, for which the next work waits.
  void receive(double bytes, std::int64_t from, std::int64_t to, std::int64_t tag) {
    chakra::Node node = message("receive", chakra::COMM_RECV_NODE, bytes, from, to, tag);
    put(node);
    also_.push_back(node.id());
  }
  /// Makes the next work wait for a node.
  void wait_for(Id id) { also_.push_back(id); }

  std::string take() { return std::move(bytes_); }

 private:
  static chakra::GlobalMetadata version() {
    chakra::GlobalMetadata metadata;
    metadata.set_version("0.0.4");
    return metadata;
  }
  chakra::Node made(const std::string& name, chakra::NodeType type) {
    chakra::Node node;
    node.set_id(next_++);
    node.set_name(name);
    node.set_type(type);
    add(node, "is_cpu_op")->set_bool_val(false);
    return node;
  }
  static chakra::Attribute* add(chakra::Node& node, const char* name) {
    chakra::Attribute* attribute = node.add_attr();
    attribute->set_name(name);
    return attribute;
  }
  chakra::Node message(const char* name, chakra::NodeType type, double bytes, std::int64_t from,
                       std::int64_t to, std::int64_t tag) {
    chakra::Node node = made(fmt::format("{} {}", name, tag), type);
    add(node, "comm_size")->set_int64_val(std::llround(bytes));
    add(node, "comm_src")->set_int32_val(static_cast<std::int32_t>(from));
    add(node, "comm_dst")->set_int32_val(static_cast<std::int32_t>(to));
    add(node, "comm_tag")->set_int32_val(static_cast<std::int32_t>(tag));
    return node;
  }
  void depend(chakra::Node& node) {
    if (last_) node.add_data_deps(*last_);
    for (const Id id : also_) node.add_data_deps(id);
  }
  Id chain(chakra::Node& node) {
    depend(node);
    also_.clear();
    last_ = node.id();
    put(node);
    return node.id();
  }
  void put(const google::protobuf::MessageLite& message) {
    google::protobuf::util::SerializeDelimitedToZeroCopyStream(message, &out_);
  }

  std::string bytes_;
  google::protobuf::io::StringOutputStream out_;
  std::optional<Id> last_;
  std::vector<Id> also_;
  Id next_ = 0;
  double time_ = 0.0;
  std::uint64_t traced_ = 0;  // microseconds in the trace so far
};

struct Pass {
  bool forward = true;
  std::int64_t micro_batch = 0, chunk = 0;
};

std::vector<Pass> passes_of(const std::string& schedule, std::int64_t stage, std::int64_t stages,
                            std::int64_t chunks, std::int64_t micro_batches) {
  const std::int64_t all = micro_batches * chunks;
  const auto pass = [&](bool forward, std::int64_t k) -> Pass {
    const std::int64_t chunk = k % (stages * chunks) / stages;
    if (chunks == 1) return {forward, k, 0};
    return {forward, k / (stages * chunks) * stages + k % stages,
            forward ? chunk : chunks - 1 - chunk};
  };
  std::int64_t first = stages - stage - 1;
  if (chunks > 1) first = 2 * first + (chunks - 1) * stages;
  if (schedule == "gpipe") first = all;
  first = std::min(first, all);
  std::vector<Pass> passes;
  for (std::int64_t k = 0; k < all + first; ++k) {
    if (k < all) passes.push_back(pass(true, k));
    if (k >= first) passes.push_back(pass(false, k - first));
  }
  return passes;
}

class StepTraces {
 public:
  explicit StepTraces(const Json& result)
      : work_(result.at("work")),
        plan_(result.at("plan")),
        schedule_(plan_.at("schedule")),
        zero_(plan_.at("zero")),
        chunks_(plan_.at("chunks")),
        micro_batches_(result.at("micro_batches")),
        optimizer_(result.at("time").at("optimizer")),
        ranks_(result.at("network")),
        stages_(result.at("parallelism").at("pipeline")) {
    std::vector<std::int64_t> layers;  // of each chunk, as if it were a stage
    for (std::int64_t j = 0; j < chunks_; ++j) {
      for (const Json& of : plan_.at("layers")) layers.push_back(of.get<std::int64_t>() / chunks_);
    }
    const Json& parts = work_.at("parts");
    training::LayerOrder order{.every = work_.value("full_attention_every", std::int64_t{0})};
    if (parts.contains("layer")) order.layers = parts["layer"].at("count").get<std::int64_t>();
    if (order.every > 0) other_ = "full_layer";
    contents_ = training::contents_of(layers, 1, order);
  }

  [[nodiscard]] std::int64_t chips() const { return ranks_.count(); }
  [[nodiscard]] std::int64_t nodes() const {
    std::int64_t of_layer = 0;
    for (const Json& part : work_.at("parts")) {
      of_layer = std::max(of_layer, static_cast<std::int64_t>(part.at("exchanges").size()) + 2);
    }
    std::int64_t layers = 0;
    for (const auto& content : contents_) layers = std::max(layers, content.all_layers());
    std::int64_t nodes = saturating_sum(saturating_product(of_layer, layers), 8);
    for (const std::int64_t times : {chips(), micro_batches_, chunks_}) {
      nodes = saturating_product(nodes, times);
    }
    return nodes;
  }

  std::string trace(std::int64_t rank) {
    const std::int64_t stage = ranks_.place(rank, Role::Pipeline);
    Trace trace;
    for (const Pass& pass : passes_of(schedule_, stage, stages_, chunks_, micro_batches_)) {
      run(pass, rank, stage, trace);
    }
    if (zero_ <= 1) {
      const std::string kind = zero_ == 0 ? "all_reduce" : "reduce_scatter";
      for (std::int64_t j = 0; j < chunks_; ++j) replicas(rank, of(stage, j), kind, trace, true);
    }
    double flop = 0.0, bytes = 0.0;
    for (std::int64_t j = 0; j < chunks_; ++j) {
      flop += sum(of(stage, j), "optimizer_flop");
      bytes += sum(of(stage, j), "optimizer_bytes");
    }
    trace.compute("optimizer", optimizer_, flop, bytes);
    if (zero_ == 1 || zero_ == 2) {
      for (std::int64_t j = 0; j < chunks_; ++j) {
        replicas(rank, of(stage, j), "all_gather", trace, true);
      }
    }
    return trace.take();
  }
  [[nodiscard]] Json groups() const { return numbers_.json(); }

 private:
  [[nodiscard]] const training::StageContent& of(std::int64_t stage, std::int64_t chunk) const {
    return contents_[static_cast<std::size_t>(chunk * stages_ + stage)];
  }

  void run(const Pass& pass, std::int64_t rank, std::int64_t stage, Trace& trace) {
    // The place among all chunks, and the neighbours in the direction of the pass.
    const std::int64_t place = pass.chunk * stages_ + stage, last = chunks_ * stages_ - 1;
    const std::int64_t before = pass.forward ? place - 1 : place + 1;
    const std::int64_t behind = pass.forward ? place + 1 : place - 1;
    const double handed = work_.at("handed");
    const auto tag = [&](std::int64_t to) {
      return 2 * (pass.micro_batch * (last + 1) + to) + (pass.forward ? 0 : 1);
    };
    if (before >= 0 && before <= last) {
      trace.receive(handed, ranks_.in_stage(rank, before % stages_), rank, tag(place));
    }
    const training::StageContent& content = of(stage, pass.chunk);
    const char* way = pass.forward ? "forward" : "backward";
    std::vector<Trace::Id> beside;
    if (zero_ == 3) replicas(rank, content, "all_gather", trace, false, &beside);
    const auto part = [&](const char* name, std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) this->part(name, way, rank, trace);
    };
    if (pass.forward) part("first", content.first);
    if (!pass.forward) part("last", content.last);
    part(pass.forward ? "layer" : other_, pass.forward ? content.layers : content.other_layers);
    part(pass.forward ? other_ : "layer", pass.forward ? content.other_layers : content.layers);
    if (pass.forward) part("last", content.last);
    if (!pass.forward) part("first", content.first);
    for (const Trace::Id id : beside) trace.wait_for(id);
    if (zero_ >= 2 && !pass.forward) replicas(rank, content, "reduce_scatter", trace, true);
    if (behind >= 0 && behind <= last) {
      trace.send(handed, rank, ranks_.in_stage(rank, behind % stages_), tag(behind));
    }
  }

  void part(const std::string& name, const std::string& way, std::int64_t rank, Trace& trace) {
    const Json& part = work_.at("parts").at(name);
    std::vector<Trace::Id> beside;
    const auto exchange = [&](bool is_beside) {
      for (const Json& each : part.at("exchanges")) {
        if (each.at("pass") != way || each.at("beside") != is_beside) continue;
        const std::string role = each.at("role");
        const auto id =
            trace.exchange(fmt::format("{} {} {}", name, way, role), each.at("exchange"),
                           each.at("bytes"), group(rank, role), !is_beside);
        if (is_beside) beside.push_back(id);
      }
    };
    exchange(true);
    trace.compute(name + " " + way, part.at(way), part.value(way + "_flop", 0.0),
                  part.value(way + "_bytes", 0.0));
    for (const Trace::Id id : beside) trace.wait_for(id);
    exchange(false);
  }

  std::int64_t group(std::int64_t rank, const std::string& role) {
    for (const Role each : kRoles) {
      if (role == training::name_of(each)) return numbers_.number(ranks_.group(rank, {each}));
    }
    throw InternalError("an exchange of no role");
  }

  /// Sum of a figure over all parts of a chunk.
  [[nodiscard]] double sum(const training::StageContent& content, const std::string& key) const {
    double sum = 0.0;
    const auto add = [&](const char* name, std::int64_t times) {
      if (times > 0) sum += static_cast<double>(times) * work_.at("parts").at(name).value(key, 0.0);
    };
    add("layer", content.layers);
    add(other_, content.other_layers);
    add("first", content.first);
    add("last", content.last);
    return sum;
  }

  /// Exchanges among replicas of the weights, or gradients, of a chunk.
  void replicas(std::int64_t rank, const training::StageContent& content, const std::string& kind,
                Trace& trace, bool is_waited_for, std::vector<Trace::Id>* ids = nullptr) {
    const bool weights = kind == "all_gather";
    const auto exchange = [&](const std::vector<std::int64_t>& members, const std::string& key) {
      double bytes = sum(content, key);
      if (weights) bytes /= static_cast<double>(members.size());
      if (members.size() < 2 || !(bytes > 0.0)) return;
      const Trace::Id id =
          trace.exchange("replicas", kind, bytes, numbers_.number(members), is_waited_for);
      if (ids != nullptr) ids->push_back(id);
    };
    exchange(ranks_.group(rank, {Role::Context, Role::Expert, Role::Data}),
             weights ? "weights" : "gradients");
    exchange(ranks_.group(rank, {Role::Context, Role::Data}),
             weights ? "expert_weights" : "expert_gradients");
  }

  const Json& work_;
  const Json& plan_;
  const std::string schedule_;
  const std::int64_t zero_, chunks_, micro_batches_;
  const double optimizer_;
  const Ranks ranks_;
  const std::int64_t stages_;
  const char* other_ = "expert_layer";  // the name of the second kind of layers
  std::vector<training::StageContent> contents_;
  GroupNumbers numbers_;
};

}  // namespace

void write_step_traces(const Json& result, const std::string& name, const TakeFile& take) {
  const auto refuse = [&](const std::string& what) { throw InputError(name + ": " + what); };
  const Json& plan = result.at("plan");
  const std::string schedule = plan.at("schedule");
  if (!result.at("work").is_object()) {
    refuse(
        "expected a plan without 'execution.stack', as times of a stack are not split into single "
        "exchanges");
  }
  if (schedule == "zb_h1") {
    refuse("expected the schedule 1f1b, interleaved or gpipe for traces, got zb_h1");
  }
  if (!plan.at("offload").empty())
    refuse("expected a plan without offload, which traces do not contain");
  for (const Json& dimension : result.at("network")) {
    if (dimension.contains("order"))
      refuse("expected a network without a mesh, which traces do not support");
  }
  const auto stages = result.at("parallelism").at("pipeline").get<std::int64_t>();
  if (Ranks(result.at("network")).degree(Role::Pipeline) != stages ||
      static_cast<std::int64_t>(plan.at("layers").size()) != stages) {
    refuse("expected as many stages in 'network' and 'plan.layers' as in 'parallelism'");
  }
  StepTraces traces(result);
  if (traces.chips() > kMostChips || traces.nodes() > kMostNodes) {
    refuse(fmt::format("expected at most {} chips and {} nodes for traces, got {} and about {}",
                       kMostChips, kMostNodes, traces.chips(), traces.nodes()));
  }
  for (std::int64_t rank = 0; rank < traces.chips(); ++rank) {
    take(fmt::format(".{}.et", rank), traces.trace(rank));
  }
  take(".json", json_text(traces.groups()));
}

}  // namespace dfsearch
