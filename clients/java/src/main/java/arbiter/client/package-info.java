/**
 * A client of an Arbiter server. A bot is one method, from a turn to a move ({@link arbiter.client.Bot}); {@link
 * arbiter.client.Playing} plays it, {@link arbiter.client.Client} makes every other call.
 *
 * <p>Everything that this package throws is a {@link arbiter.client.ClientException}, whose text is a sentence for people.
 */
package arbiter.client;
