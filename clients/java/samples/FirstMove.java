import arbiter.client.Bot;
import arbiter.client.Choice;
import arbiter.client.Cli;
import arbiter.client.Extras;
import arbiter.client.FinishedMatch;
import arbiter.client.Move;
import arbiter.client.Profile;
import arbiter.client.Turn;

/** The smallest bot: it plays the first legal move. */
public final class FirstMove implements Bot {
    @Override
    public Profile profile() {
        return Profile.named("first-move").extras(Extras.legalMoves(500)).build();
    }

    @Override
    public Choice choose(Turn turn) {
        return new Move(turn.legalMoves().get(0).getText());
    }

    @Override
    public void ended(FinishedMatch finished) {
        String score = finished.score().isPresent() ? "" + finished.score().getAsDouble() : "void";
        String reason = finished.result().getReason();
        System.out.printf("%s against %s: %s (%s)%n", finished.game(), finished.opponent(), score, reason);
    }

    /** Plays it as the command line says. */
    public static void main(String[] arguments) {
        Cli.main("Plays the first legal move.", new FirstMove(), arguments);
    }
}
