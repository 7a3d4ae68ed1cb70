// Runs nvdisasm on a file of its own, without a shell.
#include "listing.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

extern char** environ;

namespace triton_runner::driver {
namespace {

std::string temporary(const std::string& content) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/triton-runner-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return "";
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t n = write(file, content.data() + done, content.size() - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  close(file);
  return path;
}

}  // namespace

base::Result<std::string> listing_of(const std::string& cubin) {
  const char* program = std::getenv("TRITON_RUNNER_NVDISASM");
  if (!program || !*program)
    return base::failure(
        "this module is machine code, which nvdisasm has to disassemble, and there is no nvdisasm",
        {"let the program load PTX, or install Triton or NVIDIA's CUDA toolkit, which bring nvdisasm"});
  const std::string path = temporary(cubin);
  int ends[2];
  if (path.empty() || pipe(ends) != 0) return base::failure("there is no room for a temporary file");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY,
                                   0);  // it warns of other releases' cubins
  std::string words[] = {program, "-hex", "-gi", "-gp", "-c", path};
  char* argv[7] = {};
  for (int i = 0; i < 6; ++i) argv[i] = words[i].data();
  pid_t child = 0;
  const int failed = posix_spawn(&child, program, &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string out;
  char buffer[65536];
  for (ssize_t n; !failed && (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = failed;
  if (!failed) waitpid(child, &status, 0);
  unlink(path.c_str());
  if (status != 0) return base::failure(std::string(program) + " does not read this machine code");
  return out;
}

}  // namespace triton_runner::driver
