-- +goose Up

-- The latest delivery of each rule.
CREATE INDEX notification_deliveries_rule ON notification_deliveries (project, domain, rule, delivery, created_at, state) WHERE rule <> '';

-- +goose Down
DROP INDEX notification_deliveries_rule;
