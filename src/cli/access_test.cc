#include "cli/access.h"

#include <doctest/doctest.h>

#include <map>

namespace moulin::cli {

namespace {

struct World {
  std::map<std::string, std::string> variables{{"HOME", "/home/ada"}};
  std::map<std::string, std::string> files;
  bool is_root = false;

  Surroundings surroundings() {
    return {.variable = [this](std::string_view name) { return variables[std::string(name)]; },
            .folder = "/",
            .is_root = is_root,
            .read_file = [this](const std::string& path, size_t) -> Result<std::string> {
              if (files.contains(path)) return files[path];
              return Error{.code = Code::kNotFound, .message = "no such file", .field = path};
            },
            .write_private_file = {},
            .remove_file = {},
            .random_hex = {},
            .hold_interrupts = {},
            .ask_person = {},
            .ask_secret = {}};
  }
  Result<Access> find() { return find_access(surroundings()); }
};

}  // namespace

TEST_CASE("without settings: the socket and the token in the data folder") {
  World world;
  world.files["/home/ada/.local/share/moulin/admin.token"] = "t0ken\n";
  Access access = world.find().value();
  CHECK(to_text(access.endpoint) == "unix:/home/ada/.local/share/moulin/moulin.sock");
  CHECK(access.token == "t0ken");
  CHECK(access.token_from == "/home/ada/.local/share/moulin/admin.token");
  world.variables["XDG_DATA_HOME"] = "/xdg";
  CHECK(to_text(world.find().value().endpoint) == "unix:/xdg/moulin/moulin.sock");
  CHECK(world.find().value().token.empty());
  world.is_root = true;
  CHECK(to_text(world.find().value().endpoint) == "unix:/var/lib/moulin/moulin.sock");
  world.variables["MOULIN_DATA"] = "/data";
  CHECK(to_text(world.find().value().endpoint) == "unix:/data/moulin.sock");
}

TEST_CASE("variables name the server and the token") {
  World world;
  world.variables["MOULIN_URL"] = "http://127.0.0.1:8080/moulin";
  world.files["/home/ada/.local/share/moulin/admin.token"] = "administrator";
  CHECK(to_text(world.find().value().endpoint) == "http://127.0.0.1:8080/moulin");
  CHECK(world.find().value().token.empty());  // an administrator's token goes to its own socket only
  world.variables["MOULIN_TOKEN_FILE"] = "/run/token";
  CHECK(world.find().error().code == Code::kNotFound);
  world.files["/run/token"] = " \n";
  CHECK(world.find().error().message == "holds no token");
  world.files["/run/token"] = "from-file\r\n";
  CHECK(world.find().value().token == "from-file");
  world.variables["MOULIN_TOKEN"] = "from-variable";
  CHECK(world.find().value().token == "from-variable");
  CHECK(world.find().value().token_from == "MOULIN_TOKEN");
  world.variables["MOULIN_TOKEN"] = "two words";
  CHECK(world.find().error().field == "MOULIN_TOKEN");
}

TEST_CASE("a login comes before the default folder, and after what is set") {
  World world;
  const std::string kFile = "/home/ada/.config/moulin/login.json";
  world.files["/home/ada/.local/share/moulin/admin.token"] = "administrator";
  world.files[kFile] = R"({"url": "http://127.0.0.1:7000", "token": "of-login"})";
  Access access = world.find().value();
  CHECK(to_text(access.endpoint) == "http://127.0.0.1:7000");
  CHECK(access.token == "of-login");
  CHECK(access.token_from == kFile);
  CHECK(access.server_from == kFile);
  world.variables["MOULIN_URL"] = "http://127.0.0.1:7000";
  CHECK(world.find().value().token == "of-login");
  world.variables["MOULIN_URL"] = "http://127.0.0.1:7001";  // another server does not get it
  CHECK(world.find().value().token.empty());
  world.variables["MOULIN_URL"] = "";
  world.variables["MOULIN_DATA"] = "/data";
  CHECK(world.find().value().server_from == "/data/moulin.sock");
  CHECK(world.find().value().token.empty());
  world.variables["MOULIN_DATA"] = "";
  world.variables["MOULIN_TOKEN"] = "from-variable";
  CHECK(to_text(world.find().value().endpoint) == "http://127.0.0.1:7000");
  CHECK(world.find().value().token == "from-variable");
}

TEST_CASE("a broken login says so, unless it is not needed") {
  World world;
  world.variables["XDG_CONFIG_HOME"] = "/xdg";
  for (std::string text : {"", "{", R"({"url": "http://127.0.0.1:7000"})", R"({"url": "x", "token": "a b"})"}) {
    world.files["/xdg/moulin/login.json"] = text;
    CHECK(world.find().error().field.starts_with("/xdg/moulin/login.json"));
    CHECK(world.find().error().to_do.find("moulin login") != std::string::npos);
  }
  world.variables["MOULIN_DATA"] = "/data";
  CHECK(world.find().has_value());
}

TEST_CASE("a server that cannot be reached without TLS is refused") {
  World world;
  world.variables["MOULIN_URL"] = "http://10.0.0.1:8080";
  CHECK(world.find().error().field == "MOULIN_URL");
  world.variables["MOULIN_URL"] = "nonsense";
  CHECK(world.find().error().field == "MOULIN_URL");
}

}  // namespace moulin::cli
