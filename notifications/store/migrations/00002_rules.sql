-- +goose NO TRANSACTION
-- +goose Up

-- The latest delivery of each rule.
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS notification_deliveries_rule;
CREATE INDEX CONCURRENTLY notification_deliveries_rule
    ON notification_deliveries (project, domain, rule, delivery, created_at, state) WHERE rule <> '';

-- +goose Down
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS notification_deliveries_rule;
