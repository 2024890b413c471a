-- +goose Up

-- Task actions that ended and are not counted yet. The transaction that ends the action writes the row; it needs no more than the id,
-- since everything else is in the action. It has no reference to the action, so that it costs little: what is gone is not counted.
CREATE TABLE uncounted_ends (
    action_id bigint PRIMARY KEY
);

-- What one price applies to.
CREATE TABLE use_rates (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster     text NOT NULL,
    queue       text NOT NULL,
    accelerator text NOT NULL,                   -- empty without GPUs
    UNIQUE (cluster, queue, accelerator)
);

-- How the actions of a task ended on a day (UTC).
CREATE TABLE task_days (
    project   text      NOT NULL,
    domain    text      NOT NULL,
    task      text      NOT NULL,
    day       date      NOT NULL,
    succeeded integer   NOT NULL,
    failed    integer   NOT NULL,
    aborted   integer   NOT NULL,
    cache     integer[] NOT NULL,                -- by what the cache said (runs/rollup)
    durations bytea     NOT NULL,                -- a histogram of the run times of those that ran and succeeded
    PRIMARY KEY (project, domain, task, day)
);
CREATE INDEX task_days_day ON task_days (day);

-- How tasks do now: what lists of tasks are sorted by. Derived from the days, and made again when they change.
CREATE TABLE task_health (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    project      text        NOT NULL,
    domain       text        NOT NULL,
    task         text        NOT NULL,
    last_at      timestamptz NOT NULL,           -- when an action last ended
    outcomes     bytea       NOT NULL,           -- of the last actions (runs/rollup)
    succeeded    integer     NOT NULL,           -- of seven days
    failed       integer     NOT NULL,
    aborted      integer     NOT NULL,
    hits         integer     NOT NULL,
    misses       integer     NOT NULL,
    earlier      integer     NOT NULL,           -- how many ended in the seven days before
    p50          bigint      NOT NULL,           -- milliseconds; -1 where none ran and succeeded
    p90          bigint      NOT NULL,
    p50_before   bigint      NOT NULL,
    p90_before   bigint      NOT NULL,
    change_p50   integer     NOT NULL,           -- thousandths of the week before; the least integer where unknown
    change_p90   integer     NOT NULL,
    failure_rate integer     NOT NULL,           -- thousandths; -1 where unknown
    hit_rate     integer     NOT NULL,
    cpu          bigint      NOT NULL,           -- of seven days, as in use_days
    memory       bigint      NOT NULL,
    gpu          bigint      NOT NULL,
    weight       bigint      NOT NULL,           -- as in run_use
    as_of        date        NOT NULL,           -- the last of the seven days
    prices       integer     NOT NULL,           -- as in run_use
    UNIQUE (project, domain, task)
);
CREATE INDEX task_health_last       ON task_health (project, domain, last_at, id);
CREATE INDEX task_health_p50        ON task_health (project, domain, p50, id);
CREATE INDEX task_health_p90        ON task_health (project, domain, p90, id);
CREATE INDEX task_health_change_p50 ON task_health (project, domain, change_p50, id);
CREATE INDEX task_health_change_p90 ON task_health (project, domain, change_p90, id);
CREATE INDEX task_health_failures   ON task_health (project, domain, failure_rate, id);
CREATE INDEX task_health_hits       ON task_health (project, domain, hit_rate, id);
CREATE INDEX task_health_weight     ON task_health (project, domain, weight, id);
CREATE INDEX task_health_as_of      ON task_health (as_of, prices);

-- What ended actions requested, times how long they had it, by the day on which they ended.
CREATE TABLE use_days (
    project text     NOT NULL,
    domain  text     NOT NULL,
    day     date     NOT NULL,
    kind    smallint NOT NULL,                   -- what the name is of; 0: all of the place, without a name
    name    text     NOT NULL,
    rate    integer  NOT NULL,                   -- into use_rates
    actions integer  NOT NULL,
    cpu     bigint   NOT NULL,                   -- thousandths of a core, for seconds
    memory  bigint   NOT NULL,                   -- MiB, for seconds
    gpu     bigint   NOT NULL,                   -- thousandths of a GPU, for seconds
    PRIMARY KEY (project, domain, kind, day, name, rate)
);
CREATE INDEX use_days_places ON use_days (day, project, domain) WHERE kind = 0;
CREATE INDEX use_days_day    ON use_days (day);

-- The same of each run, as far as its actions have ended. Rows go with their run.
CREATE TABLE run_use (
    run_id  bigint    PRIMARY KEY REFERENCES actions (id) ON DELETE CASCADE,
    project text      NOT NULL,
    domain  text      NOT NULL,
    day     date      NOT NULL,                  -- on which the run was created
    rates   integer[] NOT NULL,
    cpu     bigint[]  NOT NULL,                  -- by rate
    memory  bigint[]  NOT NULL,
    gpu     bigint[]  NOT NULL,
    weight  bigint    NOT NULL,                  -- millionths of the currency; without prices, the sum of cpu
    prices  integer   NOT NULL                   -- which prices weight is by
);
CREATE INDEX run_use_top    ON run_use (project, domain, day, weight, run_id);
CREATE INDEX run_use_prices ON run_use (prices);

-- How the actions of each task of a run ended.
CREATE TABLE run_tasks (
    run_id    bigint  NOT NULL REFERENCES actions (id) ON DELETE CASCADE,
    task      text    NOT NULL,
    succeeded integer NOT NULL,
    failed    integer NOT NULL,
    aborted   integer NOT NULL,
    cached    integer NOT NULL,                  -- of those that succeeded
    ran       bigint  NOT NULL,                  -- milliseconds
    name      text    NOT NULL,                  -- of the first that failed, otherwise of the first that ended
    PRIMARY KEY (run_id, task)
);

-- The prices that weights are by.
CREATE TABLE use_prices (
    id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea   NOT NULL UNIQUE
);

-- +goose Down
DROP TABLE use_prices, run_tasks, run_use, use_days, task_health, task_days, use_rates, uncounted_ends;
