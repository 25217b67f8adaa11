/* The smallest bot in C: it plays the first legal move.
 *
 *   cc -o first_move first_move.c
 *   arbiter bot run --exec ./first_move --name alice
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *line = NULL, move[256] = "";
    size_t room = 0;

    setvbuf(stdout, NULL, _IOLBF, 0); /* what is said must not wait in a buffer */
    while (getline(&line, &room, stdin) > 0) {
        if (strncmp(line, "arbiter ", 8) == 0)
            printf("name first-move-c\nversion 1\nmoves 5000\nready\n");
        else if (strncmp(line, "moves ", 6) == 0)
            sscanf(line, "moves %*d %255s", move);
        else if (strncmp(line, "go", 2) == 0)
            printf("move %s\n", move);
        else if (strncmp(line, "quit", 4) == 0)
            break;
    }
    free(line);
    return 0;
}
