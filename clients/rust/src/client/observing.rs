//! Watching matches: streams of events that outlive their connections.

use std::collections::VecDeque;

use log::warn;
use tokio::time::{Instant, sleep};
use tonic::Streaming;

use super::Client;
use crate::backoff::Backoff;
use crate::errors::{Error, Reason};
use crate::proto::observe_item::Item;
use crate::proto::observe_request::Of;
use crate::proto::{MatchEvent, ObserveAll, ObserveItem, ObserveMatch, ObserveRequest, ObserveResponse};

/// An event, and the token that resumes a stream of everything after it (empty on the stream of one match).
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// What happened; its `event` is `None` where the kind is newer than this client.
    pub event: MatchEvent,
    /// Resumes [`Client::observe_all`] after this event.
    pub token: String,
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
        Observation::new(self, Of::All(ObserveAll { after_token: after_token.to_owned(), label: label.to_owned() }))
    }
}

/// Events, one after the other: each once, in order, without a gap. A lost connection is taken up where it broke off:
/// one that was there once is tried again for ever, the first one for the client's patience.
pub struct Observation {
    client: Client,
    of: Of,
    with_record: bool,
    stream: Option<Streaming<ObserveResponse>>,
    waiting: VecDeque<ObserveItem>,
    backoff: Backoff,
    give_up: Option<Instant>,
    ended: bool,
}

impl Observation {
    fn new(client: &Client, of: Of) -> Observation {
        Observation {
            client: client.clone(),
            of,
            with_record: false,
            stream: None,
            waiting: VecDeque::new(),
            backoff: Backoff::default(),
            give_up: Some(Instant::now() + client.connection().patience),
            ended: false,
        }
    }

    /// Asks for the exact bytes of each event's record too.
    pub fn with_record(mut self) -> Observation {
        self.with_record = true;
        self
    }

    /// Waits for the next event; `None` after the last one of a match. Dropping the wait loses nothing.
    pub async fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            while let Some(item) = self.waiting.pop_front() {
                if let Some(event) = self.taken(item) {
                    return Ok(Some(event));
                }
            }
            if self.ended {
                return Ok(None);
            }
            if let Err(error) = self.receive().await {
                self.stream = None;
                self.pause(error).await?;
            }
        }
    }

    /// Returns the event in an item if it is a new one, and moves on past the item.
    fn taken(&mut self, item: ObserveItem) -> Option<Event> {
        if let Of::All(all) = &mut self.of
            && !item.token.is_empty()
        {
            all.after_token.clone_from(&item.token);
        }
        let Some(Item::Event(event)) = item.item else { return None };
        if let Of::Match(one) = &mut self.of {
            if event.revision <= one.after_revision {
                return None;
            }
            one.after_revision = event.revision;
        }
        Some(Event { event, token: item.token })
    }

    /// Waits for what the stream says next, on a new stream where there is none.
    async fn receive(&mut self) -> Result<(), Error> {
        let client = self.client.clone();
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let request = ObserveRequest { of: Some(self.of.clone()), with_record: self.with_record };
                let answer = client.matches().observe(request).await;
                self.stream.insert(answer.map_err(|status| client.error(&status))?.into_inner())
            }
        };
        match stream.message().await.map_err(|status| client.error(&status))? {
            Some(response) => {
                self.give_up = None;
                self.backoff.reset();
                self.waiting.extend(response.items);
            }
            None => self.ended = true,
        }
        Ok(())
    }

    async fn pause(&mut self, error: Error) -> Result<(), Error> {
        if !error.temporary() && error.reason() != Some(Reason::ReaderTooSlow) {
            return Err(error);
        }
        let pause = self.backoff.next(error.retry_after());
        if self.give_up.is_some_and(|give_up| Instant::now() + pause > give_up) {
            return Err(error);
        }
        warn!("watching stopped, trying again: {error}");
        sleep(pause).await;
        Ok(())
    }
}
