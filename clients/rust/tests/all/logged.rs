//! The lines that are logged in the thread of a test: a test of tokio's runs everything but the bot there.

use std::cell::RefCell;
use std::sync::Once;

use log::{Level, LevelFilter, Log, Metadata, Record};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Keeper;

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("arbiter_client")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            LINES.with_borrow_mut(|lines| lines.push(format!("{} {}", record.level(), record.args())));
        }
    }

    fn flush(&self) {}
}

/// Begins to keep the lines of this thread, from the level Info on.
pub fn keep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Keeper).expect("the tests have no other log");
        log::set_max_level(LevelFilter::Info);
    });
}

/// Returns the lines of this thread so far.
pub fn lines() -> Vec<String> {
    LINES.with_borrow(Clone::clone)
}
