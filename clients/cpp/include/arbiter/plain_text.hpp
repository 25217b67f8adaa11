// Texts that other people wrote, as they are safe to show: names, notes, sentences of refusals.
#pragma once

#include <string>
#include <string_view>

namespace arbiter {

/// A text with each character escaped that can't be printed: `\n`, `\x1b`, `\u200f`. A terminal obeys some of them, and
/// others forge lines or turn their direction. So are bytes that are not UTF-8.
std::string plain_text(std::string_view text);

/// The same line by line, for a text of several lines; further lines are indented.
std::string plain_lines(std::string_view text);

}  // namespace arbiter
