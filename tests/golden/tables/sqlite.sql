CREATE TABLE event (
    sequence INTEGER NOT NULL,
    match_id VARCHAR(40) NOT NULL,
    revision BIGINT NOT NULL,
    body BLOB NOT NULL,
    subject VARCHAR(10) DEFAULT 'match' NOT NULL,
    seal BLOB,
    PRIMARY KEY (sequence),
    CONSTRAINT event_once UNIQUE (match_id, revision)
);
CREATE TABLE archived_match (
    match_id VARCHAR(40) NOT NULL,
    first_sequence INTEGER NOT NULL,
    span INTEGER NOT NULL,
    size INTEGER NOT NULL,
    entry BLOB NOT NULL,
    seal BLOB,
    records BLOB NOT NULL,
    PRIMARY KEY (match_id)
);
CREATE INDEX archived_match_by_sequence ON archived_match (first_sequence);
CREATE INDEX archived_match_by_span ON archived_match (span);
CREATE TABLE "match" (
    match_id VARCHAR(40) NOT NULL,
    game VARCHAR(200) NOT NULL,
    player_1 VARCHAR(40) NOT NULL,
    player_2 VARCHAR(40) NOT NULL,
    time_control VARCHAR(40) NOT NULL,
    rated BOOLEAN NOT NULL,
    label VARCHAR(100) NOT NULL,
    creator VARCHAR(40) NOT NULL,
    request_id VARCHAR(100) NOT NULL,
    created_ms BIGINT NOT NULL,
    sequence INTEGER NOT NULL,
    ended_sequence INTEGER DEFAULT '0' NOT NULL,
    result VARCHAR(10) DEFAULT '' NOT NULL,
    winner INTEGER DEFAULT '0' NOT NULL,
    reason VARCHAR(40) DEFAULT '' NOT NULL,
    cause VARCHAR(20) DEFAULT '' NOT NULL,
    party VARCHAR(20) DEFAULT '' NOT NULL,
    seat INTEGER DEFAULT '0' NOT NULL,
    note TEXT DEFAULT '' NOT NULL,
    ended_ms BIGINT DEFAULT '0' NOT NULL,
    position TEXT DEFAULT '' NOT NULL,
    ply INTEGER DEFAULT '0' NOT NULL,
    version_1 VARCHAR(100) DEFAULT '' NOT NULL,
    version_2 VARCHAR(100) DEFAULT '' NOT NULL,
    ruling BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (match_id),
    CONSTRAINT match_of_request UNIQUE (creator, request_id)
);
CREATE INDEX match_by_label ON "match" (label, sequence);
CREATE INDEX match_by_player_1 ON "match" (player_1, ended_sequence);
CREATE INDEX match_by_player_2 ON "match" (player_2, ended_sequence);
CREATE INDEX match_by_sequence ON "match" (sequence);
CREATE INDEX match_under_way ON "match" (sequence) WHERE ended_sequence = 0;
CREATE TABLE tally (
    label VARCHAR(100) NOT NULL,
    game VARCHAR(200) NOT NULL,
    rated BOOLEAN NOT NULL,
    player_1 VARCHAR(40) NOT NULL,
    player_2 VARCHAR(40) NOT NULL,
    result VARCHAR(10) NOT NULL,
    winner INTEGER NOT NULL,
    cause VARCHAR(20) NOT NULL,
    games BIGINT NOT NULL,
    version_1 VARCHAR(100) NOT NULL,
    version_2 VARCHAR(100) NOT NULL,
    PRIMARY KEY (label, game, rated, player_1, player_2, result, winner, cause, version_1, version_2)
);
CREATE INDEX tally_by_game ON tally (game, rated);
CREATE TABLE rating_ruling (
    number INTEGER NOT NULL,
    body BLOB NOT NULL,
    seal BLOB,
    PRIMARY KEY (number)
);
CREATE TABLE tournament (
    tournament_id VARCHAR(40) NOT NULL,
    name VARCHAR(100) NOT NULL,
    format VARCHAR(20) NOT NULL,
    phase VARCHAR(10) NOT NULL,
    creator VARCHAR(40) NOT NULL,
    request_id VARCHAR(100) NOT NULL,
    created_ms BIGINT NOT NULL,
    started_ms BIGINT NOT NULL,
    ended_ms BIGINT NOT NULL,
    sequence INTEGER NOT NULL,
    ended_sequence INTEGER NOT NULL,
    PRIMARY KEY (tournament_id),
    CONSTRAINT tournament_of_request UNIQUE (creator, request_id)
);
CREATE INDEX tournament_by_sequence ON tournament (sequence);
CREATE TABLE tournament_snapshot (
    tournament_id VARCHAR(40) NOT NULL,
    revision BIGINT NOT NULL,
    digest VARCHAR(64) NOT NULL,
    code VARCHAR(64) NOT NULL,
    state BLOB NOT NULL,
    seal BLOB NOT NULL,
    PRIMARY KEY (tournament_id)
);
CREATE TABLE player (
    name VARCHAR(40) NOT NULL,
    created_ms BIGINT NOT NULL,
    about TEXT NOT NULL,
    bot_name VARCHAR(100) NOT NULL,
    bot_version VARCHAR(100) NOT NULL,
    games TEXT NOT NULL,
    most_matches INTEGER NOT NULL,
    suspended BOOLEAN NOT NULL,
    acknowledged INTEGER NOT NULL,
    badge_version VARCHAR(100) DEFAULT '' NOT NULL,
    badge_ms BIGINT DEFAULT '0' NOT NULL,
    likeness VARCHAR(80) DEFAULT '' NOT NULL,
    current_name VARCHAR(40) DEFAULT '' NOT NULL,
    retired BOOLEAN DEFAULT 0 NOT NULL,
    hidden BOOLEAN DEFAULT 0 NOT NULL,
    deleted BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (name)
);
CREATE INDEX player_by_likeness ON player (likeness);
CREATE TABLE player_name (
    name VARCHAR(40) NOT NULL,
    player VARCHAR(40) NOT NULL,
    likeness VARCHAR(80) NOT NULL,
    PRIMARY KEY (name)
);
CREATE INDEX player_name_by_likeness ON player_name (likeness);
CREATE INDEX player_name_by_player ON player_name (player);
CREATE TABLE token (
    token_id VARCHAR(40) NOT NULL,
    player VARCHAR(40) NOT NULL,
    digest VARCHAR(64) NOT NULL,
    scopes VARCHAR(100) NOT NULL,
    note VARCHAR(100) NOT NULL,
    created_ms BIGINT NOT NULL,
    revoked BOOLEAN NOT NULL,
    session BOOLEAN DEFAULT 0 NOT NULL,
    used_ms BIGINT DEFAULT '0' NOT NULL,
    PRIMARY KEY (token_id),
    UNIQUE (digest)
);
CREATE INDEX token_by_player ON token (player, token_id);
CREATE TABLE invitation (
    digest VARCHAR(64) NOT NULL,
    PRIMARY KEY (digest)
);
CREATE TABLE challenge (
    challenge_id VARCHAR(40) NOT NULL,
    challenger VARCHAR(40) NOT NULL,
    opponent VARCHAR(40) NOT NULL,
    game VARCHAR(200) NOT NULL,
    time_control VARCHAR(40) NOT NULL,
    rated BOOLEAN NOT NULL,
    seat INTEGER NOT NULL,
    request_id VARCHAR(100) NOT NULL,
    created_ms BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL,
    match_id VARCHAR(40) NOT NULL,
    reason TEXT NOT NULL,
    position TEXT DEFAULT '' NOT NULL,
    abandon_ms BIGINT,
    PRIMARY KEY (challenge_id),
    CONSTRAINT challenge_of_request UNIQUE (challenger, request_id)
);
CREATE INDEX challenge_open ON challenge (state, opponent);
CREATE TABLE web_hook (
    hook_id VARCHAR(40) NOT NULL,
    tournament_id VARCHAR(40) NOT NULL,
    url TEXT NOT NULL,
    secret VARCHAR(100) NOT NULL,
    creator VARCHAR(40) NOT NULL,
    request_id VARCHAR(100) NOT NULL,
    created_ms BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    tries INTEGER NOT NULL,
    due_ms BIGINT NOT NULL,
    error TEXT NOT NULL,
    delivered_ms BIGINT NOT NULL,
    stopped BOOLEAN NOT NULL,
    PRIMARY KEY (hook_id),
    CONSTRAINT web_hook_of_request UNIQUE (creator, request_id)
);
CREATE INDEX web_hook_by_due ON web_hook (due_ms);
CREATE INDEX web_hook_by_tournament ON web_hook (tournament_id);
CREATE TABLE replica (
    replica VARCHAR(40) NOT NULL,
    seen_ms BIGINT NOT NULL,
    heir VARCHAR(40) NOT NULL,
    session INTEGER DEFAULT '0' NOT NULL,
    PRIMARY KEY (replica)
);
CREATE TABLE play_session (
    player VARCHAR(40) NOT NULL,
    replica VARCHAR(40) NOT NULL,
    epoch BIGINT NOT NULL,
    bot_version VARCHAR(100) NOT NULL,
    most_matches INTEGER NOT NULL,
    taken_ms BIGINT NOT NULL,
    previous VARCHAR(40) NOT NULL,
    PRIMARY KEY (player)
);
CREATE TABLE left_replica (
    player VARCHAR(40) NOT NULL,
    replica VARCHAR(40) NOT NULL,
    left_ms BIGINT NOT NULL,
    taken_ms BIGINT NOT NULL,
    PRIMARY KEY (player, replica)
);
CREATE TABLE hand_over (
    player VARCHAR(40) NOT NULL,
    match_id VARCHAR(40) NOT NULL,
    ply INTEGER NOT NULL,
    started_ms BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (player, match_id)
);
CREATE TABLE signing_key (
    key_id VARCHAR(40) NOT NULL,
    PRIMARY KEY (key_id)
);
CREATE TABLE notice (
    number INTEGER NOT NULL,
    kind VARCHAR(20) NOT NULL,
    subject VARCHAR(40) NOT NULL,
    receiver VARCHAR(40) NOT NULL,
    detail VARCHAR(40) NOT NULL,
    PRIMARY KEY (number)
);
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
