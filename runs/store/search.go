package store

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
)

// FoundKind says what a search found.
type FoundKind string

// The kinds of things that are found.
const (
	FoundRun     FoundKind = "run"
	FoundTask    FoundKind = "task"
	FoundProject FoundKind = "project"
)

// Found is something whose name begins as was asked, or has a word that does.
type Found struct {
	Kind      FoundKind
	Project   string
	Domain    string
	Name      string
	Title     string // the short name of the task
	Phase     int16  // of a run
	CreatedAt time.Time
	ID        int64 // tells rows of one time apart; 0 for projects
}

const (
	// looked is how many of the newest runs are looked through, whatever their names.
	looked = `2000`
	// candidates bounds what each index may offer, so that a letter that begins a million names costs no more than a
	// rare word. It then leaves out old ones; the newest are looked through anyway.
	candidates = `1000`
)

// needle is what is searched for, in the forms that the statements want.
type needle struct {
	lower   string
	pattern string // what begins with it, in lower case, in the notation of LIKE
	match   string // a regular expression for a name in lower case
	words   string // a tsquery; empty when the text has no word
	key     string // of a label, where the text is key=value; empty elsewhere
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
		// Only the last word may go on, and that only where the text does not end it.
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

// The statements of a search, each bounded for itself. They are merged outside of the database.
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
		WHERE p.state = 0 AND (lower(p.id) ~ $1 OR lower(p.name) ~ $1) ORDER BY p.created_at DESC, p.id LIMIT $2`

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

// Search finds runs, tasks and projects whose name begins with a text or has a word that does, whatever the case, runs
// of the tasks that it finds, and runs with the label where the text is key=value. It returns at most limit of each kind,
// the newest first.
func (r *Reader) Search(ctx context.Context, text string, limit int) ([]Found, error) {
	n := newNeedle(text)
	first := searching{limit: limit}
	first.loops()
	first.add(tasksByPrefix, n.pattern, limit)
	first.add(runsNewest, n.lower, n.match, limit)
	first.add(runsByPrefix, n.pattern, limit)
	first.add(projectsByWord, n.match, limit)
	first.bitmaps()
	if n.words != "" {
		first.add(tasksByWord, n.words, n.match, limit)
		first.add(runsByWord, n.words, n.match, limit)
	}
	if n.key != "" {
		first.add(runsNewestByLabel, n.key, n.value, limit)
		first.add(runsByLabel, n.key, n.value, limit)
	}
	if err := first.ask(ctx, r.pool); err != nil {
		return nil, err
	}
	var projects, domains, names []string
	for _, task := range first.kind(FoundTask) {
		projects, domains, names = append(projects, task.Project), append(domains, task.Domain), append(names, task.Name)
	}
	if len(names) > 0 {
		second := searching{limit: limit}
		second.loops()
		second.add(runsByTask, projects, domains, names, limit)
		if err := second.ask(ctx, r.pool); err != nil {
			return nil, err
		}
		first.found = append(first.found, second.found...)
	}
	return slices.Concat(first.kind(FoundRun), first.kind(FoundTask), first.kind(FoundProject)), nil
}

// searching collects what several statements of one transaction find.
type searching struct {
	limit      int
	statements pgx.Batch
	found      []Found
}

// loops has the statements that follow walk over indexes, in an order that they have, whatever the planner thinks of the
// frequency of a word.
func (s *searching) loops() { s.statements.Queue(planning) }

// bitmaps lets the statements that follow use indexes that give no order.
func (s *searching) bitmaps() {
	s.statements.Queue(`SELECT set_config('enable_bitmapscan', 'on', true)`)
}

func (s *searching) add(sql string, args ...any) {
	s.statements.Queue(sql, args...).Query(func(rows pgx.Rows) error {
		some, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Found])
		s.found = append(s.found, some...)
		return err
	})
}

func (s *searching) ask(ctx context.Context, pool *pgxpool.Pool) error {
	if err := pool.SendBatch(ctx, &s.statements).Close(); err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

// kind is the newest of a kind, each once.
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
