//! A bot with a simple search and no rules of its own: the server plays the moves for it.
//!
//! It looks at its own moves and at the opponent's answers to the best of them, and counts pieces.

use std::process::ExitCode;

use arbiter_client::{Bot, BotError, Choice, Client, Error, Line, Profile, Turn};
use futures_util::future::try_join_all;

const WIDTH: usize = 8; // own moves to try
const DEPTH_WIDTH: usize = 2; // of these, how many to try with the opponent's answers
const ANSWERS: usize = 4; // answers to try
const WON: i32 = 100;

struct Search;

impl Bot for Search {
    fn profile(&self) -> Profile {
        Profile::named("search")
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        Ok(best(turn.client(), &turn.line(), turn.seat).await?.into())
    }
}

/// Returns the move whose worst answer is the least bad. Many questions are asked at once.
async fn best(client: &Client, line: &Line, seat: i32) -> Result<String, Error> {
    let moves = some_moves(client, line, WIDTH).await?;
    let worths = try_join_all(moves.iter().map(|text| worth(client, line.then(text), seat))).await?;
    let mut ranked: Vec<_> = worths.into_iter().zip(moves).collect();
    ranked.sort_by_key(|(worth, _)| -worth);
    ranked.truncate(DEPTH_WIDTH);
    if ranked[0].0 >= WON {
        return Ok(ranked.swap_remove(0).1);
    }
    let afterwards = try_join_all(ranked.iter().map(|(_, text)| worst(client, line.then(text), seat))).await?;
    let best = afterwards.into_iter().zip(ranked).max_by_key(|(after, (before, _))| (*after, *before));
    Ok(best.map(|(_, (_, text))| text).unwrap_or_default())
}

/// Returns what the end of a line is worth after the opponent's best answer, of those looked at.
async fn worst(client: &Client, line: Line, seat: i32) -> Result<i32, Error> {
    let answers = some_moves(client, &line, ANSWERS).await?;
    let worths = try_join_all(answers.iter().map(|answer| worth(client, line.then(answer), seat))).await?;
    match worths.into_iter().min() {
        Some(worst) => Ok(worst),
        None => worth(client, line, seat).await,
    }
}

/// Returns what the end of a line is worth to a seat: ±100 for a win, or the difference in pieces.
async fn worth(client: &Client, line: Line, seat: i32) -> Result<i32, Error> {
    let played = client.play_moves(&line, line.moves.len(), true).await?;
    match played.outcome {
        Some(outcome) if outcome.winner != 0 => Ok(if outcome.winner == seat { WON } else { -WON }),
        _ => {
            let board = played.positions.last().map_or(&[][..], |last| &last.board);
            let pieces = board.iter().filter(|cell| cell.owner != 0);
            Ok(pieces.map(|cell| if cell.owner == seat { 1 } else { -1 }).sum())
        }
    }
}

/// Returns some of the legal moves at the end of a line, at random.
async fn some_moves(client: &Client, line: &Line, most: usize) -> Result<Vec<String>, Error> {
    let legal = client.legal_moves(line).await?;
    Ok(fastrand::choose_multiple(legal, most).into_iter().map(|found| found.text).collect())
}

fn main() -> ExitCode {
    arbiter_client::cli::main("Looks two moves ahead, and has the server play the moves.", Search)
}
