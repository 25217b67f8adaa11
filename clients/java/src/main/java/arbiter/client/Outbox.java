package arbiter.client;

import arbiter.v1.ClientHello;
import arbiter.v1.PlayAct;
import arbiter.v1.PlayRequest;
import io.grpc.stub.CallStreamObserver;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * What the bot says on its stream: in order, together where it is ready together, and until it is answered. A request
 * keeps its id and is sent again on every new stream until its answer arrives; a pong or an acknowledgement is said once.
 * Between {@code hold} and {@code release} only the hello goes out. For any number of threads.
 */
final class Outbox {
    private final String prefix = UUID.randomUUID().toString();
    private final Map<String, PlayAct> unanswered = new LinkedHashMap<>();
    private final List<PlayAct> urgent = new ArrayList<>();
    private final List<PlayAct> queue = new ArrayList<>();
    private CallStreamObserver<PlayRequest> stream;
    private long count;
    private boolean held = true;
    private boolean closed;
    private boolean finished;

    /** Begins a new stream, which is called back as it is ready: says hello, and nothing else until {@code release}. */
    synchronized void hold(ClientHello hello, CallStreamObserver<PlayRequest> opened) {
        stream = opened;
        held = true;
        finished = false;
        queue.clear();
        urgent.clear();
        urgent.add(PlayAct.newBuilder().setHello(hello).build());
    }

    /** Says nothing more on a stream that has ended. */
    synchronized void leave(CallStreamObserver<PlayRequest> ended) {
        if (stream == ended) {
            stream = null;
            held = true;
        }
    }

    /** Goes on after the server's hello on a stream: what has not been answered goes out again, in its old order. */
    synchronized void release(CallStreamObserver<PlayRequest> greeted) {
        if (stream != greeted) {
            return;
        }
        held = false;
        queue.clear();
        queue.addAll(unanswered.values());
        drain();
    }

    /** Sends an act that will be answered; returns the request id that it got. */
    synchronized String request(PlayAct.Builder act) {
        count++;
        String id = prefix + "-" + count;
        PlayAct whole = act.setRequestId(id).build();
        unanswered.put(id, whole);
        push(whole);
        return id;
    }

    /** Says something that is not answered; a stream that breaks forgets it. */
    synchronized void say(PlayAct act) {
        push(act);
    }

    /** Says something before all else, on the stream that asked for it. */
    synchronized void sayAtOnce(PlayAct act, CallStreamObserver<PlayRequest> asked) {
        if (stream == asked) {
            urgent.add(act);
            drain();
        }
    }

    /** Returns the act that waits for an answer under an id, or null. */
    synchronized PlayAct unanswered(String requestId) {
        return unanswered.get(requestId);
    }

    /** Takes an act off the list of those that wait. */
    synchronized void answered(String requestId) {
        unanswered.remove(requestId);
    }

    /** Sends an act again that still waits for its answer. */
    synchronized void again(String requestId) {
        PlayAct act = unanswered.get(requestId);
        if (act != null && queue.stream().noneMatch(waiting -> waiting == act)) {
            push(act);
        }
    }

    /** Ends the stream's sending side once everything has been said. */
    synchronized void close() {
        closed = true;
        drain();
    }

    /** Says what is ready to be said, as far as the stream takes it: pongs first. */
    synchronized void drain() {
        if (stream == null || finished || !stream.isReady()) {
            return;
        }
        try {
            if (!urgent.isEmpty() || !queue.isEmpty()) {
                PlayRequest request =
                        PlayRequest.newBuilder().addAllActs(urgent).addAllActs(queue).build();
                urgent.clear();
                queue.clear();
                stream.onNext(request);
            }
            if (closed) {
                finished = true;
                stream.onCompleted();
            }
        } catch (IllegalStateException error) {
            finished = true; // the stream is over, and its reader knows why
        }
    }

    private void push(PlayAct act) {
        if (!held) {
            queue.add(act);
            drain();
        }
    }
}
