#pragma once
// One pass of the model through the stages of a replica: its time and memory as functions of the
// batch.  The coefficients are computed once for each structure.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/workloads/blocks/form_counts.hpp"
#include "model/serving/deployment.hpp"
#include "model/serving/fused_chain.hpp"
#include "model/serving/links.hpp"
#include "model/serving/requests.hpp"
#include "model/serving/server_memory.hpp"

namespace dfsearch::serving {

/// The work of a rank in one pass.
struct PassWork {
  double requests = 0.0;           ///< requests that decode
  double tokens_of_request = 1.0;  ///< tokens of each request; more than one: drafts are checked
  double all_tokens = 0.0;         ///< tokens of all ranks of a stage; 0: each rank has the same
  PrefillWork prefill;

  [[nodiscard]] double tokens() const { return requests * tokens_of_request + prefill.tokens; }
};

/// Seconds until the next pass may begin, and until this pass ends.
struct PassTime {
  double period = 0.0;
  double latency = 0.0;
};

/// All kernels of one kind in a pass.
struct Operation {
  std::string name;
  double count = 0.0;     ///< number of kernels
  double seconds = 0.0;   ///< time of all of them
  double reached = 0.0;   ///< share of the roofline; 0: not a kernel of a chip
  std::string rate = {};  ///< key of the engine from which the time follows
};

/// Seconds on one chip that holds all of the model; each of m chips takes at least an m-th of them.
struct LeastTimes {
  double host = 0.0;     ///< of a pass; more chips do not reduce it
  double weights = 0.0;  ///< to read the weights of one token
  double cache = 0.0;    ///< to read the cache of a request
  double token = 0.0;    ///< products of a token without the head
  double head = 0.0;     ///< product of the head for a token
  double context = 0.0;  ///< products of attention for a token that decodes
  double pairs = 0.0;    ///< products of attention for the prefill of a request
};

/// The kinds of layers of a model.  A transformer of equal layers may have four kinds: with or
/// without experts, each with a view of all tokens or of a window.  Refers to the model.
class LayerKinds {
 public:
  explicit LayerKinds(const Transformer& model);

  [[nodiscard]] const std::vector<LayerForm>& forms() const;
  /// The layers of each kind in [begin, end).
  [[nodiscard]] FormCounts counts(std::int64_t begin, std::int64_t end) const;

 private:
  const Transformer& model_;
  std::vector<LayerForm> own_;
};

/// The coefficients of a structure.  Immutable; any thread may use it.
class Pass {
 public:
  /// The structure must be legal().
  Pass(const Task& task, const Transformer& model, const Means& means, const Structure& structure);

  /// The time by (5) to (8) of docs/serving.md.  It never falls if a number of `work` rises.
  [[nodiscard]] PassTime time(const PassWork& work) const;
  /// The parts of the time of the slowest stage or, if `of_all`, of all stages.  Their sum is the
  /// period or the latency.
  [[nodiscard]] PartTimes parts(const PassWork& work, bool of_all) const;
  /// The kernels of the slowest stage, in the order of a pass, if kernels run one by one.
  [[nodiscard]] std::vector<Operation> operations(const PassWork& work) const;
  /// Seconds of a layer for multi-token prediction, for one token of each request: a layer like the
  /// last ones, the head, and a product that joins the token and the last output of the model.
  [[nodiscard]] double prediction_layer(double requests) const;

  /// (14): bytes of the fullest chip, for the caches `cached` of `requests` requests, the values of
  /// `tokens` tokens in work, and `drafts` bytes of drafting.
  [[nodiscard]] double memory(double requests, const Cached& cached, double tokens,
                              double drafts) const;
  /// The parts of the memory of the fullest chip; `cache` is the room for caches.
  [[nodiscard]] ServerMemory parts_of_memory(double requests, const Cached& cached, double tokens,
                                             double drafts) const;
  /// The structure must have one chip.
  [[nodiscard]] LeastTimes least_times() const;
  /// Bytes of the weights of a stage on a chip; `prediction_weights`: of a prediction layer.
  [[nodiscard]] double weights(std::size_t stage) const { return stages_[stage].weights; }
  [[nodiscard]] double prediction_weights() const { return prediction_weights_; }
  /// Whether some layer has to be cut into partitions; the cuts may depend on the work.
  [[nodiscard]] bool is_cut() const;
  /// Bytes of the cache of a request on a chip that has all layers; `prediction_cached_bytes`: in a
  /// prediction layer.
  [[nodiscard]] double cached_bytes(const Cached& cached) const;
  [[nodiscard]] double prediction_cached_bytes(const Cached& cached) const {
    return cached.tokens[last_kind().held] * last_kind().attention.cached;
  }
  /// The cached bytes in whole pages, as a server allocates them (14c).
  [[nodiscard]] double held_bytes(const Cached& cached) const;
  /// Bytes of the states of a request in the stage with most of them.
  [[nodiscard]] double state_bytes() const;

 private:
  /// A product takes the longer of the times of its FLOP and of its bytes.
  struct Product {
    double compute;  ///< seconds for a token
    double weights;  ///< seconds for the weight
    double in, out;  ///< seconds for a token's inputs and outputs
    double bytes;    ///< of the weight
    const char* name = "";
    Module module = Module::Head;

    [[nodiscard]] double values() const { return in + out; }
  };
  struct Experts {
    double rows_of_token = 0.0;  ///< rows of a rank of experts for each token of the stage
    double compute = 0.0;        ///< seconds for one row
    double in = 0.0, out = 0.0;  ///< seconds for the values of a row
    double weights = 0.0;        ///< seconds for the weights of all experts of a rank
    double bytes = 0.0;          ///< of the experts of a rank
    double padding = 0.0;        ///< rows that fill up tiles if every expert of the rank is used
    double log_miss = 0.0;       ///< ln(1 - k/E) for k of E experts that a token uses
    double ranks = 1.0;          ///< ranks with requests of their own
    double chance = 0.0;  ///< rows of the fullest rank beyond the mean, over the root of the mean

    /// Rows of the fullest rank of experts.
    [[nodiscard]] double rows(double all_tokens) const {
      const double mean = rows_of_token * all_tokens;
      return mean + chance * std::sqrt(mean);
    }

    /// The share of the experts that at least one of the tokens uses.
    [[nodiscard]] double hit(double all_tokens) const { return -std::expm1(log_miss * all_tokens); }
    [[nodiscard]] double products(double all_tokens) const {
      return compute * (rows(all_tokens) + hit(all_tokens) * padding);
    }
    [[nodiscard]] double all(const PassWork& work) const {
      return work.all_tokens > 0.0 ? work.all_tokens : work.tokens() * ranks;
    }
  };
  /// Attention of a layer; all 0 if the layer has no attention.
  struct Attention {
    std::array<double, kSights> decode_compute{};  ///< seconds for a token of a request
    std::array<double, kSights> decode_cache{};    ///< seconds for a request
    double prefill_compute = 0.0;                  ///< seconds for a pair of a query and a key
    double prefill_cache = 0.0;                    ///< seconds for an entry of the cache
    double cached = 0.0;                           ///< bytes of a token

    void scale(double factor);
  };
  /// (6a): blocks with a state, and scores of an index.
  struct Scan {
    double token = 0.0;         ///< seconds for a token of a prompt
    double state = 0.0;         ///< seconds to read and write the states of a request
    double start = 0.0;         ///< seconds of a pass
    double pair = 0.0;          ///< seconds for a pair of an index
    double decode_index = 0.0;  ///< seconds for a token that decodes
    double bytes = 0.0;         ///< of the states of a request
  };
  /// A layer of one kind.
  struct Layer {
    std::vector<Product> products;
    std::size_t last_of_attention = 0;  ///< the product that reads the output of attention
    bool has_experts = false;
    Experts experts;
    double host = 0.0;
    LinkTime reduce;       ///< exchange after attention, for each token of a rank
    LinkTime network;      ///< exchange after the MLP or experts, for each token of a rank
    LinkTime network_all;  ///< exchange after the MLP or experts, for each token of the stage
    double weights = 0.0;  ///< bytes
    double beside = 0.0;   ///< further bytes that a server holds: of norms, and of routers
    Attention attention;
    Attention far;  ///< attention to compressed keys, for each token that a key stands for
    Scan scan;
    std::size_t seen = kAll;      ///< view of attention, as an index into Views
    std::size_t held = kAll;      ///< view of the tokens in the cache
    std::size_t seen_far = kAll;  ///< view of compressed keys

    [[nodiscard]] double cached() const { return attention.cached + far.cached; }
  };
  struct Stage {
    FormCounts layers{};  ///< number of layers of each kind
    bool is_last = false;
    double weights = 0.0;  ///< bytes
    double held = 0.0;     ///< bytes that a server holds for them
    bool repeats = false;  ///< the stage is equal to the stage before, and takes its time
  };
  /// Times of a layer of each kind, computed once for all stages.
  using LayerTimes = std::array<std::optional<PartTimes>, kMostForms>;

  /// Seconds of the products and of the reads of the cache in attention of a layer.
  struct Scoring {
    double decode = 0.0, decode_cache = 0.0, prefill = 0.0, prefill_cache = 0.0;
  };
  static Scoring scoring(const Layer& layer, const PassWork& work);

  /// Parameters of a product, and its input and output values for a token.
  struct Size {
    double parameters, in, out;
    const char* name = "";
  };
  /// `made` is the number of elements of a key and its value that are computed for each head of
  /// keys.
  static std::vector<Size> attention_products(const Transformer& model, double t, double made);
  static std::vector<Size> mlp_products(const Transformer& model, double width);
  [[nodiscard]] Product product(const Size& size, Module module) const;
  [[nodiscard]] Product product(const Size& size, Number number, Number stored) const;
  void add_products(const std::vector<Size>& list, Module module, Layer& layer) const;
  [[nodiscard]] ServerMemory memory_of_stage(const Stage& stage, double tokens, double requests,
                                             double drafts) const;
  void add_experts(const Transformer& model, const Links& links, Layer& layer) const;
  void add_exchange(const Transformer& model, const Links& links, Layer& layer) const;
  // mixed_pass.cpp
  [[nodiscard]] Layer layer_of(const LayerForm& form, const Views& views, const Links& links) const;
  void add_compressed(const LayerForm& form, Layer& layer) const;
  [[nodiscard]] Scan scan_of(const LayerForm& form) const;
  void put_scan(const Scan& scan, const PassWork& work, PartTimes& parts) const;
  [[nodiscard]] double page_tokens() const;
  [[nodiscard]] Attention attention_of(const Transformer& model) const;
  /// Bytes of the cache and the states of a request in a stage, in pages of `page` tokens (14c).
  [[nodiscard]] double cached_in(const Stage& stage, const Cached& cached, double page) const;
  [[nodiscard]] const Layer& last_kind() const { return kinds_[last_kind_]; }
  void put(const Product& product, double tokens, PartTimes& parts) const;
  void put(const Layer& layer, const PassWork& work, PartTimes& parts) const;
  void put_fused(const Layer& layer, const PassWork& work, PartTimes& parts) const;
  [[nodiscard]] std::vector<FusedKernel> chain_of(const Layer& layer, const PassWork& work) const;
  void put(const Stage& stage, const PassWork& work, LayerTimes& known, PartTimes& parts) const;
  [[nodiscard]] PartTimes parts_of(const Stage& stage, const PassWork& work, LayerTimes& known,
                                   LayerTimes& of_half) const;
  [[nodiscard]] Operation operation(const Product& product, double count, double tokens) const;
  void add_operations(const Layer& layer, double count, const PassWork& work,
                      std::vector<Operation>& list) const;

  const Transformer& model_;
  const Structure structure_;
  const Precision& precision_;
  const Pool& pool_;
  const Task& task_;
  std::array<Seen, kSights> seen_{};  ///< tokens that layers see, by view
  double working_ = 0.0;              ///< bytes of the values of a token in work
  std::vector<Layer> kinds_;
  std::size_t last_kind_ = 0;  ///< kind of the last layer with attention
  Product head_;
  Product joining_;
  double prediction_weights_ = 0.0;
  LinkTime hop_;
  std::vector<Stage> stages_;
};

/// Bytes of the cache and states of a request, over all heads and layers.
double handed_bytes(const Task& task, const Structure& structure, const Cached& cached);

/// Whether the degrees of the structure fit the model and the network.
bool legal(const Task& task, const Structure& structure);
/// The rule that the structure breaks, with the key; empty if it is legal.
std::string misfit(const Task& task, const Structure& structure);
/// Whether the structure is legal, and the pool has enough chips for the replicas.
bool has_room(const Task& task, const Role& role);

}  // namespace dfsearch::serving
