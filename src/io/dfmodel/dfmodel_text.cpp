#include "io/dfmodel/dfmodel_text.hpp"

#include <dfmodel/dfmodel.pb.h>
#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.hpp"

namespace dfsearch {
namespace {

namespace pb = google::protobuf;

std::vector<std::string_view> field_names(const std::string& type) {
  std::vector<std::string_view> names;
  const pb::Descriptor* message =
      dfmodel::Setup::descriptor()->file()->pool()->FindMessageTypeByName(type);
  for (int i = 0; message != nullptr && i < message->field_count(); ++i) {
    names.emplace_back(message->field(i)->name());
  }
  return names;
}

/// The names of the values of an enumeration field.
std::vector<std::string_view> value_names(const std::string& field) {
  std::vector<std::string_view> names;
  const pb::FileDescriptor* file = dfmodel::Setup::descriptor()->file();
  for (int m = 0; m < file->message_type_count(); ++m) {
    const pb::FieldDescriptor* found = file->message_type(m)->FindFieldByName(field);
    if (found == nullptr || found->enum_type() == nullptr) continue;
    for (int v = 1; v < found->enum_type()->value_count(); ++v) {
      names.emplace_back(found->enum_type()->value(v)->name());
    }
    break;
  }
  return names;
}

/// The quoted words of a message: a and b of 'such "a" has no "b"'.
std::vector<std::string> quoted_parts(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find('"'); at != std::string::npos;) {
    const std::size_t end = text.find('"', at + 1);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('"', end + 1);
  }
  return parts;
}

/// Rewords messages of protobuf about a field into "key: what is wrong, what was expected"; other
/// messages are kept.
class Errors : public pb::io::ErrorCollector {
 public:
  Errors(const SetupSource& source, InputMessages& messages)
      : source_(source), messages_(messages) {}

  void AddError(int line, pb::io::ColumnNumber column, const std::string& what) override {
    const std::vector<std::string> names = quoted_parts(what);
    if (what.starts_with("Message type ") && names.size() == 2) {
      messages_.add(source_.word_before(line, column, names[1]), names[1],
                    "unknown field" + suggestion(names[1], field_names(names[0])));
    } else if (what.starts_with("Unknown enumeration value of ") && names.size() == 2) {
      messages_.add(source_.word_before(line, column, names[0]), names[1],
                    fmt::format("unknown value {}, expected {}", in_quotes(names[0]),
                                joined_choices(value_names(names[1]))));
    } else {
      messages_.add(source_.place(line, column), "", what);
    }
  }

 private:
  const SetupSource& source_;
  InputMessages& messages_;
};

}  // namespace

SetupSource::SetupSource(std::string text, const std::string& name)
    : text_(std::move(text)), name_(std::make_shared<const std::string>(name)), lines_{0} {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') lines_.push_back(i + 1);
  }
}

std::size_t SetupSource::offset(int line, int column) const {
  std::size_t at = lines_[std::min(static_cast<std::size_t>(line), lines_.size() - 1)];
  for (int reached = 0; reached < column && at < text_.size() && text_[at] != '\n'; ++at) {
    constexpr int kTab = 8;
    reached += text_[at] == '\t' ? kTab - reached % kTab : 1;
  }
  return at;
}

Place SetupSource::at(std::size_t offset) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset);
  return {.source = name_,
          .line = static_cast<int>(next - lines_.begin()),
          .column = static_cast<int>(offset - *(next - 1)) + 1};
}

Place SetupSource::word_before(int line, int column, const std::string& word) const {
  const std::size_t end = offset(line, column);
  const std::size_t found =
      end < word.size() ? std::string::npos : text_.rfind(word, end - word.size());
  return at(found == std::string::npos ? end : found);
}

const pb::FieldDescriptor* SetupNode::descriptor(const std::string& field) const {
  const pb::FieldDescriptor* found = message_->GetDescriptor()->FindFieldByName(field);
  if (found == nullptr) throw InternalError("the schema of DFModel has no field " + field);
  return found;
}

Place SetupNode::at(const pb::FieldDescriptor* field, int index) const {
  if (places_ == nullptr) return place_;
  const pb::TextFormat::ParseLocation location = places_->GetLocation(field, index);
  if (location.line < 0) return place_;
  return source_->place(location.line, location.column);
}

SetupNode SetupNode::nested(const pb::FieldDescriptor* field, int index) const {
  const pb::Reflection* reflection = message_->GetReflection();
  const pb::Message& message = index < 0 ? reflection->GetMessage(*message_, field)
                                         : reflection->GetRepeatedMessage(*message_, field, index);
  const Places* places = places_ == nullptr ? nullptr : places_->GetTreeForNested(field, index);
  return {message, places, *source_, at(field, index), field->name(), *messages_};
}

Place SetupNode::place_of(const std::string& field) const { return at(descriptor(field), -1); }

void SetupNode::complain(const std::string& field, const std::string& what) const {
  messages_->add(place_of(field), field, what);
}

bool SetupNode::stands(const std::string& field) const {
  return message_->GetReflection()->HasField(*message_, descriptor(field));
}

bool SetupNode::has(const std::string& name) const {
  const pb::FieldDescriptor* field = descriptor(name);
  const pb::Reflection* reflection = message_->GetReflection();
  if (field->is_repeated()) return reflection->FieldSize(*message_, field) > 0;
  if (!reflection->HasField(*message_, field)) return false;
  switch (field->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetInt64(*message_, field) != 0;
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(*message_, field) != 0.0;
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(*message_, field);
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return !reflection->GetString(*message_, field).empty();
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnum(*message_, field)->number() != 0;
    default:
      return true;
  }
}

std::optional<SetupNode> SetupNode::child(const std::string& name) const {
  if (!stands(name)) return std::nullopt;
  return nested(descriptor(name), -1);
}

std::optional<SetupNode> SetupNode::required_child(const std::string& name) const {
  if (!stands(name)) complain(name, "missing in " + name_);
  return child(name);
}

std::vector<SetupNode> SetupNode::children(const std::string& name) const {
  const pb::FieldDescriptor* field = descriptor(name);
  const int size = message_->GetReflection()->FieldSize(*message_, field);
  std::vector<SetupNode> nodes;
  nodes.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) nodes.push_back(nested(field, i));
  return nodes;
}

std::optional<SetupNode> SetupNode::one_of(const std::string& group) const {
  const pb::OneofDescriptor* found = message_->GetDescriptor()->FindOneofByName(group);
  if (found == nullptr) throw InternalError("the schema of DFModel has no group " + group);
  const pb::FieldDescriptor* field =
      message_->GetReflection()->GetOneofFieldDescriptor(*message_, found);
  if (field == nullptr) return std::nullopt;
  return nested(field, -1);
}

std::optional<std::int64_t> SetupNode::integer(const std::string& name) const {
  if (!stands(name)) return std::nullopt;
  return message_->GetReflection()->GetInt64(*message_, descriptor(name));
}

std::optional<std::int64_t> SetupNode::count(const std::string& field, std::int64_t most) const {
  const std::optional<std::int64_t> value = integer(field);
  if (!value || *value == 0) return std::nullopt;
  if (*value > 0 && *value <= most) return value;
  complain(field, fmt::format("expected a whole number from 1 to 2^{}, got {}",
                              std::countr_zero(static_cast<std::uint64_t>(most)), *value));
  return std::nullopt;
}

std::optional<std::int64_t> SetupNode::required_count(const std::string& field,
                                                      std::int64_t most) const {
  if (!has(field)) complain(field, "missing in " + name_ + ", expected a whole number from 1");
  return count(field, most);
}

std::optional<double> SetupNode::number(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  const double value = message_->GetReflection()->GetDouble(*message_, descriptor(name));
  if (std::isfinite(value) && value > 0.0) return value;
  complain(name, fmt::format("expected a positive number, got {}", value));
  return std::nullopt;
}

std::optional<double> SetupNode::required_number(const std::string& field) const {
  if (!has(field)) complain(field, "missing in " + name_ + ", expected a positive number");
  return number(field);
}

std::string SetupNode::text(const std::string& name) const {
  return message_->GetReflection()->GetString(*message_, descriptor(name));
}

std::string SetupNode::choice(const std::string& name) const {
  if (!has(name)) return {};
  return message_->GetReflection()->GetEnum(*message_, descriptor(name))->name();
}

std::string SetupNode::required_choice(const std::string& name) const {
  std::string value = choice(name);
  if (value.empty()) {
    complain(name,
             fmt::format("missing in {}, expected {}", name_, joined_choices(value_names(name))));
  }
  return value;
}

void SetupNode::refuse(const std::string& field, const std::string& why) const {
  if (has(field)) complain(field, "cannot be expressed: " + why);
}

SetupFile::SetupFile(const std::string& text, const std::string& name)
    : source_(text, name), message_(std::make_unique<dfmodel::Setup>()) {
  InputMessages messages;
  Errors errors(source_, messages);
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&places_);
  parser.SetRecursionLimit(32);
  parser.ParseFromString(source_.text(), message_.get());
  messages.throw_if_any();
}

SetupNode SetupFile::root(InputMessages& messages) const {
  return {*message_, &places_, source_, source_.place(0, 0), "setup", messages};
}

}  // namespace dfsearch
