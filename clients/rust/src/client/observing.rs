//! Watching matches: streams of events that continue after a lost connection.

use std::collections::VecDeque;
use std::marker::PhantomData;

use log::warn;
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Streaming;

use super::Client;
use crate::addresses::Tries;
use crate::errors::{Error, Reason};
use crate::proto::observe_item::Item;
use crate::proto::observe_request::Of;
use crate::proto::{
    MatchEvent, ObserveAll, ObserveItem, ObserveMatch, ObserveRequest, ObserveResponse, TournamentEvent,
};

/// An event, and the token that resumes a stream of everything after it (empty on the stream of one match).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened; its `event` is `None` where the kind is newer than this client.
    pub event: MatchEvent,
    /// Resumes [`Client::observe_all`] after this event.
    pub token: String,
}

/// What the stream of a tournament tells: its own events, and those of its matches.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// Of one of its matches.
    Match(Event),
    /// Of the tournament.
    Tournament {
        /// What happened; its `event` is `None` where the kind is newer than this client.
        event: TournamentEvent,
        /// Resumes the stream after this event.
        token: String,
    },
}

/// What an [`Observation`] yields: [`Event`] or [`News`].
pub trait Observed: Sized {
    /// Returns the content of an item, if it is of this kind.
    fn of(item: ObserveItem) -> Option<Self>;
}

impl Observed for Event {
    fn of(item: ObserveItem) -> Option<Event> {
        match item.item? {
            Item::Event(event) => Some(Event { event, token: item.token }),
            _ => None,
        }
    }
}

impl Observed for News {
    fn of(item: ObserveItem) -> Option<News> {
        match item.item? {
            Item::Event(event) => Some(News::Match(Event { event, token: item.token })),
            Item::TournamentEvent(event) => Some(News::Tournament { event, token: item.token }),
            Item::Bookmark(_) => None,
        }
    }
}

impl Client {
    /// Watches one match, from the event after a revision (0: from the beginning) up to its last. Refusals:
    /// MATCH_NOT_FOUND.
    pub fn observe(&self, match_id: &str, after_revision: i64) -> Observation {
        Observation::new(self, Of::Match(ObserveMatch { match_id: match_id.to_owned(), after_revision }))
    }

    /// Watches every match, or those with a label, after a token: empty starts now, "0" at the beginning of the record.
    /// It has no end. Refusals: ARGUMENT_INVALID (token).
    pub fn observe_all(&self, after_token: &str, label: &str) -> Observation {
        let (after_token, label) = (after_token.to_owned(), label.to_owned());
        Observation::new(self, Of::All(ObserveAll { after_token, label, ..Default::default() }))
    }

    /// Watches a tournament and its matches after a token, as [`Client::observe_all`] does everything.
    pub fn observe_tournament(&self, tournament_id: &str, after_token: &str) -> Observation<News> {
        let (after_token, label) = (after_token.to_owned(), tournament_id.to_owned());
        Observation::new(self, Of::All(ObserveAll { after_token, label, ..Default::default() }))
    }
}

/// Events, one after the other: each once, in order, without a gap. After a lost connection it continues: a lost
/// connection is tried again without end, the first one for the client's patience.
pub struct Observation<E = Event> {
    client: Client,
    of: Of,
    with_record: bool,
    stream: Option<Streaming<ObserveResponse>>,
    waiting: VecDeque<ObserveItem>,
    tries: Tries,
    place: usize,
    give_up: Option<Instant>,
    ended: bool,
    kind: PhantomData<E>,
}

impl<E: Observed> Observation<E> {
    fn new(client: &Client, of: Of) -> Observation<E> {
        Observation {
            client: client.clone(),
            of,
            with_record: false,
            stream: None,
            waiting: VecDeque::new(),
            tries: client.connection().tries(),
            place: 0,
            give_up: Some(Instant::now() + client.connection().patience),
            ended: false,
            kind: PhantomData,
        }
    }

    /// Asks for the exact bytes of each event's record too.
    pub fn with_record(mut self) -> Observation<E> {
        self.with_record = true;
        self
    }

    /// Waits for the next event; `None` after the last one of a match. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<Option<E>, Error> {
        loop {
            while let Some(item) = self.waiting.pop_front() {
                if let Some(event) = self.taken(item) {
                    return Ok(Some(event));
                }
            }
            if self.ended {
                return Ok(None);
            }
            let greeting = self.client.connection().greeting();
            if let Err(error) = self.receive().await {
                self.stream = None;
                self.pause(error, greeting).await?;
            }
        }
    }

    /// Returns the content of an item if it is new, and moves on past it.
    fn taken(&mut self, item: ObserveItem) -> Option<E> {
        match (&mut self.of, &item.item) {
            (Of::All(all), _) if !item.token.is_empty() => all.after_token.clone_from(&item.token),
            (Of::Match(one), Some(Item::Event(event))) if event.revision > one.after_revision => {
                one.after_revision = event.revision;
            }
            (Of::Match(_), _) => return None,
            _ => {}
        }
        E::of(item)
    }

    /// Waits for the next item of the stream; opens a new stream if there is none.
    async fn receive(&mut self) -> Result<(), Error> {
        let client = self.client.clone();
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let request =
                    ObserveRequest { of: Some(self.of.clone()), with_record: self.with_record, ..Default::default() };
                self.place = client.connection().addresses.place();
                let answer = client.matches().observe(request).await;
                let place = self.place;
                self.stream.insert(answer.map_err(|status| client.connection().error_at(place, &status))?.into_inner())
            }
        };
        match stream.message().await.map_err(|status| client.connection().error_at(self.place, &status))? {
            Some(response) => {
                self.give_up = None;
                self.tries.reset();
                self.waiting.extend(response.items);
            }
            None => self.ended = true,
        }
        Ok(())
    }

    async fn pause(&mut self, error: Error, greeting: watch::Receiver<u64>) -> Result<(), Error> {
        if !error.temporary() && error.reason() != Some(Reason::ReaderTooSlow) {
            return Err(error);
        }
        let pause = self.tries.failed(self.place, &error);
        if !pause.is_zero() && self.give_up.is_some_and(|give_up| Instant::now() + pause > give_up) {
            return Err(self.tries.all_failed(error));
        }
        warn!("watching stopped, trying again: {error}");
        self.client.connection().rest(pause, greeting, &error).await;
        Ok(())
    }
}
