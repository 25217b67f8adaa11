//! Watches a match, or everything: prints a line for each event, also after lost connections.
//!
//! observer            everything from now on
//! observer MATCH      one match, from its beginning

use std::process::ExitCode;

use arbiter_client::proto::MatchEvent;
use arbiter_client::proto::match_event::Event as What;
use arbiter_client::{Client, Error, Options, ResultKind, block_on, cli};

/// Returns an event as a line of text.
fn describe(event: &MatchEvent) -> String {
    match &event.event {
        Some(What::Created(made)) => {
            format!("{}: {}, {}", made.game, made.players.join(" against "), made.time_control)
        }
        Some(What::Moved(moved)) => {
            let spent = moved.ledger.as_ref().map_or(String::new(), |ledger| format!(", {} ms", ledger.charged_ms));
            format!("{}. {} (seat {}{spent})", moved.ply + 1, moved.r#move, moved.seat)
        }
        Some(What::Ended(result)) => match result.kind() {
            ResultKind::Win => format!("seat {} wins: {}", result.winner, result.reason),
            ResultKind::Draw => format!("draw: {}", result.reason),
            _ => format!("void: {}", result.reason),
        },
        _ => event.kind.clone(),
    }
}

/// Watches until the match ends.
async fn watch(options: Options, match_id: Option<&String>) -> Result<(), Error> {
    let client = Client::new(&options)?;
    let mut events = match match_id {
        Some(match_id) => client.observe(match_id, 0),
        None => client.observe_all("", ""),
    };
    while let Some(observed) = events.next().await? {
        let event = observed.event;
        println!("{} {}: {}", event.match_id, event.revision, describe(&event));
    }
    Ok(())
}

fn main() -> ExitCode {
    let about = "Watches a match, or everything: prints a line an event.";
    cli::program(about, "[MATCH]", Options::default(), |options, words| block_on(watch(options, words.first())))
}
