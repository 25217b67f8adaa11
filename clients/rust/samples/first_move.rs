//! The smallest bot: it plays the first legal move.

use std::process::ExitCode;

use arbiter_client::{Bot, BotError, Choice, Extras, FinishedMatch, Profile, Turn};

struct FirstMove;

impl Bot for FirstMove {
    fn profile(&self) -> Profile {
        Profile::named("first-move").with_extras(Extras::default().with_legal_moves_up_to(500))
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        let moves = turn.legal_moves().await?;
        Ok(moves[0].text.as_str().into())
    }

    fn ended(&self, finished: &FinishedMatch) {
        let score = finished.score().map_or("void".to_owned(), |score| score.to_string());
        println!("{} against {}: {score} ({})", finished.game, finished.opponent, finished.result.reason);
    }
}

fn main() -> ExitCode {
    arbiter_client::cli::main("Plays the first legal move.", FirstMove)
}
