#include "../system.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace arbiter {

namespace {

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category());
}

// An open file, closed at the end of the scope.
class Handle {
 public:
  explicit Handle(int number) : number_(number) {
    if (number < 0) fail();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ::close(number_); }
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0) fail();
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

struct FileLock::State {
  explicit State(const std::filesystem::path& file)
      : handle(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)) {
    while (::flock(handle.number(), LOCK_EX) != 0) {
      if (errno != EINTR) fail();
    }
  }

  Handle handle;  // the lock ends with it
};

FileLock::FileLock(const std::filesystem::path& file) : state_(std::make_unique<State>(file)) {
}

FileLock::~FileLock() = default;

void replace_file(const std::filesystem::path& file, const std::string& text) {
  std::string draft = file.string() + ".XXXXXX";
  {
    const Handle out(::mkstemp(draft.data()));  // for its owner alone
    write_all(out.number(), text);
  }
  std::filesystem::rename(draft, file);
}

std::tm local_time(std::time_t time) {
  std::tm parts{};
  ::localtime_r(&time, &parts);
  return parts;
}

}  // namespace arbiter
