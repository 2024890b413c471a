-- +goose Up

-- What happened to runs that someone may have to be told about: the end of a run, an action that began to wait. A row is
-- written in the transaction that changes the phase, and goes when its deliveries are stored.
CREATE TABLE notification_outbox (
    id        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id    bigint      NOT NULL,
    action_id bigint      NOT NULL,
    phase     smallint    NOT NULL,
    at        timestamptz NOT NULL
);

-- The phases that the notification rules of a run name: bit n for phase n. Bit 0 means that the run wants none.
ALTER TABLE actions ADD COLUMN notify integer NOT NULL DEFAULT 0;

-- +goose Down
DROP TABLE notification_outbox;
ALTER TABLE actions DROP COLUMN notify;
