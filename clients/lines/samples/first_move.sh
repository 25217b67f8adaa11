#!/usr/bin/env bash
# The smallest bot in Bash: it plays the first legal move.
#
#   arbiter bot run --exec ./first_move.sh --name alice
while read -r word rest; do
  case "$word" in
    arbiter) printf '%s\n' 'name first-move-bash' 'version 1' 'moves 5000' ready ;;
    moves) read -r _ move _ <<<"$rest" ;;
    go) printf 'move %s\n' "$move" ;;
    quit) exit 0 ;;
  esac
done
