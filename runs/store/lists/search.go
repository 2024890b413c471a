package lists

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// FoundKind is the kind of a search result.
type FoundKind string

// The kinds of search results.
const (
	FoundRun     FoundKind = "run"
	FoundTask    FoundKind = "task"
	FoundProject FoundKind = "project"
)

// Found is an object whose name, or a word of it, starts with the search text.
type Found struct {
	Kind      FoundKind
	Project   string
	Domain    string
	Name      string
	Title     string // the short name of a task
	Phase     int16  // the phase of a run
	CreatedAt time.Time
	ID        int64 // orders rows with equal times; 0 for projects
}

const (
	// looked is how many of the newest runs are scanned, whatever their names.
	looked = `2000`
	// candidates bounds the matches taken from each index, so that a letter that starts a million names costs no more
	// than a rare word. Old matches may be missed; the newest runs are scanned anyway.
	candidates = `1000`

	// newestLooked is looked, and offered is candidates, as numbers.
	newestLooked = 2000
	// fewestLooked is how many of the newest runs of each place are scanned where the scope of the call has many.
	fewestLooked = 4
	offered      = 1000
)

// needle is the search text in the forms that the statements need.
type needle struct {
	lower   string
	pattern string // the prefix in lower case, as a LIKE pattern
	match   string // a regular expression for a name in lower case
	words   string // a tsquery; empty when the text has no word
	key     string // of a label, if the text is key=value; else empty
	value   string
}

func newNeedle(text string) needle {
	lower := strings.ToLower(text)
	n := needle{
		lower:   lower,
		pattern: strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(lower) + `%`,
		match:   `(^|[^[:alnum:]])` + regexp.QuoteMeta(lower),
	}
	words := strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) > 0 {
		// Only the last word is a prefix, and only if the text ends with it.
		n.words = strings.Join(words, " & ")
		if strings.HasSuffix(lower, words[len(words)-1]) {
			n.words += ":*"
		}
	}
	if key, value, is := strings.Cut(text, "="); is && key != "" && value != "" {
		n.key, n.value = key, value
	}
	return n
}

// The statements of a search, each with its own bound. Their results are merged in Go.
var (
	foundTask = `'task', t.project, t.domain, t.name, t.short_name, 0::smallint, t.created_at, t.id`
	foundRun  = `'run', a.project, a.domain, a.run_name, a.short_name, a.phase, a.created_at, a.id`
	newest    = func(table, limit string) string {
		return fmt.Sprintf(` ORDER BY %[1]s.created_at DESC, %[1]s.id DESC LIMIT %[2]s`, table, limit)
	}

	runNames = `lower(a.run_name || ' ' || a.short_name || ' ' || a.task_name)`

	tasksByPrefix = `SELECT ` + foundTask + ` FROM (SELECT * FROM tasks t WHERE t.is_latest AND lower(t.name) LIKE $1
		ORDER BY lower(t.name) USING ~<~ LIMIT ` + candidates + `) t` + newest("t", "$2")
	tasksByWord = `SELECT ` + foundTask + ` FROM (SELECT * FROM tasks t WHERE t.is_latest
		AND to_tsvector('simple', regexp_replace(lower(t.name), '[^[:alnum:]]+', ' ', 'g')) @@ to_tsquery('simple', $1)
		AND lower(t.name) ~ $2 LIMIT ` + candidates + `) t` + newest("t", "$3")
	// Projects are few.
	projectsByWord = `SELECT 'project', p.id, '', p.id, p.name, 0::smallint, p.created_at, 0::bigint FROM projects p
		WHERE p.state = ` + sqltext.IsActive + ` AND (lower(p.id) ~ $1 OR lower(p.name) ~ $1) ORDER BY p.created_at DESC, p.id LIMIT $2`

	runsNewest = `SELECT ` + foundRun + ` FROM (SELECT * FROM actions a WHERE a.parent_name IS NULL` + newest("a", looked) + `) a
		WHERE strpos(` + runNames + `, $1) > 0 AND ` + runNames + ` ~ $2` + newest("a", "$3")
	runsByPrefix = `SELECT ` + foundRun + ` FROM (SELECT * FROM actions a WHERE a.parent_name IS NULL AND lower(a.run_name) LIKE $1
		ORDER BY lower(a.run_name) USING ~<~ LIMIT ` + candidates + `) a` + newest("a", "$2")
	runsByWord = `SELECT ` + foundRun + ` FROM (SELECT * FROM actions a WHERE a.parent_name IS NULL AND a.run_name ~ '[^[:alnum:]]'
		AND to_tsvector('simple', regexp_replace(lower(a.run_name), '[^[:alnum:]]+', ' ', 'g')) @@ to_tsquery('simple', $1)
		AND lower(a.run_name) ~ $2 LIMIT ` + candidates + `) a` + newest("a", "$3")
	runsByLabel = `SELECT ` + foundRun + ` FROM (SELECT * FROM actions a WHERE a.parent_name IS NULL
		AND a.labels @> jsonb_build_object($1::text, $2::text) LIMIT ` + candidates + `) a` + newest("a", "$3")
	runsNewestByLabel = `SELECT ` + foundRun + ` FROM (SELECT * FROM actions a WHERE a.parent_name IS NULL` + newest("a", looked) + `) a
		WHERE a.labels @> jsonb_build_object($1::text, $2::text)` + newest("a", "$3")
	runsByTask = `SELECT ` + foundRun + ` FROM unnest($1::text[], $2::text[], $3::text[]) AS t (project, domain, name), LATERAL (
		SELECT * FROM actions a WHERE a.parent_name IS NULL AND a.project = t.project AND a.domain = t.domain AND a.task_name = t.name` +
		newest("a", "$4") + `) a` + newest("a", "$4")
)

// Search finds runs, tasks and projects whose name, or a word of it, starts with a text, ignoring case. It also finds
// runs of the tasks found, and runs with a label if the text is key=value. It returns at most limit results of each
// kind, newest first, and only those within the scope of the call.
func (r *Reader) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	n := newNeedle(text)
	_, _, limited := listquery.Places(ctx)
	first := searching{limit: limit, limited: limited}
	first.loops()
	first.add(ctx, tasksByPrefix, n.pattern, limit)
	if !limited || listquery.Wide(ctx) {
		first.add(ctx, runsNewest, n.lower, n.match, limit)
	} else if err := first.newestWithin(ctx, r.pool, n); err != nil {
		return nil, err
	}
	first.add(ctx, runsByPrefix, n.pattern, limit)
	first.addProjects(ctx, projectsByWord, n.match, limit)
	first.bitmaps()
	if n.words != "" {
		first.add(ctx, tasksByWord, n.words, n.match, limit)
		first.add(ctx, runsByWord, n.words, n.match, limit)
	}
	if n.key != "" {
		first.add(ctx, runsNewestByLabel, n.key, n.value, limit)
		first.add(ctx, runsByLabel, n.key, n.value, limit)
	}
	if err := first.ask(ctx, r.pool); err != nil {
		return nil, err
	}
	var projects, domains, names []string
	for _, task := range first.kind(FoundTask) {
		projects, domains, names = append(projects, task.Project), append(domains, task.Domain), append(names, task.Name)
	}
	if len(names) > 0 {
		second := searching{limit: limit} // the tasks found are within the scope
		second.loops()
		second.add(ctx, runsByTask, projects, domains, names, limit)
		if err := second.ask(ctx, r.pool); err != nil {
			return nil, err
		}
		first.found = append(first.found, second.found...)
	}
	return slices.Concat(first.kind(FoundRun), first.kind(FoundTask), first.kind(FoundProject)), nil
}

// searching collects the results of several statements of one transaction.
type searching struct {
	limit      int
	limited    bool // the statements are to be narrowed to the scope of the call
	statements pgx.Batch
	found      []Found
}

// loops makes the statements that follow walk indexes in index order, whatever the planner estimates for the
// frequency of a word.
func (s *searching) loops() { s.statements.Queue(sqltext.Planning) }

// bitmaps lets the statements that follow use unordered indexes.
func (s *searching) bitmaps() {
	s.statements.Queue(`SELECT set_config('enable_bitmapscan', 'on', true)`)
}

// add adds a statement whose last parameter is its limit.
func (s *searching) add(ctx context.Context, sql string, args ...any) {
	s.narrowed(ctx, "f.domain", sql, args)
}

// addProjects is add for a statement that finds projects.
func (s *searching) addProjects(ctx context.Context, sql string, args ...any) {
	s.narrowed(ctx, "", sql, args)
}

// narrowed adds a statement, narrowed to the scope of the call. The matches taken from its index stay bounded, so it may miss
// old runs when many others have such a name; newestWithin scans the newest runs of each place.
func (s *searching) narrowed(ctx context.Context, domain, sql string, args []any) {
	if !s.limited {
		s.queue(sql, args...)
		return
	}
	var b listquery.Builder
	for _, arg := range args[:len(args)-1] {
		b.Arg(arg, "")
	}
	b.Arg(offered, "")
	listquery.Narrow(ctx, &b, "f.project", domain)
	sql = `SELECT f.* FROM (` + sql + `) AS f(kind, project, domain, name, title, phase, created_at, id)
		WHERE ` + b.Conditions() + ` ORDER BY f.created_at DESC, f.id DESC LIMIT ` + b.Arg(s.limit, "bigint")
	s.queue(sql, b.Args()...)
}

func (s *searching) queue(sql string, args ...any) {
	s.statements.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		some, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Found])
		s.found = append(s.found, some...)
		return err
	})
}

// newestWithin scans the newest runs of each place of the scope, as runsNewest does for all places.
func (s *searching) newestWithin(ctx context.Context, pool *pgxpool.Pool, n needle) error {
	places, err := sqltext.RunPlaces(ctx, pool)
	if err != nil || len(places) == 0 {
		return err
	}
	var b listquery.Builder
	source := sqltext.EachPlace(&b, places, "a.parent_name IS NULL", "a.created_at DESC, a.id DESC", max(newestLooked/len(places), fewestLooked))
	s.queue(`SELECT `+foundRun+` FROM `+source+` a WHERE strpos(`+runNames+`, `+b.Arg(n.lower, "text")+`) > 0
		AND `+runNames+` ~ `+b.Arg(n.match, "text")+newest("a", b.Arg(s.limit, "bigint")), b.Args()...)
	return nil
}

func (s *searching) ask(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pool.SendBatch(ctx, &s.statements).Close(); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// kind returns the distinct newest results of a kind.
func (s *searching) kind(kind FoundKind) []Found {
	var all []Found
	seen := map[Found]struct{}{}
	for _, one := range s.found {
		key := Found{Project: one.Project, Domain: one.Domain, Name: one.Name}
		if _, twice := seen[key]; one.Kind == kind && !twice {
			seen[key] = struct{}{}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Found) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) })
	return all[:min(len(all), s.limit)]
}
