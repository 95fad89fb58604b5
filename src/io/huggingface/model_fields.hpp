#pragma once
// The fields of the config file of a checkpoint, read one by one.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/workloads/llm/transformer.hpp"
#include "io/text/input_messages.hpp"

namespace dfsearch {

/// A JSON object whose fields are asked for by name; finish() reports those that nobody knows.
/// A wrong value is reported and read as nothing, and so is null.
class ModelFields {
 public:
  /// Throws InputError if the text is not a JSON object, nests deeper than 100 levels or has a
  /// field twice; `name` stands for the file in messages.
  ModelFields(const std::string& text, const std::string& name);

  [[nodiscard]] bool has(const std::string& field) const;
  /// A whole number from `least` to 2^40.
  std::optional<std::int64_t> count(const std::string& field, std::int64_t least = 1);
  std::int64_t required_count(const std::string& field, std::int64_t least = 1);
  bool flag(const std::string& field, bool otherwise);
  std::optional<std::string> word(const std::string& field);
  /// A number from 0 to 1.
  std::optional<double> share(const std::string& field);
  /// A list of whole numbers from 0.
  std::optional<std::set<std::int64_t>> counts(const std::string& field);
  /// A list of words, or of numbers, as text.
  std::optional<std::vector<std::string>> list(const std::string& field);
  /// A map as fields of its own, with the same messages; of something else, or of nothing, none.
  std::optional<ModelFields> map(const std::string& field);

  /// What a field is where the file has none.
  void assume(const std::string& field, std::int64_t value);
  /// Replaces the fields by those in a map of the file, and by these fields beside it that the map
  /// lacks.
  void enter(const std::string& field, std::initializer_list<const char*> beside);
  /// Fields that change neither kernels nor sizes.
  void ignore(std::initializer_list<const char*> fields);
  /// The value of a field has an effect that a config cannot say.
  void refuse(const std::string& field, const std::string& what);
  /// Reports all fields that nobody asked for or ignored.
  void finish(const std::string& family);
  [[nodiscard]] InputMessages& messages() { return *messages_; }

 private:
  ModelFields(Place place, nlohmann::json object, std::shared_ptr<InputMessages> messages)
      : place_(std::move(place)), object_(std::move(object)), messages_(std::move(messages)) {}
  /// The value of a field that is there and not null; the field is known from now on.
  const nlohmann::json* value(const std::string& field);
  void expected(const std::string& field, const std::string& what, const nlohmann::json& got);

  Place place_;
  nlohmann::json object_;
  std::set<std::string, std::less<>> known_;
  std::shared_ptr<InputMessages> messages_ = std::make_shared<InputMessages>();
};

/// What a config says of a model, beside its shape.
struct Imported {
  Transformer model;
  std::int64_t sequence = 1;
  std::string stored = {};    ///< the data type of its weights, if it is none of 16 bits
  std::string family = {};    ///< its `model_type`
  std::string left_out = {};  ///< of the model, for people
};

/// Reads the fields as the family of `model_type` means them; what is wrong with them is in their
/// messages.  Throws InputError for a family that is not known.
Imported read_model(ModelFields& fields);

/// The key `precision` of served workloads (docs/serving.md), empty for a checkpoint that is not
/// quantized: by the field `quantization_config` of its config, or by the file of NVIDIA's Model
/// Optimizer beside it.  Wrong or unknown ways are reported.
std::string precision_of(ModelFields& config);
std::string precision_of_optimizer(ModelFields& file);

}  // namespace dfsearch
