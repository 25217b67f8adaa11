package arbiter.client;

import arbiter.v1.ClaimDrawAct;
import arbiter.v1.MoveAct;
import arbiter.v1.MoveComment;
import arbiter.v1.OfferDrawAct;
import arbiter.v1.PlayAct;
import arbiter.v1.ResignAct;
import java.util.List;

/** The messages of a choice: an act that answers the turn, and the acts before it. */
record Acts(List<PlayAct.Builder> before, PlayAct.Builder answer) {
    /** Returns the acts of a choice at a ply. Throws NullPointerException where there is none. */
    static Acts of(Choice choice, int ply) {
        if (choice instanceof Move move) {
            return new Acts(List.of(), move(move, ply));
        }
        if (choice instanceof Choice.OfferDraw offer) {
            PlayAct.Builder before = PlayAct.newBuilder().setOfferDraw(OfferDrawAct.getDefaultInstance());
            return new Acts(List.of(before), move(offer.move(), ply));
        }
        if (choice instanceof Choice.ClaimDraw) {
            return new Acts(List.of(), PlayAct.newBuilder().setClaimDraw(ClaimDrawAct.getDefaultInstance()));
        }
        if (choice instanceof Choice.Resign) {
            return resignation();
        }
        throw new NullPointerException("choose returned null: expected a Move, OfferDraw, ClaimDraw or Resign");
    }

    static Acts resignation() {
        return new Acts(List.of(), PlayAct.newBuilder().setResign(ResignAct.getDefaultInstance()));
    }

    private static PlayAct.Builder move(Move move, int ply) {
        MoveAct.Builder act = MoveAct.newBuilder().setPly(ply).setMove(move.text());
        MoveComment comment = move.comment();
        return PlayAct.newBuilder().setMove(comment == null ? act : act.setComment(comment));
    }
}
