//! The Play stream: connect, send the hello, answer pings, reconnect after a lost connection.

use std::sync::Arc;
use std::time::Duration;

use log::{Level, info, log};
use tokio::sync::mpsc::{self, Sender, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;

use crate::addresses::Tries;
use crate::client::Client;
use crate::errors::{ArbiterError, Error, Reason};
use crate::events::Event;
use crate::hooks::{Hooks, hook};
use crate::outage::Outage;
use crate::outbox::Outbox;
use crate::profile::Profile;
use crate::proto::play_act::Act;
use crate::proto::play_item::Item;
use crate::proto::{PlayRequest, PlayResponse, Pong};

const HELLO_WAIT: Duration = Duration::from_secs(10); // time limit for the server's hello

/// A bot's session: one stream after another, until it is stopped or the server does not want it.
///
/// Once all addresses have failed, the first connection is tried again for the client's patience; a lost one is tried
/// again at all addresses until it is back.
pub(crate) struct Session {
    profile: Arc<Profile>,
    client: Client,
    outbox: Arc<Outbox>,
    events: UnboundedSender<Event>,
    stopped: watch::Receiver<bool>,
    tries: Tries,
    place: usize,
    met: bool,
    silence: Duration,
    notice: Option<ArbiterError>,
    outage: Outage,
    hooks: Arc<dyn Hooks>,
}

impl Session {
    /// `events` gets what the server says; once `stopped` is true and the outbox is closed, `run` returns at the end of
    /// the stream.
    pub(crate) fn new(
        profile: Arc<Profile>,
        client: Client,
        outbox: Arc<Outbox>,
        events: UnboundedSender<Event>,
        hooks: Arc<dyn Hooks>,
        stopped: watch::Receiver<bool>,
    ) -> Session {
        let tries = client.connection().tries();
        Session {
            profile,
            client,
            outbox,
            events,
            stopped,
            tries,
            place: 0,
            met: false,
            silence: HELLO_WAIT,
            notice: None,
            outage: Outage::default(),
            hooks,
        }
    }

    /// Plays until it is stopped. Fails if the server ends the session finally, or was never reached.
    pub(crate) async fn run(mut self) -> Result<(), Error> {
        let mut give_up = None;
        loop {
            self.place = self.client.connection().addresses.place();
            let error = self.one_stream().await;
            if *self.stopped.borrow() {
                return Ok(());
            }
            if let Error::Arbiter(refusal) = &error
                && !passes(refusal)
            {
                return Err(error);
            }
            let pause = self.tries.failed(self.place, &error);
            if self.met {
                let level = self.outage.failed();
                log!(level, "connection lost, trying again at {} until it is back: {error}", self.client.server());
                if level == Level::Warn {
                    hook("disconnected", || self.hooks.disconnected(self.address(), &error));
                }
            } else if !pause.is_zero() {
                let now = Instant::now();
                if now + pause > *give_up.get_or_insert(now + self.client.connection().patience) {
                    return Err(self.tries.all_failed(error));
                }
                self.client.connection().say_waiting(&error);
            }
            tokio::select! {
                () = sleep(pause) => self.client.connection().renew(),
                _ = self.stopped.wait_for(|stopped| *stopped) => return Ok(()),
            }
        }
    }

    /// Holds one stream for as long as it lasts, and returns why it ended.
    async fn one_stream(&mut self) -> Error {
        self.notice = None;
        self.silence = HELLO_WAIT;
        self.outbox.hold(self.profile.hello());
        let (acts, said) = mpsc::channel(1);
        let mut writer = JoinSet::new();
        writer.spawn(write(self.outbox.clone(), acts));
        let error = self.converse(ReceiverStream::new(said)).await;
        writer.shutdown().await;
        match (error, self.notice.take()) {
            // If the end has no reason, the server may have announced one before.
            (Error::ConnectionFailed(..), Some(notice)) => notice.into(),
            (error, _) => error,
        }
    }

    async fn converse(&mut self, said: ReceiverStream<PlayRequest>) -> Error {
        let client = self.client.clone();
        let mut stub = client.play();
        let opened = timeout(self.silence, stub.play(said)).await;
        let mut stream = match opened {
            Err(_) => return self.silent(),
            Ok(Err(status)) => return client.connection().error_at(self.place, &status),
            Ok(Ok(answer)) => answer.into_inner(),
        };
        loop {
            match timeout(self.silence, stream.message()).await {
                Err(_) => return self.silent(),
                Ok(Err(status)) => return client.connection().error_at(self.place, &status),
                Ok(Ok(None)) => return self.failed("ended the stream"),
                Ok(Ok(Some(response))) => self.take(response),
            }
        }
    }

    fn take(&mut self, response: PlayResponse) {
        for item in response.items.into_iter().filter_map(|item| item.item) {
            match item {
                Item::Ping(ping) => self.outbox.say_at_once(Act::Pong(Pong { number: ping.number })),
                Item::Notice(refusal) => {
                    let notice = ArbiterError::from(refusal);
                    info!("the arbiter is about to end the stream: {notice}");
                    self.notice = Some(notice);
                }
                Item::Hello(hello) => {
                    let told = u64::try_from(hello.silence_most_ms).unwrap_or(0);
                    self.silence = if told > 0 { Duration::from_millis(told) } else { HELLO_WAIT };
                    self.met = true;
                    self.client.connection().greet();
                    let lasted = self.outage.over();
                    let level = if lasted.is_some() { Level::Warn } else { Level::Info };
                    let after =
                        lasted.map_or(String::new(), |time| format!(" again, after {:.1} s", time.as_secs_f64()));
                    log!(level, "connected to {} as {}{after}", self.address(), hello.player);
                    hook("connected", || self.hooks.connected(self.address(), &hello.player));
                    self.tries.reset();
                    self.pass_on(Item::Hello(hello));
                    self.outbox.release();
                }
                other => self.pass_on(other),
            }
        }
    }

    fn pass_on(&self, item: Item) {
        let _ = self.events.send(Event::Item(Box::new(item))); // nobody listens any more once the run has ended
    }

    fn silent(&self) -> Error {
        self.failed(&format!("has been silent for {:?}", self.silence))
    }

    fn failed(&self, how: &str) -> Error {
        Error::ConnectionFailed(format!("the arbiter at {} {how}", self.address()), None)
    }

    fn address(&self) -> &str {
        self.client.connection().addresses.at(self.place)
    }
}

async fn write(outbox: Arc<Outbox>, acts: Sender<PlayRequest>) {
    while let Some(request) = outbox.next().await {
        if acts.send(request).await.is_err() {
            return; // the stream is over, and its reader has the reason
        }
    }
}

/// Returns whether to try a new stream after one that ended with this refusal.
fn passes(refusal: &ArbiterError) -> bool {
    refusal.passing() && !matches!(refusal.reason, Reason::SessionSuperseded | Reason::MessageTooLarge)
}
