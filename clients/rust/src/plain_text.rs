//! Texts that other people wrote, as they are safe to show: names, notes, sentences of refusals.

use std::fmt::Write;

/// Returns a text with each character escaped that can't be printed: `\n`, `\x1b`, `\u200f`. A terminal obeys some of
/// them, and others forge lines or turn their direction.
pub fn plain_text(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let _ = match character {
            // a String takes everything
            '\n' => shown.write_str("\\n"),
            '\r' => shown.write_str("\\r"),
            '\t' => shown.write_str("\\t"),
            _ if is_printable(character) => shown.write_char(character),
            '\0'..='\u{ff}' => write!(shown, "\\x{:02x}", u32::from(character)),
            '\u{100}'..='\u{ffff}' => write!(shown, "\\u{:04x}", u32::from(character)),
            _ => write!(shown, "\\U{:08x}", u32::from(character)),
        };
    }
    shown
}

/// Does so line by line, for a text of several lines; further lines are indented.
#[cfg(feature = "cli")]
pub(crate) fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain_text).collect::<Vec<_>>().join("\n    ")
}

/// Returns whether a character can be printed: the standard library escapes all others for debugging, and after another
/// character only these.
fn is_printable(character: char) -> bool {
    matches!(character, '\'' | '"' | '\\') || format!("a{character}").escape_debug().skip(1).eq([character])
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;

    #[test]
    fn a_further_line_is_no_line_of_the_log() {
        assert_eq!(plain_lines("a\u{1b}\n2026 ERROR b"), "a\\x1b\n    2026 ERROR b");
    }
}
