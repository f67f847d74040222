#include "server/secrets.h"

#include <doctest/doctest.h>

#include <set>
#include <thread>

namespace moulin {

TEST_CASE("ids grow, also when the wall clock goes back or stands still") {
  IdMaker ids(0);
  Duration wall = hours(490'000);
  uint64_t last = 0;
  for (int i = 0; i < 1'000; ++i) {
    uint64_t next = ids.next(wall - seconds(i));
    CHECK(next > last);
    last = next;
  }
  CHECK((ids.next(wall + seconds(1)) >> 22) == static_cast<uint64_t>((wall + seconds(1)).us / 1000));
  CHECK(IdMaker(last + 5).next({}) == last + 6);
}

TEST_CASE("threads never get the same id") {
  IdMaker ids(0);
  std::vector<std::vector<uint64_t>> got(4);
  std::vector<std::thread> threads;
  for (auto& mine : got) {
    threads.emplace_back([&ids, &mine] {
      for (int i = 0; i < 2'000; ++i) mine.push_back(ids.next(hours(490'000)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : got) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == 8'000);
}

TEST_CASE("a token is known again by its text, and its secret is nowhere in what is stored") {
  NewToken made = make_token({42}, UserName("ann"));
  Result<TokenText> given = parse_token(made.text);
  REQUIRE(given.has_value());
  CHECK(given->id == TokenId{42});
  CHECK(equal_hashes(given->hash, made.token.hash));
  CHECK(made.token.user == UserName("ann"));
  CHECK(made.token.hash.size() == 32);
  CHECK(made.text != make_token({42}, UserName("ann")).text);
  std::string secret = made.text.substr(made.text.rfind('_') + 1);
  CHECK(secret.size() == 64);
  CHECK(made.token.hash.find(secret) == std::string::npos);
}

TEST_CASE("texts that are no tokens are refused without saying more") {
  std::string good = make_token({42}, UserName("ann")).text;
  std::string other = good;
  other.back() = other.back() == '0' ? '1' : '0';
  CHECK_FALSE(equal_hashes(parse_token(good)->hash, parse_token(other)->hash));
  std::vector<std::string> bad{"",
                               "moulin_",
                               "moulin_t-1",
                               "moulin__x",
                               good + "_x",
                               " " + good,
                               "Moulin" + good.substr(6),
                               "moulin_" + std::string(300, 'a')};
  for (const std::string& text : bad) {
    CAPTURE(text);
    Result<TokenText> parsed = parse_token(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().code == Code::kUnauthenticated);
    CHECK(parsed.error().given.empty());
  }
}

TEST_CASE("random text is hexadecimal and of the length asked for") {
  std::string text = random_hex(16);
  CHECK(text.size() == 32);
  CHECK(text.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(text != random_hex(16));
  CHECK_FALSE(equal_hashes("a", "ab"));
}

}  // namespace moulin
