//! The log of a program that plays a bot, on standard error: the client's lines and the bot's own, with the time (UTC).

use std::io::Write;
use std::time::{Duration, SystemTime};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::plain_text::plain_lines;

/// The crates beneath the client, which report every frame of a connection: only their warnings are shown.
const BENEATH: [&str; 10] =
    ["h2", "hyper", "hyper_util", "mio", "rustls", "rustls_native_certs", "tokio", "tokio_rustls", "tonic", "tower"];

/// Shows the log on standard error, as far as a level; a program that has a log of its own keeps it.
pub(crate) fn show(level: LevelFilter) {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(level);
    }
}

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let origin = metadata.target().split("::").next().unwrap_or_default();
        metadata.level() <= Level::Warn || !BENEATH.contains(&origin)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let line = format!(
                "{} {} {}\n",
                instant(SystemTime::now()),
                record.level(),
                plain_lines(&record.args().to_string())
            );
            let _ = std::io::stderr().write_all(line.as_bytes()); // nowhere to complain
        }
    }

    fn flush(&self) {}
}

/// Returns an instant since 1970 as `YYYY-MM-DDTHH:MM:SS.mmmZ`.
///
/// The date is that of Howard Hinnant's "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`: years begin in
/// March there, and 400 of them have 146,097 days.
fn instant(now: SystemTime) -> String {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, seconds) = (since.as_secs() / 86_400 + 719_468, since.as_secs() % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_a_date_and_a_time() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_001, "2024-12-31T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(instant(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn the_bots_own_lines_are_shown_and_not_every_frame_of_a_connection() {
        let shown = |target: &str, level| Stderr.enabled(&Metadata::builder().target(target).level(level).build());
        assert!(shown("my_bot", Level::Debug) && shown("my_bot::search", Level::Info));
        assert!(shown("arbiter_client::session", Level::Debug) && shown("h2_of_mine", Level::Debug));
        assert!(!shown("h2::codec", Level::Debug) && !shown("tonic::transport", Level::Info));
        assert!(shown("h2::codec", Level::Warn) && shown("rustls", Level::Error));
    }
}
