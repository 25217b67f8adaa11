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
 * The queue of the bot's acts: sent in order, in batches, and repeated until they are answered. A request keeps its id
 * and is sent again on every new stream until its answer arrives; a pong or an acknowledgement is sent only once.
 * Between {@code hold} and {@code release} only the hello is sent. For any number of threads.
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

    /**
     * Begins a new stream, which is called back when it is ready: sends the hello, and nothing else until {@code
     * release}.
     */
    synchronized void hold(ClientHello hello, CallStreamObserver<PlayRequest> opened) {
        stream = opened;
        held = true;
        finished = false;
        queue.clear();
        urgent.clear();
        urgent.add(PlayAct.newBuilder().setHello(hello).build());
    }

    /** Sends nothing more on a stream that has ended. */
    synchronized void leave(CallStreamObserver<PlayRequest> ended) {
        if (stream == ended) {
            stream = null;
            held = true;
        }
    }

    /** Continues after the server's hello on a stream: unanswered requests are sent again, in their old order. */
    synchronized void release(CallStreamObserver<PlayRequest> greeted) {
        if (stream != greeted) {
            return;
        }
        held = false;
        queue.clear();
        queue.addAll(unanswered.values());
        drain();
    }

    /** Sends an act that will be answered; returns its request id. */
    synchronized String request(PlayAct.Builder act) {
        count++;
        String id = prefix + "-" + count;
        PlayAct whole = act.setRequestId(id).build();
        unanswered.put(id, whole);
        push(whole);
        return id;
    }

    /** Sends an act that is not answered; it is lost if the stream breaks. */
    synchronized void say(PlayAct act) {
        push(act);
    }

    /** Sends an act before all others, on the stream that asked for it. */
    synchronized void sayAtOnce(PlayAct act, CallStreamObserver<PlayRequest> asked) {
        if (stream == asked) {
            urgent.add(act);
            drain();
        }
    }

    /** Returns the unanswered act with a request id, or null. */
    synchronized PlayAct unanswered(String requestId) {
        return unanswered.get(requestId);
    }

    /** Removes an act, which has been answered, from the list. */
    synchronized void answered(String requestId) {
        unanswered.remove(requestId);
    }

    /** Sends an unanswered act again. */
    synchronized void again(String requestId) {
        PlayAct act = unanswered.get(requestId);
        if (act != null && queue.stream().noneMatch(waiting -> waiting == act)) {
            push(act);
        }
    }

    /** Ends the sending side of the stream once everything has been sent. */
    synchronized void close() {
        closed = true;
        drain();
    }

    /** Sends the acts, pongs first, as far as the stream takes them. */
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
            finished = true; // the stream is over, and its reader has the reason
        }
    }

    private void push(PlayAct act) {
        if (!held) {
            queue.add(act);
            drain();
        }
    }
}
