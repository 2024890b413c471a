package query

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

func isTime(key Key) bool {
	return key == Created || key == Started || key == Ended || key == Updated
}

// maxLength is the longest duration that is understood.
const maxLength = 20 * 365 * 24 * time.Hour

var (
	lengths = regexp.MustCompile(`^(\d{1,9}(ms|s|m|h|d|w))+$`)
	length  = regexp.MustCompile(`(\d+)(ms|s|m|h|d|w)`)
	units   = map[string]time.Duration{
		"ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	}
	// layouts are the forms of times. One without a zone is in UTC.
	layouts = []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", time.RFC3339}
)

// parseLength parses 90s, 1h30m or 2d.
func parseLength(text string) (time.Duration, bool) {
	if !lengths.MatchString(text) {
		return 0, false
	}
	var sum time.Duration
	for _, part := range length.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseInt(part[1], 10, 64)
		if unit := units[part[2]]; err != nil || n > int64(maxLength/unit) {
			return 0, false
		}
		if sum += time.Duration(n) * units[part[2]]; sum > maxLength {
			return 0, false
		}
	}
	return sum, true
}

func (t *Term) duration() (*Node, error) {
	value, ok := parseLength(strings.ToLower(t.Text))
	switch {
	case t.Op == Has || t.Op == Equal:
		return nil, problem(t.At, t.Word, "A duration is compared by > or <, such as duration>5m.")
	case !ok:
		return nil, problem(t.At, t.Word, "%q is not a duration. Write 90s, 5m, 1h30m or 2d.", t.Text)
	}
	t.Length = value
	return &Node{Term: t}, nil
}

// time reads a time. After a colon, a day is that whole day in UTC, and a duration is since then.
func (t *Term) time() (*Node, error) {
	if ago, ok := parseLength(strings.ToLower(t.Text)); ok {
		t.Moment.Ago = ago
		if t.Op == Has || t.Op == Equal {
			t.Op = GreaterOrEqual
		}
		return &Node{Term: t}, nil
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, t.Text)
		if err != nil {
			continue
		}
		t.Moment.At = at.UTC()
		if t.Op != Has && t.Op != Equal {
			return &Node{Term: t}, nil
		}
		if layout != time.DateOnly {
			return nil, problem(t.At, t.Word, "A time is compared by > or <, such as %s>%s.", t.Key, t.Text)
		}
		until := *t
		t.Op, until.Op = GreaterOrEqual, Less
		until.Moment.At = t.Moment.At.AddDate(0, 0, 1)
		return &Node{Kind: And, Nodes: []*Node{{Term: t}, {Term: &until}}}, nil
	}
	return nil, problem(t.At, t.Word, "%q is not a time. Write 24h for 24 hours ago, or 2026-01-31, or 2026-01-31T10:00Z.", t.Text)
}
