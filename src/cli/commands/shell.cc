// completion: scripts for shells, which ask the hidden verb __complete at each Tab.
#include <fmt/format.h>

#include "cli/commands/groups.h"
#include "cli/commands/suggest.h"
#include "cli/session.h"
#include "cli/words.h"

namespace moulin::cli {

namespace {

constexpr std::string_view kBash = R"(# Completion of moulin for bash. Load it with: source <(moulin completion bash)
_moulin() {
  local current=${COMP_WORDS[COMP_CWORD]} line more=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) more=${line#:} ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $more in
    file) mapfile -t COMPREPLY < <(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
    command) mapfile -t COMPREPLY < <(compgen -c -f -- "$current" | sort -u) ;;
  esac
}
complete -F _moulin moulin
)";

constexpr std::string_view kZsh = R"(#compdef moulin
# Completion of moulin for zsh. Load it with: source <(moulin completion zsh)
_moulin() {
  local line more= tab=$'\t'
  local -a found
  while IFS= read -r line; do
    case $line in
      :*) more=${line#:} ;;
      *) found+=("${${line%%$tab*}//:/\\:}:${line#*$tab}") ;;
    esac
  done < <("$words[1]" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  case $more in
    file) _files ;;
    folder) _files -/ ;;
    command) _command_names; _files ;;
    *) _describe moulin found ;;
  esac
}
if [ "$funcstack[1]" = "_moulin" ]; then _moulin "$@"; else compdef _moulin moulin; fi
)";

constexpr std::string_view kFish = R"(# Completion of moulin for fish. Load it with: moulin completion fish | source
function __moulin_complete
  set -l before (commandline -opc)
  set -l current (commandline -ct)
  for line in (command $before[1] __complete $before[2..-1] "$current" 2>/dev/null)
    switch $line
      case :file :command
        __fish_complete_path "$current"
      case :folder
        __fish_complete_directories "$current"
      case '*'
        echo $line
    end
  end
end
complete -c moulin -f -a '(__moulin_complete)'
)";

Result<int> completion(Session& session) {
  const std::string& shell = session.call().words.front();
  std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
  if (script.empty()) {
    return Error{.code = Code::kInvalid,
                 .message = "there is no completion for this shell",
                 .field = "SHELL",
                 .given = shortened(shell),
                 .allowed = words_text(find_value_word("SHELL")->values)};
  }
  if (session.console().is_json()) {
    session.console().print_json(Json::object({{"script", script}}));
  } else {
    session.console().print(script);
  }
  return 0;
}

constexpr Verb kVerbs[] = {
    {.name = "completion",
     .group = "Shell",
     .arguments = "SHELL",
     .words_min = 1,
     .words_max = 1,
     .summary = "what makes Tab complete verbs, options and names",
     .details = "Add the line for your shell to its start file: ~/.bashrc, ~/.zshrc or\n"
                "~/.config/fish/config.fish. Names of workloads, projects and so on come from the\n"
                "server that you use; when it does not answer at once, there are none.\n",
     .examples = "source <(moulin completion bash)\n"
                 "source <(moulin completion zsh)\n"
                 "moulin completion fish | source",
     .run = completion},
};

}  // namespace

std::span<const Verb> shell_verbs() { return kVerbs; }

}  // namespace moulin::cli
