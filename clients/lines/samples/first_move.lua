#!/usr/bin/env lua
-- The smallest bot in Lua: it plays the first legal move.
--
--   arbiter bot run --exec "lua first_move.lua" --name alice
io.stdout:setvbuf("line")

local move
for line in io.lines() do
  local word, rest = line:match("^(%S+)%s*(.*)$")
  if word == "arbiter" then
    print("name first-move-lua\nversion 1\nmoves 5000\nready")
  elseif word == "moves" then
    move = rest:match("^%d+ (%S+)")
  elseif word == "go" then
    print("move " .. move)
  elseif word == "quit" then
    break
  end
end
