-- +goose Up

-- The runs whose outputs the newest revision has among its inputs. There need not be such a run any more.
CREATE TABLE app_runs (
    project text   NOT NULL,
    domain  text   NOT NULL,
    run     text   NOT NULL,
    app_id  bigint NOT NULL REFERENCES apps ON DELETE CASCADE,
    PRIMARY KEY (project, domain, run, app_id)
);
CREATE INDEX app_runs_app ON app_runs (app_id);

-- Clients resolve outputs of runs when they deploy, so what a spec has of them is a URI in the directory of an attempt. A
-- URI is a text of its own in an encoded spec. Without the mark of a run's directory, only those of the app's place count.
INSERT INTO app_runs (project, domain, run, app_id)
SELECT DISTINCT found.m[1], found.m[2], found.m[3], a.id
FROM apps a,
    regexp_matches(encode(a.spec, 'escape'),
        '/([0-9A-Za-z._-]{1,63})/([0-9A-Za-z._-]{1,63})/([0-9A-Za-z][0-9A-Za-z_-]{0,29})(\.[a-z2-7]{16})?/[0-9A-Za-z_-]{1,30}/[1-9][0-9]{0,9}/', 'g') AS found(m)
WHERE found.m[4] IS NOT NULL OR (found.m[1], found.m[2]) = (a.project, a.domain);

-- +goose Down
DROP TABLE app_runs;
