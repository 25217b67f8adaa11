package arbiter.client;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Ctrl-C and SIGTERM, so that a bot may end its run by itself; the second one ends the program at once. A shutdown hook
 * would not do: the program would end with an error. What there is instead, {@code sun.misc.Signal}, is not of every
 * virtual machine, and is therefore looked for as the program runs; without it signals do what they do.
 */
final class Signals {
    private final Map<Object, Object> before = new LinkedHashMap<>(); // handlers by signal
    private Method handle;

    /** Has something done at the first signal. */
    Signals(Runnable work) {
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            handle = signal.getMethod("handle", signal, handler);
            Object ours = Proxy.newProxyInstance(
                    Signals.class.getClassLoader(), new Class<?>[] {handler}, (proxy, method, arguments) -> {
                        if (method.getName().equals("handle")) {
                            close();
                            work.run();
                        }
                        return null;
                    });
            for (String name : new String[] {"INT", "TERM"}) {
                Object caught = signal.getConstructor(String.class).newInstance(name);
                before.put(caught, handle.invoke(null, caught, ours));
            }
        } catch (ReflectiveOperationException error) {
            return; // no such class, or the signal is the virtual machine's own (-Xrs)
        }
    }

    /** Puts back what was there before. */
    synchronized void close() {
        before.forEach((signal, handler) -> {
            try {
                handle.invoke(null, signal, handler);
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error); // it could be set before
            }
        });
        before.clear();
    }
}
