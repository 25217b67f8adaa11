/* Commits records to SQLite in a thread that never takes the interpreter's lock.
 *
 * A commit flushes the disk. The writer's thread in Python (writer.py) has to take the interpreter's lock before and
 * after that, while the event loop holds it; at low load, to pass the lock on costs more than the commit. This thread
 * gets rows whose bytes it reads in place: the tuples that hold them live until the event loop has taken the result.
 * With rows it may get statements that change other tables, such as the list of matches. It prepares each of them once.
 *
 * Groups. All batches that are queued when the thread begins make one transaction, up to `most` rows (at least one
 * batch). If it fails, it is rolled back, and the thread stops: it takes no new batch, and gives back those that are
 * not stored. The writer's thread writes them, one by one where it has to, and so this file knows no kinds of errors.
 *
 * Files. After each commit the thread looks whether the files at their paths are those of its last look. If not, Python
 * finds out what has happened: here this costs a twentieth of what it costs the event loop.
 *
 * SQLite. The functions are looked up in the library that Python's own module `sqlite3` uses: with a second copy of
 * the library in the process, one copy would lose its locks on the file when the other one closes it.
 *
 * Locking. `mutex` protects everything from `first` to `failure`. The event loop's thread holds it for a few
 * instructions, and always has the interpreter's lock; this thread never has it. So neither waits for the other.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What SQLite's documentation promises about these functions and numbers: they are part of its stable interface. */
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
enum { OK = 0, NO_MEMORY = 7, OUT_OF_RANGE = 25, ROW = 100, DONE = 101, OPEN_READWRITE = 2 };
enum { ERROR_SIZE = 200 };
enum { MOST_PREPARED = 8 }; /* statements of changes that stay prepared */

static struct {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close_v2)(sqlite3 *);
    int (*exec)(sqlite3 *, const char *, void *, void *, char **);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*finalize)(sqlite3_stmt *);
    int (*step)(sqlite3_stmt *);
    int (*reset)(sqlite3_stmt *);
    int (*bind_int64)(sqlite3_stmt *, int, int64_t);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void *);
    int (*bind_blob)(sqlite3_stmt *, int, const void *, int, void *);
    int (*bind_null)(sqlite3_stmt *, int);
    int (*bind_parameter_count)(sqlite3_stmt *);
    const char *(*errmsg)(sqlite3 *);
    int (*threadsafe)(void);
} sql;

static const struct {
    const char *name;
    void *place;
} FUNCTIONS[] = {
    {"sqlite3_open_v2", &sql.open_v2},       {"sqlite3_close_v2", &sql.close_v2},
    {"sqlite3_exec", &sql.exec},             {"sqlite3_prepare_v2", &sql.prepare_v2},
    {"sqlite3_finalize", &sql.finalize},     {"sqlite3_step", &sql.step},
    {"sqlite3_reset", &sql.reset},           {"sqlite3_bind_int64", &sql.bind_int64},
    {"sqlite3_bind_text", &sql.bind_text},   {"sqlite3_bind_blob", &sql.bind_blob},
    {"sqlite3_bind_null", &sql.bind_null},   {"sqlite3_errmsg", &sql.errmsg},
    {"sqlite3_threadsafe", &sql.threadsafe}, {"sqlite3_bind_parameter_count", &sql.bind_parameter_count},
};

/* The rows of the table `event`, in the order of their tuples: see `Numbered` in tables.py. */
enum { SEQUENCE, MATCH, REVISION, BODY, SUBJECT, KNOWN, SEAL, COLUMNS };

typedef struct {
    int64_t sequence, revision;
    const char *match, *body, *subject, *seal; /* borrowed from the tuples; seal may be NULL */
    int match_size, body_size, subject_size, seal_size;
    int known;
} Row;

/* A value of a statement. */
typedef struct {
    enum { NOTHING, INTEGER, TEXT, BLOB } kind;
    int64_t integer;
    const char *start; /* borrowed, as above */
    int size;
} Value;

/* A statement that changes something besides the rows. */
typedef struct {
    const char *text; /* borrowed, as above */
    int count;        /* of its values */
    Value *values;
} Change;

typedef struct Batch {
    struct Batch *next;
    PyObject *token;   /* what the caller gets back with the result */
    PyObject *rows;    /* keeps the bytes alive that the rows below point to */
    PyObject *changes; /* the same for the changes */
    double seconds;    /* how long its commit took, in the last batch of a commit; else less than 0 */
    int same_files;    /* in the same batch: whether the look after the commit found the files of the look before */
    int count, change_count;
    Change *change;
    Row row[];
} Batch;

typedef struct {
    PyObject_HEAD
    /* set once, before the thread starts */
    char *path, *log, *pragmas, *insert; /* log: the path of the write-ahead log */
    int most, event;
    int started;
    pthread_t thread;
    /* of the thread alone */
    sqlite3 *database;
    sqlite3_stmt *begin_statement, *insert_statement, *commit_statement, *rollback_statement, *checkpoint_statement;
    struct {
        char *text;
        sqlite3_stmt *statement;
    } prepared[MOST_PREPARED]; /* of changes */
    int oldest;                /* which of them makes room for the next one */
    struct stat file_found, log_found; /* by the last look at the files; no number: none were there */
    /* protected by `mutex` */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Batch *first, *last;           /* queued */
    Batch *done_first, *done_last; /* stored */
    Batch *back_first, *back_last; /* not stored */
    int working, stopped, closing, checkpoint_due;
    char failure[ERROR_SIZE]; /* why it stopped */
} Thread;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* Add a chain of batches to a queue. */
static void push(Batch **first, Batch **last, Batch *from, Batch *to) {
    if (*last)
        (*last)->next = from;
    else
        *first = from;
    *last = to;
}

/* -- the thread ------------------------------------------------------------------------------------------------- */

static int run_once(sqlite3_stmt *statement) {
    int code = sql.step(statement);
    int reset = sql.reset(statement); /* says what went wrong, where `step` did not */
    return code == DONE || code == ROW ? OK : reset != OK ? reset : code;
}

static int prepare(Thread *self, const char *text, sqlite3_stmt **statement) {
    return *statement ? OK : sql.prepare_v2(self->database, text, -1, statement, NULL);
}

/* Open the database at the first commit, or again after a failure. */
static int opened(Thread *self) {
    int code = OK;
    if (!self->database) {
        code = sql.open_v2(self->path, &self->database, OPEN_READWRITE, NULL);
        if (code == OK) code = sql.exec(self->database, self->pragmas, NULL, NULL, NULL);
    }
    if (code == OK) code = prepare(self, "BEGIN IMMEDIATE", &self->begin_statement);
    if (code == OK) code = prepare(self, self->insert, &self->insert_statement);
    if (code == OK) code = prepare(self, "COMMIT", &self->commit_statement);
    if (code == OK) code = prepare(self, "ROLLBACK", &self->rollback_statement);
    if (code == OK) code = prepare(self, "PRAGMA wal_checkpoint(PASSIVE)", &self->checkpoint_statement);
    return code;
}

static void forget_prepared(Thread *self, int place) {
    sql.finalize(self->prepared[place].statement);
    free(self->prepared[place].text);
    self->prepared[place].statement = NULL;
    self->prepared[place].text = NULL;
}

static void closed(Thread *self) {
    for (int place = 0; place < MOST_PREPARED; place++) forget_prepared(self, place);
    sqlite3_stmt **statements[] = {
        &self->begin_statement, &self->insert_statement, &self->commit_statement, &self->rollback_statement,
        &self->checkpoint_statement};
    for (size_t n = 0; n < sizeof statements / sizeof *statements; n++) {
        sql.finalize(*statements[n]);
        *statements[n] = NULL;
    }
    sql.close_v2(self->database);
    self->database = NULL;
}

static int inserted(sqlite3_stmt *statement, const Row *row) {
    int code = sql.bind_int64(statement, SEQUENCE + 1, row->sequence);
    if (code == OK) code = sql.bind_text(statement, MATCH + 1, row->match, row->match_size, NULL);
    if (code == OK) code = sql.bind_int64(statement, REVISION + 1, row->revision);
    if (code == OK) code = sql.bind_blob(statement, BODY + 1, row->body, row->body_size, NULL);
    if (code == OK) code = sql.bind_text(statement, SUBJECT + 1, row->subject, row->subject_size, NULL);
    if (code == OK) code = sql.bind_int64(statement, KNOWN + 1, row->known);
    if (code == OK)
        code = row->seal ? sql.bind_blob(statement, SEAL + 1, row->seal, row->seal_size, NULL)
                         : sql.bind_null(statement, SEAL + 1);
    return code == OK ? run_once(statement) : code;
}

/* Find the prepared statement of a change, or prepare it. */
static int find_prepared(Thread *self, const char *text, sqlite3_stmt **found) {
    for (int place = 0; place < MOST_PREPARED; place++)
        if (self->prepared[place].text && !strcmp(self->prepared[place].text, text)) {
            *found = self->prepared[place].statement;
            return OK;
        }
    int place = self->oldest;
    self->oldest = (place + 1) % MOST_PREPARED;
    forget_prepared(self, place);
    int code = sql.prepare_v2(self->database, text, -1, found, NULL);
    if (code != OK) return code;
    self->prepared[place].statement = *found;
    self->prepared[place].text = strdup(text);
    return self->prepared[place].text ? OK : NO_MEMORY;
}

static int bound(sqlite3_stmt *statement, int place, const Value *value) {
    switch (value->kind) {
    case INTEGER: return sql.bind_int64(statement, place, value->integer);
    case TEXT: return sql.bind_text(statement, place, value->start, value->size, NULL);
    case BLOB: return sql.bind_blob(statement, place, value->start, value->size, NULL);
    default: return sql.bind_null(statement, place);
    }
}

static int changed(Thread *self, const Change *change) {
    sqlite3_stmt *statement = NULL;
    int code = find_prepared(self, change->text, &statement);
    if (code == OK && sql.bind_parameter_count(statement) != change->count) code = OUT_OF_RANGE;
    for (int n = 0; n < change->count && code == OK; n++) code = bound(statement, n + 1, &change->values[n]);
    return code == OK ? run_once(statement) : code;
}

/* Store a chain of batches in one transaction: all or none. */
static int stored(Thread *self, const Batch *chain) {
    int code = opened(self);
    if (code != OK) return code;
    code = run_once(self->begin_statement);
    if (code != OK) return code;
    for (const Batch *batch = chain; batch && code == OK; batch = batch->next) {
        for (int n = 0; n < batch->count && code == OK; n++) code = inserted(self->insert_statement, &batch->row[n]);
        for (int n = 0; n < batch->change_count && code == OK; n++) code = changed(self, &batch->change[n]);
    }
    if (code == OK) code = run_once(self->commit_statement);
    return code;
}

static int same(const struct stat *one, const struct stat *two) {
    return one->st_dev == two->st_dev && one->st_ino == two->st_ino;
}

/* Look at the files; return whether they are those of the last look, and the database is at least as long. */
static int same_files(Thread *self) {
    struct stat file = {0}, log = {0};
    int there = !stat(self->path, &file) && !stat(self->log, &log);
    int found = there && same(&file, &self->file_found) && same(&log, &self->log_found) &&
                file.st_size >= self->file_found.st_size;
    self->file_found = file;
    self->log_found = log;
    return found;
}

/* Note why a transaction failed, and undo it. The connection is closed: what failed may have been its own fault. */
static void note_failure(Thread *self, int code, char *failure) {
    const char *said = self->database ? sql.errmsg(self->database) : "not opened";
    snprintf(failure, ERROR_SIZE, "%s (%d)", said ? said : "unknown", code);
    if (self->rollback_statement) run_once(self->rollback_statement); /* fails where there is no transaction */
    closed(self);
}

/* Take the next group from the queue; the mutex is held. */
static Batch *taken(Thread *self, Batch **last) {
    Batch *group = self->first;
    int64_t rows = 0;
    for (Batch *batch = group; batch; batch = batch->next) {
        if (batch != group && rows + batch->count > self->most) break;
        rows += batch->count;
        *last = batch;
    }
    self->first = (*last)->next;
    if (!self->first) self->last = NULL;
    (*last)->next = NULL;
    return group;
}

static void *run(void *argument) {
    Thread *self = argument;
    char failure[ERROR_SIZE];
    const uint64_t one = 1;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while ((!self->first || self->stopped) && !self->closing && !self->checkpoint_due)
            pthread_cond_wait(&self->changed, &self->mutex);
        if (self->checkpoint_due) {
            self->checkpoint_due = 0;
            self->working = 1;
            pthread_mutex_unlock(&self->mutex);
            if (self->checkpoint_statement) run_once(self->checkpoint_statement); /* if it fails, the log stays longer */
            pthread_mutex_lock(&self->mutex);
            self->working = 0;
            pthread_cond_broadcast(&self->changed);
            continue;
        }
        if (!self->first || self->stopped) break;
        Batch *last = NULL, *group = taken(self, &last);
        self->working = 1;
        pthread_mutex_unlock(&self->mutex);

        double began = now();
        int code = stored(self, group);
        if (code != OK) note_failure(self, code, failure);
        double seconds = now() - began;
        last->same_files = code == OK && same_files(self);

        pthread_mutex_lock(&self->mutex);
        self->working = 0;
        if (code == OK) {
            for (Batch *batch = group; batch; batch = batch->next) batch->seconds = batch == last ? seconds : -1;
            push(&self->done_first, &self->done_last, group, last);
        } else {
            self->stopped = 1;
            memcpy(self->failure, failure, ERROR_SIZE);
            push(&self->back_first, &self->back_last, group, last);
            if (self->first) push(&self->back_first, &self->back_last, self->first, self->last);
            self->first = self->last = NULL;
        }
        pthread_cond_broadcast(&self->changed);
        if (write(self->event, &one, sizeof one) < 0) {} /* only fails if the event loop has 2^64 to read */
    }
    pthread_mutex_unlock(&self->mutex);
    closed(self);
    return NULL;
}

/* -- for Python ------------------------------------------------------------------------------------------------- */

static void free_batch(Batch *batch) {
    for (int n = 0; n < batch->change_count; n++) free(batch->change[n].values);
    free(batch->change);
    Py_XDECREF(batch->token);
    Py_XDECREF(batch->rows);
    Py_XDECREF(batch->changes);
    free(batch);
}

static int read_bytes(PyObject *value, const char **start, int *size) {
    if (!PyBytes_Check(value) || PyBytes_GET_SIZE(value) > INT_MAX) {
        PyErr_SetString(PyExc_TypeError, "a body and a seal are bytes of at most 2 GiB");
        return -1;
    }
    *start = PyBytes_AS_STRING(value);
    *size = (int)PyBytes_GET_SIZE(value);
    return 0;
}

static int read_text(PyObject *value, const char **start, int *size) {
    Py_ssize_t length = 0;
    *start = PyUnicode_AsUTF8AndSize(value, &length); /* raises TypeError */
    if (!*start) return -1;
    *size = (int)length;
    return 0;
}

static int read_row(PyObject *values, Row *row) {
    if (!PyTuple_Check(values) || PyTuple_GET_SIZE(values) != COLUMNS) {
        PyErr_SetString(PyExc_TypeError, "a row is a tuple of seven values");
        return -1;
    }
    PyObject *seal = PyTuple_GET_ITEM(values, SEAL);
    row->sequence = PyLong_AsLongLong(PyTuple_GET_ITEM(values, SEQUENCE));
    row->revision = PyLong_AsLongLong(PyTuple_GET_ITEM(values, REVISION));
    row->known = PyObject_IsTrue(PyTuple_GET_ITEM(values, KNOWN));
    if (PyErr_Occurred() || read_text(PyTuple_GET_ITEM(values, MATCH), &row->match, &row->match_size) ||
        read_text(PyTuple_GET_ITEM(values, SUBJECT), &row->subject, &row->subject_size) ||
        read_bytes(PyTuple_GET_ITEM(values, BODY), &row->body, &row->body_size))
        return -1;
    row->seal = NULL;
    return seal == Py_None ? 0 : read_bytes(seal, &row->seal, &row->seal_size);
}

static int read_value(PyObject *given, Value *value) {
    if (given == Py_None) {
        value->kind = NOTHING;
        return 0;
    }
    if (PyLong_Check(given)) { /* a bool is one too */
        value->kind = INTEGER;
        value->integer = PyLong_AsLongLong(given);
        return PyErr_Occurred() ? -1 : 0;
    }
    value->kind = PyUnicode_Check(given) ? TEXT : BLOB;
    return value->kind == TEXT ? read_text(given, &value->start, &value->size)
                               : read_bytes(given, &value->start, &value->size);
}

static int read_change(PyObject *given, Change *change) {
    PyObject *text, *values;
    if (!PyTuple_Check(given)) {
        PyErr_SetString(PyExc_TypeError, "a change is a tuple of a statement and a tuple of its values");
        return -1;
    }
    if (!PyArg_ParseTuple(given, "UO!", &text, &PyTuple_Type, &values)) return -1;
    change->text = PyUnicode_AsUTF8(text);
    if (!change->text) return -1;
    change->values = calloc((size_t)PyTuple_GET_SIZE(values) + 1, sizeof(Value)); /* never NULL for no values */
    if (!change->values) {
        PyErr_NoMemory();
        return -1;
    }
    change->count = (int)PyTuple_GET_SIZE(values);
    for (int n = 0; n < change->count; n++)
        if (read_value(PyTuple_GET_ITEM(values, n), &change->values[n])) return -1;
    return 0;
}

/* Read rows and changes into a new batch. Return NULL, with an exception, if one has another form. */
static Batch *read_batch(PyObject *token, PyObject *rows, PyObject *changes) {
    Py_ssize_t count = PyList_GET_SIZE(rows), change_count = changes ? PyList_GET_SIZE(changes) : 0;
    Batch *batch = calloc(1, sizeof(Batch) + (size_t)count * sizeof(Row));
    if (!batch) return (Batch *)PyErr_NoMemory();
    int failed = 0;
    batch->rows = PyList_GetSlice(rows, 0, count); /* the caller may change its lists */
    if (!batch->rows) failed = 1;
    for (; batch->count < count && !failed; batch->count++)
        failed = read_row(PyList_GET_ITEM(rows, batch->count), &batch->row[batch->count]);
    if (change_count && !failed) {
        batch->changes = PyList_GetSlice(changes, 0, change_count);
        batch->change = calloc((size_t)change_count, sizeof(Change));
        if (batch->changes && !batch->change) PyErr_NoMemory();
        failed = !batch->changes || !batch->change;
        for (; batch->change_count < change_count && !failed; batch->change_count++)
            failed = read_change(PyList_GET_ITEM(changes, batch->change_count), &batch->change[batch->change_count]);
    }
    if (failed) {
        free_batch(batch);
        return NULL;
    }
    batch->token = Py_NewRef(token);
    return batch;
}

static PyObject *put(Thread *self, PyObject *args) {
    PyObject *token, *rows, *changes = NULL;
    if (!PyArg_ParseTuple(args, "OO!|O!", &token, &PyList_Type, &rows, &PyList_Type, &changes)) return NULL;
    Batch *batch = read_batch(token, rows, changes);
    if (!batch) return NULL;
    pthread_mutex_lock(&self->mutex);
    int taken = !self->stopped && !self->closing, waits = !self->working;
    if (taken) push(&self->first, &self->last, batch, batch);
    pthread_mutex_unlock(&self->mutex);
    if (taken && waits) pthread_cond_broadcast(&self->changed); /* afterwards: whoever wakes finds it unlocked */
    if (!taken) free_batch(batch);
    return PyBool_FromLong(taken);
}

static PyObject *finished(Thread *self, PyObject *none) {
    uint64_t count;
    if (read(self->event, &count, sizeof count) < 0) {} /* nothing to read: somebody asked without being told */
    pthread_mutex_lock(&self->mutex);
    Batch *batch = self->done_first;
    self->done_first = self->done_last = NULL;
    pthread_mutex_unlock(&self->mutex);
    PyObject *found = PyList_New(0);
    while (batch) {
        Batch *next = batch->next;
        PyObject *entry = found ? Py_BuildValue("(OdN)", batch->token, batch->seconds, PyBool_FromLong(batch->same_files)) : NULL;
        if (!entry || PyList_Append(found, entry)) Py_CLEAR(found);
        Py_XDECREF(entry);
        free_batch(batch);
        batch = next;
    }
    return found;
}

static PyObject *given_back(Thread *self, PyObject *none) {
    pthread_mutex_lock(&self->mutex);
    Batch *batch = self->back_first;
    self->back_first = self->back_last = NULL;
    pthread_mutex_unlock(&self->mutex);
    PyObject *found = PyList_New(0);
    while (batch) {
        Batch *next = batch->next;
        if (!found || PyList_Append(found, batch->token)) Py_CLEAR(found);
        free_batch(batch);
        batch = next;
    }
    return found;
}

static PyObject *wait_idle(Thread *self, PyObject *none) {
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&self->mutex);
    while (self->working || self->checkpoint_due || (self->first && !self->stopped))
        pthread_cond_wait(&self->changed, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

static PyObject *checkpoint(Thread *self, PyObject *none) {
    pthread_mutex_lock(&self->mutex);
    self->checkpoint_due = 1;
    if (!self->working) pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

static PyObject *resume(Thread *self, PyObject *none) {
    pthread_mutex_lock(&self->mutex);
    self->stopped = 0;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    Py_RETURN_NONE;
}

static PyObject *stopped(Thread *self, PyObject *none) {
    char failure[ERROR_SIZE];
    pthread_mutex_lock(&self->mutex);
    int is_stopped = self->stopped;
    memcpy(failure, self->failure, ERROR_SIZE);
    pthread_mutex_unlock(&self->mutex);
    if (!is_stopped) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(failure, (Py_ssize_t)strnlen(failure, ERROR_SIZE), "replace");
}

static void join(Thread *self) {
    if (!self->started) return;
    self->started = 0;
    Py_BEGIN_ALLOW_THREADS;
    pthread_mutex_lock(&self->mutex);
    self->closing = 1;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    Py_END_ALLOW_THREADS;
}

static PyObject *close_thread(Thread *self, PyObject *none) {
    join(self);
    Py_RETURN_NONE;
}

static PyObject *fileno_of(Thread *self, PyObject *none) { return PyLong_FromLong(self->event); }

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *names) {
    static char *keywords[] = {"path", "log", "pragmas", "insert", "most", NULL};
    const char *path, *log, *pragmas, *insert;
    int most;
    if (!PyArg_ParseTupleAndKeywords(args, names, "ssssi", keywords, &path, &log, &pragmas, &insert, &most)) return NULL;
    Thread *self = (Thread *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->most = most;
    self->path = strdup(path);
    self->log = strdup(log);
    self->pragmas = strdup(pragmas);
    self->insert = strdup(insert);
    self->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    sigset_t all, before; /* signals are for Python's threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (self->event >= 0 && self->path && self->log && self->pragmas && self->insert)
        self->started = !pthread_create(&self->thread, NULL, run, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!self->started) {
        Py_DECREF(self);
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    pthread_setname_np(self->thread, "store-commit");
    return (PyObject *)self;
}

static void destroy(Thread *self) {
    join(self);
    Batch *queues[] = {self->first, self->done_first, self->back_first};
    for (size_t n = 0; n < sizeof queues / sizeof *queues; n++)
        for (Batch *batch = queues[n], *next; batch; batch = next) {
            next = batch->next;
            free_batch(batch);
        }
    if (self->event >= 0) close(self->event);
    free(self->path);
    free(self->log);
    free(self->pragmas);
    free(self->insert);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef METHODS[] = {
    {"put", (PyCFunction)put, METH_VARARGS,
     "Queue rows, and then changes, for the next commit. A change is a statement and its values: whole numbers, texts,\n"
     "bytes or None. `token` comes back with the result. Return False if the thread has stopped."},
    {"finished", (PyCFunction)finished, METH_NOARGS,
     "Return the batches that were stored since the last call: their tokens, the seconds that a commit took beside its\n"
     "last batch, a number less than 0 beside the others, and whether its files are those of the commit before."},
    {"given_back", (PyCFunction)given_back, METH_NOARGS,
     "Return the tokens of the batches that are not stored, because their commit or an earlier one failed."},
    {"wait_idle", (PyCFunction)wait_idle, METH_NOARGS,
     "Wait until no batch is queued or under way. Other threads run meanwhile."},
    {"checkpoint", (PyCFunction)checkpoint, METH_NOARGS,
     "Move what the write-ahead log holds into the database, before the next commit begins. Does not wait for it."},
    {"resume", (PyCFunction)resume, METH_NOARGS, "Take batches again after a failure."},
    {"stopped", (PyCFunction)stopped, METH_NOARGS, "Return why the thread has stopped, None if it has not."},
    {"close", (PyCFunction)close_thread, METH_NOARGS, "Store what is queued, end the thread and close the database."},
    {"fileno", (PyCFunction)fileno_of, METH_NOARGS, "Return a file descriptor that is readable after each commit."},
    {NULL},
};

static PyTypeObject TYPE = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "arbiter.store._commit_thread.CommitThread",
    .tp_basicsize = sizeof(Thread),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A thread that stores rows in SQLite without the interpreter's lock.",
    .tp_new = create,
    .tp_dealloc = (destructor)destroy,
    .tp_methods = METHODS,
};

static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_commit_thread", "See the C file.", -1, NULL};

/* Find SQLite's functions in the library that Python's module uses. Raises ImportError. */
static int find_functions(void) {
    PyObject *module = PyImport_ImportModule("_sqlite3");
    if (!module) return -1;
    PyObject *file = PyObject_GetAttrString(module, "__file__");
    PyErr_Clear(); /* a module that is part of the program has no file */
    void *library = dlopen(file ? PyUnicode_AsUTF8(file) : NULL, RTLD_NOW);
    Py_XDECREF(file);
    Py_DECREF(module);
    for (size_t n = 0; n < sizeof FUNCTIONS / sizeof *FUNCTIONS; n++) {
        void *found = library ? dlsym(library, FUNCTIONS[n].name) : NULL;
        if (!found) {
            PyErr_Format(PyExc_ImportError, "Python's SQLite has no %s to be called from outside", FUNCTIONS[n].name);
            return -1;
        }
        memcpy(FUNCTIONS[n].place, &found, sizeof found);
    }
    if (!sql.threadsafe()) {
        PyErr_SetString(PyExc_ImportError, "Python's SQLite was built for one thread");
        return -1;
    }
    return 0;
}

PyMODINIT_FUNC PyInit__commit_thread(void) {
    if (find_functions() || PyType_Ready(&TYPE)) return NULL;
    PyObject *module = PyModule_Create(&MODULE);
    if (module && PyModule_AddObjectRef(module, "CommitThread", (PyObject *)&TYPE)) Py_CLEAR(module);
    return module;
}
