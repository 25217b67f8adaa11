//! The client from outside: against a scripted server whose every word is the test's own, and against a real arbiter.

mod addresses;
mod arbiter;
mod bots;
mod calls;
mod choices;
mod local_match;
mod logged;
mod matches;
mod peer;
mod policies;
mod process;
mod seats;
mod services;
mod sessions;
mod tls;
mod watching;
