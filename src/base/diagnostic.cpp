// Writes diagnostics as text ("kernel.ttir:3:7: error: ..."), and finds the line and column of an offset and
// the names that are nearest to one that nobody knows.
#include <triton_runner/base/diagnostic.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

namespace triton_runner::base {

bool is_of_language(std::string_view file) {
  for (const std::string_view folder : {"triton/language/", "triton/experimental/gluon/language/"})
    if (file.find(folder) != std::string_view::npos) return true;
  return false;
}

std::string Location::str() const {
  std::string out = file.empty() ? "<input>" : file;
  if (line > 0) out += ":" + std::to_string(line);
  if (line > 0 && column > 0) out += ":" + std::to_string(column);
  return out;
}

std::string Diagnostic::str() const {
  static constexpr const char* kNames[] = {"error", "warning", "note"};
  std::string out;
  if (!location.file.empty() || location.line > 0) out = location.str() + ": ";
  out += std::string(kNames[static_cast<int>(severity)]) + ": " + message + "\n";
  if (!source_line.empty()) {
    out += source_line + "\n";
    if (location.column > 0) {
      // Tabs stay tabs, so that the caret stands under its byte whatever their width.
      for (int i = 0; i + 1 < location.column; i++)
        out += i < static_cast<int>(source_line.size()) && source_line[i] == '\t' ? '\t' : ' ';
      out += "^\n";
    }
  }
  for (const std::string& note : notes) out += "note: " + note + "\n";
  return out;
}

void Diagnostics::error(Location where, std::string message, std::vector<std::string> notes) {
  add({Severity::kError, std::move(where), std::move(message), std::move(notes), {}});
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

std::string Diagnostics::str() const {
  std::string out;
  for (const Diagnostic& d : list_) out += d.str();
  return out;
}

Diagnostic Diagnostics::summary() const {
  Diagnostic first = list_.front();
  for (size_t i = 1; i < list_.size() && i < 8; ++i)
    first.notes.push_back("also, at " + list_[i].location.str() + ": " + list_[i].message);
  return first;
}

Location locate(std::string_view text, size_t offset, std::string_view file) {
  offset = std::min(offset, text.size());
  Location where{std::string(file), 1, 1};
  size_t start = 0;
  for (size_t i = 0; i < offset; i++)
    if (text[i] == '\n') where.line++, start = i + 1;
  where.column = static_cast<int>(offset - start) + 1;
  return where;
}

std::string_view line_at(std::string_view text, size_t offset) {
  offset = std::min(offset, text.size());
  size_t start = offset == 0 ? std::string_view::npos : text.rfind('\n', offset - 1);
  start = start == std::string_view::npos ? 0 : start + 1;
  size_t end = text.find('\n', offset);
  return text.substr(start, (end == std::string_view::npos ? text.size() : end) - start);
}

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& names,
                                       size_t limit) {
  auto distance = [&](std::string_view name) {
    std::vector<size_t> row(name.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= wanted.size(); i++) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); j++) {
        size_t change = diagonal + (wanted[i - 1] != name[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    return row[name.size()];
  };
  constexpr size_t kLeastPart = 3;  // shorter texts are a part of too many names
  std::vector<std::pair<size_t, std::string>> ranked;
  for (const std::string& name : names) {
    const size_t changes = distance(name);
    const bool is_part = wanted.size() >= kLeastPart && name.find(wanted) != std::string::npos;
    if (is_part || changes <= (std::max(wanted.size(), name.size()) + 1) / 3)
      ranked.emplace_back(changes, name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (ranked.size() > limit) ranked.resize(limit);
  std::vector<std::string> out;
  for (auto& entry : ranked) out.push_back(std::move(entry.second));
  return out;
}

namespace {

std::mutex option_names_mutex;
std::map<std::string, std::string> option_names;  // of the command line that runs, by keyword

}  // namespace

std::string option(const std::string& keyword, const std::string& value, const std::string& code) {
  const std::lock_guard lock(option_names_mutex);
  if (const auto found = option_names.find(keyword); found != option_names.end())
    return value.empty() ? found->second : found->second + " " + value;
  return keyword + "=" + (!code.empty() ? code : value.empty() ? "" : "\"" + value + "\"");
}

void name_options(std::map<std::string, std::string> by_keyword) {
  const std::lock_guard lock(option_names_mutex);
  option_names = std::move(by_keyword);
}

}  // namespace triton_runner::base
