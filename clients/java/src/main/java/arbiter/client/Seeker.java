package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.Terms;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Keeps a seek open for each of several terms, while the bot has room for a match. One thread makes and withdraws them, so
 * that no seek is made twice; everything else only wakes it.
 */
final class Seeker {
    private static final Logger LOG = System.getLogger("arbiter.client");
    private static final int MOST_LISTED = 100_000; // the bot's own seeks are found among everybody's

    /** Terms for which a seek should be open, and the open seek. */
    private static final class Place {
        final Terms terms;
        String challengeId = "";

        Place(Terms terms) {
            this.terms = terms;
        }
    }

    private final List<Place> places;
    private final Client client;
    private final MatchSlots slots;
    private final Consumer<ClientException> fail;
    private final Set<String> closed = new HashSet<>(); // ids that were closed during the call to the server
    private final ReentrantLock busy = new ReentrantLock(); // held while the server is being asked
    private String player = "";
    private boolean greeted;
    private boolean stopped;
    private boolean woken;

    /** Takes a listener for the error that ends the run: the server does not accept the terms of a seek. */
    Seeker(List<Terms> seeks, Client client, MatchSlots slots, Consumer<ClientException> fail) {
        this.fail = fail;
        this.places = seeks.stream().map(Place::new).toList();
        this.client = client;
        this.slots = slots;
        if (!places.isEmpty()) {
            Caller.daemons("arbiter-seeks").newThread(this::run).start();
        }
    }

    /** Begins a new stream: the state of the seeks is read from the server again. */
    synchronized void greeted(String name) {
        player = name;
        greeted = true;
        look();
    }

    /** Reacts to the end of a challenge or seek. */
    synchronized void closed(String challengeId) {
        if (busy.isLocked()) {
            closed.add(challengeId);
        }
        for (Place place : places) {
            if (place.challengeId.equals(challengeId)) {
                place.challengeId = "";
            }
        }
        look();
    }

    /** Has the seeks made or withdrawn that should be, now that something has changed. */
    synchronized void look() {
        woken = true;
        notifyAll();
    }

    /** Makes no more seeks. */
    synchronized void stop() {
        stopped = true;
        notifyAll();
    }

    /** Makes no more seeks, and withdraws those that are open. Throws ClientException. */
    void close() {
        stop();
        busy.lock();
        try {
            for (Place place : places) {
                withdraw(place);
            }
        } finally {
            busy.unlock();
        }
    }

    private void run() {
        Backoff backoff = new Backoff();
        while (awaken()) {
            busy.lock();
            try {
                arrange();
                backoff.reset();
            } catch (ClientException error) {
                busy.unlock();
                long pauseMs = backoff.nextMs(error.retryAfterMs());
                LOG.log(
                        Level.WARNING,
                        "seeks can't be kept open, trying again in " + pauseMs + " ms: " + error.getMessage());
                rest(pauseMs);
                look();
            } finally {
                if (busy.isHeldByCurrentThread()) {
                    busy.unlock();
                }
            }
        }
    }

    /** Waits until there is something to look at; returns false at the end. */
    private synchronized boolean awaken() {
        try {
            while (!woken && !stopped) {
                wait();
            }
        } catch (InterruptedException interruption) {
            return false;
        }
        woken = false;
        return !stopped;
    }

    private synchronized void rest(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        try {
            for (long left = ms; left > 0 && !stopped; left = (until - System.nanoTime()) / 1_000_000) {
                wait(left);
            }
        } catch (InterruptedException interruption) {
            stopped = true;
        }
    }

    private void arrange() {
        if (takeGreeting()) {
            try {
                findAgain();
            } catch (ClientException error) {
                synchronized (this) {
                    greeted = true;
                }
                throw error;
            }
        }
        int open = 0; // any of these may become a match: they are no more than the matches that are left
        for (Place place : openFirst()) {
            boolean wanted = wanted() && open < slots.left();
            if (wanted && missing(place)) {
                make(place);
            } else if (!wanted) {
                withdraw(place);
            }
            open += isOpen(place) ? 1 : 0;
        }
    }

    private synchronized List<Place> openFirst() {
        return places.stream()
                .sorted(Comparator.comparing(place -> place.challengeId.isEmpty()))
                .toList();
    }

    private synchronized boolean isOpen(Place place) {
        return !place.challengeId.isEmpty();
    }

    private synchronized boolean takeGreeting() {
        boolean was = greeted;
        greeted = false;
        return was;
    }

    private synchronized boolean wanted() {
        return !stopped && !slots.full();
    }

    private synchronized boolean missing(Place place) {
        return !player.isEmpty() && place.challengeId.isEmpty();
    }

    /** Sees which seeks are open: those of before, and those of a run that did not end well. */
    private void findAgain() {
        forgetClosed();
        List<Challenge> listed = client.listChallenges(MOST_LISTED);
        synchronized (this) {
            Map<String, Challenge> left = new LinkedHashMap<>();
            for (Challenge challenge : listed) {
                boolean own = challenge.getChallenger().equals(player) && challenge.getOpponent().isEmpty();
                if (own && !closed.contains(challenge.getChallengeId())) {
                    left.put(challenge.getChallengeId(), challenge);
                }
            }
            for (Place place : places) {
                if (left.remove(place.challengeId) == null) {
                    place.challengeId = "";
                }
            }
            for (Place place : places) {
                if (place.challengeId.isEmpty()) {
                    left.values().stream().filter(seek -> fits(seek, place.terms)).findFirst().ifPresent(seek -> {
                        place.challengeId = seek.getChallengeId();
                        left.remove(seek.getChallengeId());
                    });
                }
            }
        }
    }

    private void make(Place place) {
        forgetClosed();
        Challenge seek;
        try {
            seek = client.createSeek(place.terms);
        } catch (ArbiterException error) {
            if (error.away()) {
                throw error;
            }
            stop();
            fail.accept(error);
            return;
        }
        synchronized (this) {
            if (!closed.contains(seek.getChallengeId())) { // it was not accepted before the answer arrived
                place.challengeId = seek.getChallengeId();
            }
        }
    }

    private void withdraw(Place place) {
        String id;
        synchronized (this) {
            id = place.challengeId;
        }
        if (id.isEmpty()) {
            return;
        }
        try {
            client.declineChallenge(id, "");
        } catch (ArbiterException error) {
            if (error.reason() != Reason.CHALLENGE_NOT_FOUND) { // somebody accepted it just now
                throw error;
            }
        }
        synchronized (this) {
            if (place.challengeId.equals(id)) {
                place.challengeId = "";
            }
        }
    }

    private synchronized void forgetClosed() {
        closed.clear();
    }

    /** Returns whether an open seek has the given terms. Terms that were left to the server match anything. */
    private static boolean fits(Challenge seek, Terms terms) {
        Terms said = seek.getTerms();
        return said.getGame().equals(terms.getGame())
                && said.getRated() == terms.getRated()
                && (terms.getTimeControl().isEmpty() || terms.getTimeControl().equals(said.getTimeControl()))
                && (terms.getSeat() == 0 || terms.getSeat() == said.getSeat());
    }
}
