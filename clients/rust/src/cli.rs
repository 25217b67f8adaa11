//! The command line of a bot: the same for all, so that the file of a bot contains only the bot.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use log::LevelFilter;

use crate::bot::Bot;
use crate::channel::Tls;
use crate::errors::Error;
use crate::log::show;
use crate::options::Options;
use crate::plain_text::plain_lines;
use crate::playing::run;
use crate::profile::Profile;
use crate::values::Terms;

const FLAGS: [(&str, &str, &str); 17] = [
    (
        "--server",
        "HOST:PORT",
        "the arbiter; several of its addresses with commas (default: $ARBITER_SERVER or 127.0.0.1:7400)",
    ),
    ("--name", "NAME", "the player (default: $ARBITER_NAME or the bot's name); registered if there is no token for it"),
    ("--token", "TOKEN", "the player's token (default: $ARBITER_TOKEN or the credentials file)"),
    ("--invitation", "WORD", "the invitation to register with, where one is needed"),
    ("--games", "GAMES", "games or variants to play, separated by commas (default: all)"),
    ("--most-matches", "N", "how many matches to play at once (default: no limit)"),
    ("--matches", "N", "stop after so many matches have ended"),
    ("--seek", "TERMS", "keep a seek open: \"GAME [TIME] [rated] [seat=1|2]\"; may be given several times"),
    ("--accept-seeks", "", "accept open seeks of others"),
    ("--enter-tournaments", "", "enter every tournament that suits, when it is called"),
    ("--tls", "", "speak TLS, and trust the system's certificates"),
    ("--root-certificate", "FILE", "speak TLS, and trust this certificate (PEM)"),
    ("--client-certificate", "FILE", "the bot's own certificate (PEM), with --client-key"),
    ("--client-key", "FILE", "the key of the bot's own certificate (PEM)"),
    ("--verbose", "", "say more on standard error"),
    ("--quiet", "", "say only what is wrong on standard error"),
    ("--help", "", "show this and exit"),
];

/// Plays a bot by the arguments and the environment. Returns when the bot is done or interrupted; a mistake is reported
/// in one line on standard error, with exit code 1.
pub fn main(description: &str, bot: impl Bot) -> ExitCode {
    let options = Options::default().with_profile(bot.profile());
    program(description, "", options, |options, _| run(bot, options))
}

/// Does some other work with the same command line. `words` says what may stand beside the options, such as `[MATCH]`;
/// empty for nothing. The work gets the options and these words. A mistake is reported in one line on standard error,
/// with exit code 1.
pub fn program(
    description: &str,
    words: &str,
    options: Options,
    work: impl FnOnce(Options, Vec<String>) -> Result<(), Error>,
) -> ExitCode {
    let mut arguments = std::env::args();
    let path = arguments.next().map(PathBuf::from).unwrap_or_default();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let done = match parse(arguments, options) {
        Err(mistake) => Err(format!("{mistake} (--help lists the options)")),
        Ok(Command::Help) => {
            print!("{}", help(&name, words, description));
            Ok(())
        }
        Ok(Command::Run { beside, .. }) if words.is_empty() && !beside.is_empty() => {
            Err(format!("{} is no option (--help lists the options)", beside[0]))
        }
        Ok(Command::Run { options, level, beside }) => {
            show(level);
            work(*options, beside).map_err(|error| error.to_string())
        }
    };
    if let Err(mistake) = &done {
        eprintln!("{name}: {}", plain_lines(mistake));
    }
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Debug)]
enum Command {
    Help,
    Run { options: Box<Options>, level: LevelFilter, beside: Vec<String> },
}

/// Returns the parsed arguments, applied to the options.
fn parse(mut arguments: impl Iterator<Item = String>, mut options: Options) -> Result<Command, String> {
    let mut level = LevelFilter::Info;
    let mut beside = Vec::new();
    while let Some(argument) = arguments.next() {
        if !argument.starts_with('-') {
            beside.push(argument);
            continue;
        }
        let (flag, attached) = match argument.split_once('=') {
            Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let Some((_, what, _)) = FLAGS.iter().find(|(known, ..)| *known == flag) else {
            return Err(format!("there is no option {flag}"));
        };
        let value = match (what.is_empty(), attached) {
            (true, Some(_)) => return Err(format!("{flag} takes no value")),
            (true, None) => String::new(),
            (false, Some(value)) => value,
            (false, None) => arguments.next().ok_or_else(|| format!("{flag} needs a value: {what}"))?,
        };
        match flag.as_str() {
            "--help" => return Ok(Command::Help),
            "--verbose" => level = LevelFilter::Debug,
            "--quiet" => level = LevelFilter::Warn,
            _ => apply(&flag, value, &mut options)?,
        }
    }
    Ok(Command::Run { options: Box::new(options), level, beside })
}

fn apply(flag: &str, value: String, options: &mut Options) -> Result<(), String> {
    if let "--tls" | "--root-certificate" | "--client-certificate" | "--client-key" = flag {
        let tls = options.tls.get_or_insert_with(Tls::default);
        match flag {
            "--root-certificate" => tls.root_certificate = Some(value.into()),
            "--client-certificate" => tls.client_certificate = Some(value.into()),
            "--client-key" => tls.client_key = Some(value.into()),
            _ => {}
        }
        return Ok(());
    }
    let profile = options.profile.get_or_insert_with(|| Profile::named(""));
    match flag {
        "--server" => options.server = Some(value),
        "--name" => options.name = Some(value),
        "--token" => options.token = Some(value),
        "--invitation" => options.invitation = value,
        "--matches" => options.matches = Some(number(flag, &value)?),
        "--most-matches" => profile.most_matches = number(flag, &value)?,
        "--games" => profile.games = split(&value),
        "--seek" => profile.seeks.push(terms(&value)?),
        "--accept-seeks" => profile.accept_seeks = true,
        _ => profile.enter_tournaments = true,
    }
    Ok(())
}

fn number<N: FromStr>(flag: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{flag} {text}: expected a number"))
}

/// Returns the items of a list; commas in parentheses do not separate, as in `pods(size=5,x=1),hop-it`.
fn split(games: &str) -> Vec<String> {
    let mut depth = 0;
    let items = games.split(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    });
    items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// Returns the terms that `GAME [TIME] [rated] [seat=1|2]` says.
fn terms(text: &str) -> Result<Terms, String> {
    let mut words = text.split_whitespace();
    let game = words.next().ok_or("--seek needs a game, such as --seek \"pods 1m+1s rated\"")?;
    let mut terms = Terms { game: game.to_owned(), ..Terms::default() };
    for word in words {
        match word {
            "rated" => terms.rated = true,
            "seat=1" => terms.seat = 1,
            "seat=2" => terms.seat = 2,
            time if terms.time_control.is_empty() && !time.contains('=') => time.clone_into(&mut terms.time_control),
            other => {
                return Err(format!("--seek \"{text}\": {other:?} says nothing; write GAME [TIME] [rated] [seat=1|2]"));
            }
        }
    }
    Ok(terms)
}

fn help(program: &str, words: &str, description: &str) -> String {
    let usage = format!("Usage: {program} [OPTIONS] {words}");
    let mut text = format!("{}\n\n{description}\n\n", usage.trim_end());
    for (flag, value, what) in FLAGS {
        let left = format!("{flag} {value}");
        text += &format!("  {left:<28} {what}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Options, String> {
        let options = Options { profile: Some(Profile::named("test")), ..Options::default() };
        match parse(arguments.iter().map(|word| (*word).to_owned()), options)? {
            Command::Run { options, .. } => Ok(*options),
            Command::Help => Err("help".to_owned()),
        }
    }

    #[test]
    fn every_option_has_its_place() {
        let options = parsed(&[
            "--server=there:1",
            "--name",
            "alice",
            "--token",
            "t=1",
            "--invitation",
            "i",
            "--matches",
            "3",
            "--most-matches",
            "2",
            "--games",
            "pods(size=5,x=1), hop-it",
            "--seek",
            "pods 1m+1s rated seat=2",
            "--seek=hop-it",
            "--accept-seeks",
            "--enter-tournaments",
            "--root-certificate",
            "root.pem",
            "--verbose",
        ])
        .expect("they are options");
        let profile = options.profile.expect("a profile");
        assert_eq!((options.server.as_deref(), options.name.as_deref()), (Some("there:1"), Some("alice")));
        assert_eq!((options.token.as_deref(), options.matches), (Some("t=1"), Some(3)));
        assert_eq!(options.tls, Some(Tls { root_certificate: Some("root.pem".into()), ..Tls::default() }));
        assert_eq!(options.invitation, "i");
        assert_eq!(profile.games, ["pods(size=5,x=1)", "hop-it"]);
        assert_eq!(profile.most_matches, 2);
        assert!(profile.accept_seeks && profile.enter_tournaments);
        let first =
            Terms { game: "pods".into(), time_control: "1m+1s".into(), rated: true, seat: 2, ..Terms::default() };
        assert_eq!(profile.seeks, [first, Terms { game: "hop-it".into(), ..Terms::default() }]);
    }

    #[test]
    fn a_mistake_is_one_sentence() {
        for (arguments, sentence) in [
            (&["--nonsense"][..], "there is no option --nonsense"),
            (&["--name"], "--name needs a value: NAME"),
            (&["--verbose=1"], "--verbose takes no value"),
            (&["--matches", "many"], "--matches many: expected a number"),
            (&["--seek", " "], "--seek needs a game"),
            (&["--seek", "pods 1m 2m"], "\"2m\" says nothing"),
            (&["--seek", "pods seat=3"], "\"seat=3\" says nothing"),
        ] {
            let mistake = parsed(arguments).expect_err("a mistake");
            assert!(mistake.contains(sentence), "{mistake}");
        }
    }

    #[test]
    fn help_lists_every_option() {
        let text = help("first_move", "", "Plays the first legal move.");
        assert!(FLAGS.iter().all(|(flag, ..)| text.contains(flag)), "{text}");
        assert_eq!(parsed(&["--help"]).expect_err("help"), "help");
    }
}
