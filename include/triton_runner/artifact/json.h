// Reads JSON, as far as metadata files need it: parsed into a small tree, located errors, no exceptions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <triton_runner/base/result.h>

namespace triton_runner::artifact {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the file's order

  Json() = default;
  template <class T>
  explicit Json(T value) : value_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&value_); }
  const double* as_double() const {
    return std::get_if<double>(&value_);
  }  // numbers that are no 64-bit integer
  const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  // The last entry of that name, as Python's json takes it; null where there is none or this is no object.
  const Json* get(std::string_view key) const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

// `filename` is for messages. Accepts what Python's json.dumps writes, NaN and Infinity included.
base::Result<Json> parse_json(std::string_view text, const std::string& filename = "");

}  // namespace triton_runner::artifact
