#pragma once
// The fields of the config file of a checkpoint, read one by one.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/input_messages.hpp"

namespace dfsearch {

/// A JSON object whose fields are read by name.  A wrong value is reported and read as nothing;
/// null is read as nothing.
class ModelFields {
 public:
  /// Throws InputError if the text is not a JSON object, nests deeper than 100 levels or has a
  /// field twice; `name` stands for the file in messages.
  ModelFields(const std::string& text, const std::string& name);

  [[nodiscard]] bool has(const std::string& field) const;
  /// A whole number from `least` to 2^40.
  std::optional<std::int64_t> count(const std::string& field, std::int64_t least = 1);
  std::int64_t required_count(const std::string& field, std::int64_t least = 1);
  std::optional<std::string> word(const std::string& field);
  /// A list of words, or of numbers, as text.
  std::optional<std::vector<std::string>> list(const std::string& field);
  /// The fields of a map, with the same messages.
  std::optional<ModelFields> map(const std::string& field);

  /// Reports a field whose value no config can express.
  void refuse(const std::string& field, const std::string& what);
  [[nodiscard]] const nlohmann::json& object() const { return object_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] InputMessages& messages() { return *messages_; }

 private:
  ModelFields(Place place, nlohmann::json object, std::shared_ptr<InputMessages> messages)
      : place_(std::move(place)), object_(std::move(object)), messages_(std::move(messages)) {}
  /// The value of a field; null if it is missing or JSON's null.
  [[nodiscard]] const nlohmann::json* value(const std::string& field) const;
  void expected(const std::string& field, const std::string& what, const nlohmann::json& got);

  Place place_;
  nlohmann::json object_;
  std::shared_ptr<InputMessages> messages_ = std::make_shared<InputMessages>();
};

/// The key `precision` of served workloads (docs/serving.md), empty for a checkpoint that is not
/// quantized: from the field `quantization_config` of its config, or from the file of NVIDIA's
/// Model Optimizer beside it.  Invalid and unknown methods are reported.
std::string precision_of(ModelFields& config);
std::string precision_of_optimizer(ModelFields& file);

}  // namespace dfsearch
