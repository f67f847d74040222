// Shared by the benchmarks of the API: many keep-alive clients in one thread, so that the
// load takes as little as possible of what it measures.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"

namespace moulin::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct LoadOutcome {
  std::map<int, int64_t> by_status;  // 0: the connection was closed without an answer
  std::vector<double> latencies_ms;  // of all answers
  double seconds = 0;

  int64_t count(int status) const {
    auto found = by_status.find(status);
    return found == by_status.end() ? 0 : found->second;
  }
  double percentile_ms(double part) {
    if (latencies_ms.empty()) return 0;
    auto at = latencies_ms.begin() + static_cast<ptrdiff_t>(part / 100 * static_cast<double>(latencies_ms.size() - 1));
    std::ranges::nth_element(latencies_ms, at);
    return *at;
  }
};

// The bytes of the next request.
using MakeRequest = std::function<std::string(int64_t number)>;

inline std::string http_request(std::string_view method, std::string_view target, std::string_view token,
                                std::string_view body = {}) {
  std::string text;
  text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ");
  text.append(token).append("\r\n");
  if (!body.empty()) {
    text.append("Content-Type: application/json\r\nContent-Length: ").append(std::to_string(body.size()));
    text.append("\r\n");
  }
  return text.append("\r\n").append(body);
}

class HttpLoad {
 public:
  HttpLoad(uint16_t port, size_t clients) : port_(port), clients_(clients), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (size_t i = 0; i < clients; ++i) open(i);
  }
  HttpLoad(const HttpLoad&) = delete;
  ~HttpLoad() {
    for (Client& client : clients_) ::close(client.socket);
    ::close(epoll_);
  }

  // Each client asks again as soon as it is answered.
  LoadOutcome run_closed(double seconds, const MakeRequest& make) {
    rate_ = 0;
    return run(seconds, make);
  }

  // `rate` requests a second by the clock, whatever the answers do, as far as clients are
  // free. Latencies count from the moment at which a request was due.
  LoadOutcome run_open(double seconds, double rate, const MakeRequest& make) {
    rate_ = rate;
    return run(seconds, make);
  }

 private:
  struct Client {
    int socket = -1;
    bool busy = false;
    double due = 0;
    std::string out;
    size_t out_start = 0;
    std::string in;
  };

  LoadOutcome run(double seconds, const MakeRequest& make) {
    LoadOutcome outcome;
    double begin = seconds_now();
    double end = begin + seconds;
    int64_t sent = 0;
    std::vector<size_t> idle;
    for (size_t i = 0; i < clients_.size(); ++i) idle.push_back(i);
    int64_t answered = 0;
    for (double now = begin; now < end || answered < sent; now = seconds_now()) {
      if (now > end + kPatienceSeconds) break;
      while (now < end && !idle.empty() && (rate_ == 0 || static_cast<double>(sent) < (now - begin) * rate_)) {
        Client& client = clients_[idle.back()];
        idle.pop_back();
        client.due = rate_ == 0 ? now : begin + static_cast<double>(sent) / rate_;
        client.busy = true;
        client.out = make(sent++);
        client.out_start = 0;
        write(client);
      }
      int wait_ms = rate_ == 0 ? 10 : 1;
      int count = ::epoll_wait(epoll_, events_.data(), static_cast<int>(events_.size()), wait_ms);
      for (int i = 0; i < count; ++i) {
        size_t index = events_[static_cast<size_t>(i)].data.u64;
        if (serve(index, outcome)) {
          ++answered;
          idle.push_back(index);
        }
      }
    }
    outcome.seconds = seconds_now() - begin;
    return outcome;
  }

  void open(size_t index) {
    Client& client = clients_[index];
    client = {};
    client.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MOULIN_CHECK(::connect(client.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "it listens");
    int on = 1;
    ::setsockopt(client.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.socket, &event);
  }

  // Requests are small: they fit into the kernel's buffer.
  void write(Client& client) {
    ssize_t count = ::send(client.socket, client.out.data(), client.out.size(), MSG_NOSIGNAL);
    (void)count;  // a connection that has gone is found when it is read
  }

  // True when a whole answer, or the end of the connection, has come.
  bool serve(size_t index, LoadOutcome& outcome) {
    Client& client = clients_[index];
    ssize_t count = ::recv(client.socket, piece_.data(), piece_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return false;
    bool owed = client.busy;
    if (count <= 0) {
      ::close(client.socket);
      open(index);
      if (owed) ++outcome.by_status[0];
      return owed;
    }
    client.in.append(piece_.data(), static_cast<size_t>(count));
    size_t head = client.in.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    size_t at = client.in.find("Content-Length: ");
    size_t length = 0;
    if (at < head) std::from_chars(client.in.data() + at + 16, client.in.data() + head, length);
    if (client.in.size() < head + 4 + length) return false;
    int status = 0;
    std::from_chars(client.in.data() + 9, client.in.data() + 12, status);
    client.in.erase(0, head + 4 + length);
    client.busy = false;
    ++outcome.by_status[status];
    outcome.latencies_ms.push_back((seconds_now() - client.due) * 1000);
    return owed;
  }

  static constexpr double kPatienceSeconds = 60;

  const uint16_t port_;
  std::vector<Client> clients_;
  const int epoll_;
  double rate_ = 0;  // 0: as soon as a client is free
  std::array<epoll_event, 256> events_{};
  std::array<char, 65536> piece_{};
};

}  // namespace moulin::bench
