package arbiter.client;

import arbiter.v1.Challenge;
import arbiter.v1.Terms;
import java.lang.System.Logger;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Keeps a seek open for each of several terms, while the bot has room for a match. One thread makes and withdraws them, so
 * that no seek is made twice; everything else only wakes it.
 */
final class Seeking {
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
    private final Slots slots;
    private final Consumer<ClientException> fail;
    private final Set<String> closed = new HashSet<>(); // ids that were closed during the call to the server
    private final ReentrantLock busy = new ReentrantLock(); // held while the server is being asked
    private String player = "";
    private boolean greeted;
    private int greetings; // how many streams have begun
    private boolean stopped;
    private boolean woken;

    /** Takes a listener for the error that ends the run: the server does not accept the terms of a seek. */
    Seeking(List<Terms> seeks, Client client, Slots slots, Consumer<ClientException> fail) {
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
        greetings++;
        look();
    }

    /** Reacts to the end of a challenge or seek: it is no longer open, and at once counts as the match that it became. */
    synchronized void closed(String challengeId, String matchId) {
        if (!matchId.isEmpty()) {
            slots.expect(matchId);
        }
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

    /**
     * Withdraws the seeks that leave no room for the match being agreed on; returns false if that is too late. Throws
     * ClientException.
     */
    boolean makeRoom() {
        busy.lock();
        try {
            for (Place place : places) {
                if (!hasRoom()) {
                    withdraw(place);
                }
            }
            return hasRoom();
        } finally {
            busy.unlock();
        }
    }

    private synchronized boolean hasRoom() {
        return !stopped && slots.holds(places.stream().filter(place -> !place.challengeId.isEmpty()).count());
    }

    private void run() {
        Backoff backoff = new Backoff();
        Outage outage = new Outage(System::nanoTime);
        while (awaken()) {
            int seen = greetings();
            busy.lock();
            try {
                arrange();
                backoff.reset();
                outage.over();
            } catch (ClientException error) {
                busy.unlock();
                long pauseMs = backoff.nextMs(error.retryAfterMs());
                LOG.log(
                        outage.failed(error),
                        "seeks can't be kept open, trying again in " + pauseMs + " ms: " + error.getMessage());
                rest(pauseMs, seen, error);
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

    private synchronized int greetings() {
        return greetings;
    }

    /** Pauses after an error as {@link Connection#pause} does, but no longer than until the end of the run. */
    private synchronized void rest(long ms, int seen, ClientException error) {
        boolean asked = Connection.asksForPause(error);
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        try {
            for (long left = ms; left > 0 && !stopped && (asked || greetings == seen); ) {
                wait(left);
                left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime());
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
        List<Place> order = openFirst();
        for (int at = 0; at < order.size(); at++) {
            boolean wanted = wanted(order.subList(0, at));
            if (wanted && missing(order.get(at))) {
                make(order.get(at));
            } else if (!wanted) {
                withdraw(order.get(at));
            }
        }
    }

    private synchronized List<Place> openFirst() {
        return places.stream()
                .sorted(Comparator.comparing(place -> place.challengeId.isEmpty()))
                .toList();
    }

    private synchronized boolean takeGreeting() {
        boolean was = greeted;
        greeted = false;
        return was;
    }

    /** Returns whether one more seek may be open: any of them may become a match, so they are no more than are left. */
    private synchronized boolean wanted(List<Place> before) {
        long open = before.stream().filter(place -> !place.challengeId.isEmpty()).count();
        return !stopped && slots.holds(open + 1);
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

    /** Withdraws a seek. If another player has just accepted it, it counts until the stream says it is closed. */
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
            if (error.reason() == Reason.CHALLENGE_NOT_FOUND) {
                return;
            }
            throw error;
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
                && said.getPosition().equals(terms.getPosition())
                && (terms.getTimeControl().isEmpty() || TimeControl.same(terms.getTimeControl(), said.getTimeControl()))
                && (terms.getSeat() == 0 || terms.getSeat() == said.getSeat())
                && (!terms.hasAbandonMs() || said.hasAbandonMs() && terms.getAbandonMs() == said.getAbandonMs());
    }
}
