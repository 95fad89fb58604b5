#pragma once
// DFModel's setups (protobuf text) -> fields with their places.
//
// The message is read by reflection, field by field: each field is checked and reported at its
// place, as map_reader.hpp does for YAML.  A number, word or flag that is zero, empty or false
// counts as not given, as everywhere in DFModel.

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/text/input_messages.hpp"
#include "io/text/map_reader.hpp"

namespace dfsearch {

/// The text of a setup; converts places of protobuf, which counts lines and columns from zero and
/// moves the column at a tab to the next multiple of eight.
class SetupSource {
 public:
  SetupSource(std::string text, const std::string& name);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Place place(int line, int column) const { return at(offset(line, column)); }
  /// The place of the last `word` that ends before a place.
  [[nodiscard]] Place word_before(int line, int column, const std::string& word) const;

 private:
  [[nodiscard]] std::size_t offset(int line, int column) const;
  [[nodiscard]] Place at(std::size_t offset) const;

  std::string text_;
  std::shared_ptr<const std::string> name_;
  std::vector<std::size_t> lines_;  ///< where each begins
};

/// One message of a setup.  It must not outlive its SetupFile.
class SetupNode {
 public:
  using Places = google::protobuf::TextFormat::ParseInfoTree;

  SetupNode(const google::protobuf::Message& message, const Places* places,
            const SetupSource& source, Place place, std::string name, InputMessages& messages)
      : message_(&message),
        places_(places),
        source_(&source),
        place_(std::move(place)),
        name_(std::move(name)),
        messages_(&messages) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] InputMessages& messages() const { return *messages_; }
  /// The place of the field, or of this message if the field is not given.
  [[nodiscard]] Place place_of(const std::string& field) const;
  /// Reports a fault of a field that is given or missing.
  void complain(const std::string& field, const std::string& what) const;

  /// Whether the field is given and neither zero nor empty.
  [[nodiscard]] bool has(const std::string& field) const;
  /// Nothing if the field is not given.
  [[nodiscard]] std::optional<SetupNode> child(const std::string& field) const;
  /// Reports a missing field.
  [[nodiscard]] std::optional<SetupNode> required_child(const std::string& field) const;
  [[nodiscard]] std::vector<SetupNode> children(const std::string& field) const;
  /// The member that is set in a group whose members exclude each other.
  [[nodiscard]] std::optional<SetupNode> one_of(const std::string& group) const;

  /// The value of the setup, zero included; nothing if it is not given.
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& field) const;
  /// A count from 1 to `most`, a power of two; reports other values.  The `required_` form also
  /// reports a missing field.
  [[nodiscard]] std::optional<std::int64_t> count(const std::string& field,
                                                  std::int64_t most = kLargestCount) const;
  [[nodiscard]] std::optional<std::int64_t> required_count(const std::string& field,
                                                           std::int64_t most = kLargestCount) const;
  /// A finite positive number; reports other values, as above.
  [[nodiscard]] std::optional<double> number(const std::string& field) const;
  [[nodiscard]] std::optional<double> required_number(const std::string& field) const;
  [[nodiscard]] bool flag(const std::string& field) const { return has(field); }
  /// Whether the field is given, with any value.
  [[nodiscard]] bool stands(const std::string& field) const;
  [[nodiscard]] std::string text(const std::string& field) const;
  /// The name of the value; empty if it is not given or a placeholder.
  [[nodiscard]] std::string choice(const std::string& field) const;
  [[nodiscard]] std::string required_choice(const std::string& field) const;

  /// Reports the field if it is given, as one that no config can express.
  void refuse(const std::string& field, const std::string& why) const;

 private:
  [[nodiscard]] const google::protobuf::FieldDescriptor* descriptor(const std::string& field) const;
  [[nodiscard]] SetupNode nested(const google::protobuf::FieldDescriptor* field, int index) const;
  [[nodiscard]] Place at(const google::protobuf::FieldDescriptor* field, int index) const;

  const google::protobuf::Message* message_;
  const Places* places_;
  const SetupSource* source_;
  Place place_;
  std::string name_;
  InputMessages* messages_;
};

class SetupFile {
 public:
  /// Throws InputError for a text that is no protobuf text, an unknown field, a field given twice
  /// and a value of the wrong type.  `name` stands for the file in messages.
  SetupFile(const std::string& text, const std::string& name);

  [[nodiscard]] SetupNode root(InputMessages& messages) const;

 private:
  SetupSource source_;
  std::unique_ptr<google::protobuf::Message> message_;
  SetupNode::Places places_;
};

}  // namespace dfsearch
