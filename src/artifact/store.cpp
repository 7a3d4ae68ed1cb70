// Finds, reads and writes artifacts on disk.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <triton_runner/artifact/artifact.h>
#include <triton_runner/base/try.h>

namespace triton_runner::artifact {

namespace fs = std::filesystem;
using base::failure;

const std::vector<std::string_view>& levels() {
  static const std::vector<std::string_view> all = {"ttir",  "ttgir",  "llir", "ptx",
                                                    "cubin", "amdgcn", "hsaco"};
  return all;
}
bool is_level(std::string_view level) {
  return std::find(levels().begin(), levels().end(), level) != levels().end();
}
bool is_text(std::string_view level) { return level != "cubin" && level != "hsaco"; }

base::Result<std::string> read_file(const std::string& path) {
  auto reason = [&](const char* what) {
    return failure(std::string("cannot ") + what + " " + path + ": " + std::strerror(errno));
  };
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return reason("open");
  struct stat info{};
  std::string out;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) out.reserve(info.st_size);
  char buffer[65536];
  for (;;) {
    ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      auto error = reason("read");
      close(fd);
      return error;
    }
    if (n == 0) break;
    out.append(buffer, n);
  }
  close(fd);
  return out;
}

base::Status write_file(const std::string& path, std::string_view content) {
  static std::atomic<unsigned> counter{0};
  std::error_code ignored;
  fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, ignored);  // open() says why, should it have failed
  std::string temporary = path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(counter++);
  auto reason = [&](const char* what) {
    auto error = failure(std::string("cannot ") + what + " " + path + ": " + std::strerror(errno));
    unlink(temporary.c_str());
    return error;
  };
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return reason("create");
  while (!content.empty()) {
    ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      auto error = reason("write");
      close(fd);
      return error;
    }
    content.remove_prefix(n);
  }
  if (close(fd) != 0) return reason("write");
  if (rename(temporary.c_str(), path.c_str()) != 0) return reason("replace");
  return base::success();
}

namespace {

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  if (DIR* dir = opendir(folder.c_str())) {
    while (dirent* entry = readdir(dir)) names.emplace_back(entry->d_name);
    closedir(dir);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string extension(const std::string& name) {
  size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(dot + 1);
}
std::string stem(const std::string& name) { return name.substr(0, name.rfind('.')); }

struct Folder {
  std::vector<std::string> hits;     // names of files that fit
  std::vector<std::string> kernels;  // at this level
  std::vector<std::string> others;   // levels at which the wanted kernel (any, if none is named) lies here
};

// Triton's caches keep what its front end made as <kernel>.source: TTIR that no pass has seen, taken for TTIR
// where there is no other.
constexpr std::string_view kSource = "source";

Folder look(const std::string& folder, std::string_view kernel, std::string_view level) {
  Folder found;
  std::vector<std::string> sources;
  for (const std::string& name : entries(folder)) {
    std::string ext = extension(name);
    bool fits = kernel.empty() || stem(name) == kernel;
    if (ext == kSource && fits && level == "ttir") sources.push_back(name);
    if (!is_level(ext)) continue;
    if (ext == level) found.kernels.push_back(stem(name));
    if (!fits) continue;
    if (ext == level)
      found.hits.push_back(name);
    else if (std::find(found.others.begin(), found.others.end(), ext) == found.others.end())
      found.others.push_back(ext);
  }
  if (found.hits.empty()) found.hits = std::move(sources);
  return found;
}

std::string list(const std::vector<std::string>& items, const char* separator = ", ") {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : separator) + item;
  return out;
}

}  // namespace

base::Result<std::string> find(const std::string& folder, std::string_view kernel, std::string_view level) {
  if (!is_level(level))
    return failure("'" + std::string(level) + "' is not a level",
                   {"levels: ttir, ttgir, llir, ptx, cubin, amdgcn, hsaco"});
  std::string keyword = std::string(level) + "_dir";
  std::string who = kernel.empty() ? "a kernel" : "kernel '" + std::string(kernel) + "'";
  struct stat info{};
  if (stat(folder.c_str(), &info) != 0)
    return failure(keyword + ": no folder " + folder + ": " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    return failure(
        keyword + ": " + folder + " is a file, not a folder",
        {is_text(level) ? std::string(level) + "_src= takes a file" : "give the folder that it lies in"});
  if (access(folder.c_str(), R_OK | X_OK) != 0)
    return failure(keyword + ": cannot read folder " + folder + ": " + std::strerror(errno));

  Folder here = look(folder, kernel, level);
  if (here.hits.size() == 1) return folder + "/" + here.hits[0];
  if (here.hits.size() > 1)
    return failure(
        keyword + ": " + folder + " holds several kernels at " + std::string(level) + ", and none is named",
        {"kernels: " + list(here.kernels)});

  // A cache holds one folder an entry.
  std::vector<std::string> paths;
  for (const std::string& name : entries(folder)) {
    std::string sub = folder + "/" + name;
    if (name[0] == '.' || stat(sub.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    Folder inside = look(sub, kernel, level);
    for (const std::string& hit : inside.hits) paths.push_back(sub + "/" + hit);
    here.kernels.insert(here.kernels.end(), inside.kernels.begin(), inside.kernels.end());
    for (const std::string& other : inside.others)
      if (std::find(here.others.begin(), here.others.end(), other) == here.others.end())
        here.others.push_back(other);
  }
  if (!paths.empty()) {
    auto first = TRY(read_file(paths[0]));
    for (size_t i = 1; i < paths.size(); i++) {
      auto next = TRY(read_file(paths[i]));
      if (next == first) continue;
      return failure(keyword + ": " + folder + " holds " + who + " at " + std::string(level) + " " +
                         std::to_string(paths.size()) + " times, with different content",
                     {"give the folder of the one that is meant:", "  " + list(paths, "\n  ")});
    }
    return paths[0];
  }

  std::vector<std::string> notes;
  if (!here.others.empty()) {
    notes.push_back("it holds " + who + " at " + list(here.others) + ": use " +
                    list(here.others, "_dir= or ") + "_dir=");
  } else if (!here.kernels.empty()) {
    notes.push_back("kernels at " + std::string(level) + " there: " + list(here.kernels));
  } else {
    notes.push_back("a folder of artifacts holds <kernel>." + std::string(level) +
                    "; a Triton cache (TRITON_CACHE_DIR) is one too");
  }
  return failure(keyword + ": no " + (kernel.empty() ? "*" : std::string(kernel)) + "." + std::string(level) +
                     " in " + folder,
                 std::move(notes));
}

std::string find_metadata(const std::string& artifact_path) {
  size_t slash = artifact_path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : artifact_path.substr(0, slash);
  std::string name = stem(artifact_path.substr(slash == std::string::npos ? 0 : slash + 1));
  std::string beside = folder + "/" + name + ".json";
  if (access(beside.c_str(), F_OK) == 0) return beside;
  auto group = read_file(folder + "/__grp__" + name + ".json");
  if (!group) return "";
  auto json = parse_json(*group);
  if (!json) return "";
  const Json* children = json->get("child_paths");
  const Json* path = children ? children->get(name + ".json") : nullptr;
  if (!path || !path->as_string() || access(path->as_string()->c_str(), F_OK) != 0) return "";
  return *path->as_string();
}

}  // namespace triton_runner::artifact
