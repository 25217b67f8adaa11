package arbiter.client;

import arbiter.v1.Board;
import arbiter.v1.CellContent;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Boards as arrays. */
public final class Boards {
    private Boards() {}

    /**
     * Returns the contents of a board, such as {@link Turn#board()}, as rows of cells in reading order; null where nothing
     * is known of a cell.
     *
     * @param board the board of the game, of {@link Client#getGame}
     */
    public static CellContent[][] array(Board board, List<CellContent> contents) {
        Map<String, CellContent> byName = new HashMap<>();
        contents.forEach(content -> byName.put(content.getCell(), content));
        return board.getLinesList().stream()
                .map(line -> line.getCellsList().stream().map(byName::get).toArray(CellContent[]::new))
                .toArray(CellContent[][]::new);
    }
}
