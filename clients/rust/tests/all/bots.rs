//! Bots for the tests.

use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arbiter_client::{
    ArbiterError, Bot, BotError, ChallengeClosed, Choice, DrawOffer, Error, FinishedMatch, Hooks, LiveMatch, Options,
    Profile, Turn, play_until,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::peer::{letter, soon};

type Thought<'a> = Pin<Box<dyn Future<Output = Result<Choice, BotError>> + Send + 'a>>;
type Choose = dyn for<'a> Fn(&'a Turn) -> Thought<'a> + Send + Sync;

/// Remembers what it is told, and chooses as the test says: by default, the ply's letter of the alphabet.
pub struct Noted {
    profile: Profile,
    notes: Notes,
    choose: Box<Choose>,
    accepts_draws: bool,
    own_answer: Option<Choice>,
}

/// What a bot was told, in order.
#[derive(Clone, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub fn add(&self, note: String) {
        self.0.lock().expect("no test panicked with it").push(note);
    }

    /// Waits for a note.
    pub async fn has(&self, note: &str) {
        while !self.all().iter().any(|each| each == note) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn all(&self) -> Vec<String> {
        self.0.lock().expect("no test panicked with it").clone()
    }
}

/// Notes what hooks are told.
pub struct NotedHooks(pub Notes);

impl Hooks for NotedHooks {
    fn connected(&self, _: &str, player: &str) {
        self.0.add(format!("connected as {player}"));
    }

    fn disconnected(&self, _: &str, error: &Error) {
        self.0.add(format!("disconnected: {}", error.temporary()));
        panic!("a hook that fails costs nothing else");
    }

    fn thought(&self, live: &LiveMatch, ply: i32, _: Duration) {
        self.0.add(format!("thought in {} at {ply}", live.match_id));
    }

    fn refused(&self, live: &LiveMatch, ply: i32, refusal: &ArbiterError) {
        self.0.add(format!("refused in {} at {ply}: {refusal}", live.match_id));
    }
}

impl Noted {
    pub fn new() -> Noted {
        Noted::choosing(|turn| Ok(letter(turn.ply).into()))
    }

    pub fn choosing(choose: impl Fn(&Turn) -> Result<Choice, BotError> + Send + Sync + 'static) -> Noted {
        Noted::thinking(move |turn| Box::pin(std::future::ready(choose(turn))))
    }

    pub fn thinking(choose: impl for<'a> Fn(&'a Turn) -> Thought<'a> + Send + Sync + 'static) -> Noted {
        let profile = Profile::named("noted");
        Noted { profile, notes: Notes::default(), choose: Box::new(choose), accepts_draws: false, own_answer: None }
    }

    pub fn with(self, change: impl FnOnce(&mut Profile)) -> Noted {
        let mut bot = self;
        change(&mut bot.profile);
        bot
    }

    pub fn accepting_draws(self) -> Noted {
        Noted { accepts_draws: true, ..self }
    }

    pub fn answering_refusals(self, choice: Choice) -> Noted {
        Noted { own_answer: Some(choice), ..self }
    }

    pub fn notes(&self) -> Notes {
        self.notes.clone()
    }
}

impl Bot for Noted {
    fn profile(&self) -> Profile {
        self.profile.clone()
    }

    async fn choose(&self, turn: &Turn) -> Result<Choice, BotError> {
        self.notes.add(format!("turn {} of {} in seat {}", turn.ply, turn.live.match_id, turn.seat));
        (self.choose)(turn).await
    }

    async fn refused(&self, _: &Turn, refusal: &ArbiterError) -> Result<Option<Choice>, BotError> {
        self.notes.add(format!("refused {}", refusal.reason.as_str_name()));
        Ok(self.own_answer.clone())
    }

    fn started(&self, live: &Arc<LiveMatch>) {
        self.notes.add(format!("started {} in seat {}", live.match_id, live.seat));
    }

    fn ended(&self, finished: &FinishedMatch) {
        self.notes.add(format!("ended {} with {:?}", finished.match_id, finished.score()));
    }

    fn draw_offered(&self, offer: &DrawOffer) -> bool {
        self.notes.add(format!("draw offered by {}", offer.live.opponent));
        self.accepts_draws
    }

    fn challenge_closed(&self, closed: &ChallengeClosed) {
        self.notes.add(format!("closed {}", closed.challenge_id));
    }
}

/// A bot that plays, until the test stops it or drops this.
pub struct Playing {
    task: JoinHandle<Result<(), Error>>,
    stop: Option<oneshot::Sender<()>>,
}

impl Playing {
    pub fn start(bot: impl Bot, options: Options) -> Playing {
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async {
            let _ = stopped.await; // told, or the test is over
        };
        Playing { task: tokio::spawn(play_until(bot, options, stopped)), stop: Some(stop) }
    }

    /// Tells the bot to stop.
    pub fn stop(&mut self) {
        self.stop.take();
    }

    /// Waits until the run has ended, and returns how.
    pub async fn ended(self) -> Result<(), Error> {
        let Playing { task, stop } = self;
        let ended = soon(task).await.expect("the client does not panic");
        drop(stop);
        ended
    }
}

/// A door that bots wait at until the test opens it, and a bell that tells the test that one has come.
pub struct Gate {
    bell: UnboundedSender<String>,
    open: Mutex<Receiver<()>>,
}

/// The test's side of a gate. Dropping it opens the gate for good.
pub struct Key {
    rings: UnboundedReceiver<String>,
    key: Sender<()>,
}

impl Gate {
    pub fn new() -> (Arc<Gate>, Key) {
        let (bell, rings) = unbounded_channel();
        let (key, open) = channel();
        (Arc::new(Gate { bell, open: Mutex::new(open) }), Key { rings, key })
    }

    /// Rings, and waits until the test lets one through.
    pub fn pass(&self, who: &str) {
        let _ = self.bell.send(who.to_owned()); // or the test is over
        let _ = self.open.lock().expect("nobody panicked at the gate").recv();
    }
}

impl Key {
    /// Waits for the next to come, and returns who it is.
    pub async fn ring(&mut self) -> String {
        soon(self.rings.recv()).await.expect("the gate is there")
    }

    /// Returns whether somebody has come that the test has not heard of yet.
    pub fn has_rung(&self) -> bool {
        !self.rings.is_empty()
    }

    pub fn let_through(&self) {
        self.key.send(()).expect("the gate is there");
    }
}
