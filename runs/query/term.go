package query

import (
	"slices"
	"strings"
	"unicode"
)

// synonyms are other names of keys.
var synonyms = map[string]Key{"run": Name, "status": Phase, "by": Owner, "inputs": Input}

// keys are all words before a colon, for suggestions.
var keys = []string{
	"name", "task", "version", "phase", "status", "source", "trigger", "error", "owner", "label", "cluster", "queue", "is",
	"created", "started", "ended", "updated", "duration", "since", "until", "input", "run", "by",
}

// phases, in the words that the console uses.
var phases = []string{
	"queued", "waiting", "initializing", "running", "paused", "succeeded", "recovered", "failed", "timed-out", "aborted",
}

var sources = []string{"web", "cli", "schedule", "artifact", "tracked"}

var states = []string{IsPaused, IsActive, IsEnded}

// leaf parses a word.
func leaf(w *word) (*Node, error) {
	cut, size, op := operator(w.chars)
	if op == "" {
		return bare(w), nil
	}
	key, value := text(w.chars[:cut]), w.chars[cut+size:]
	lower := strings.ToLower(key)
	t := &Term{Op: op, At: w.at, Word: w.raw, Text: text(value)}
	switch {
	case lower == "since" || lower == "until":
		if op != Has && op != Equal {
			return nil, problem(w.at, w.raw, "Write %s:24h or %s:2026-01-31.", lower, lower)
		}
		t.Key, t.Op = Created, GreaterOrEqual
		if lower == "until" {
			t.Op = Less
		}
	case synonyms[lower] != "":
		t.Key = synonyms[lower]
	case slices.Contains(keys, lower):
		t.Key = Key(lower)
	default:
		if near := nearest(lower, keys); near != "" {
			p := problem(w.at, w.raw, "There is no key %q. For an input of that name, write input:%s.", key, text(w.chars))
			p.Nearest = near
			return nil, p
		}
		t.Key, t.Name = Input, key
	}
	if t.Text == "" {
		return nil, problem(w.at, w.raw, "A value is missing after %s.", text(w.chars[:cut+size]))
	}
	return t.finish(value)
}

func bare(w *word) *Node {
	return &Node{Term: &Term{Key: Text, Op: Has, Text: text(w.chars), At: w.at, Word: w.raw}}
}

// operator finds the first comparison after a key.
func operator(chars []char) (cut, size int, op Op) {
	for i, c := range chars {
		switch {
		case c.quoted:
			return 0, 0, ""
		case i > 0 && strings.ContainsRune(":=<>", c.r):
			op = Op(c.r)
			if (c.r == '<' || c.r == '>') && i+1 < len(chars) && chars[i+1] == (char{r: '='}) {
				return i, 2, op + "="
			}
			return i, 1, op
		case !unicode.IsLetter(c.r) && c.r != '_' && (i == 0 || !unicode.IsDigit(c.r) && c.r != '.'):
			return 0, 0, ""
		}
	}
	return 0, 0, ""
}

// finish reads the value of a term.
func (t *Term) finish(value []char) (*Node, error) {
	switch t.Key {
	case Name, Task:
		if rest, exact := strings.CutPrefix(t.Text, "="); exact && rest != "" && t.Op == Has {
			t.Op, t.Text = Equal, rest
		}
		return t.checked(Has, Equal)
	case Error:
		return t.checked(Has)
	case Phase:
		return t.oneOf("phase", phases)
	case Source:
		return t.oneOf("source", sources)
	case Is:
		return t.oneOf("state", states)
	case Version, Trigger, Owner, Cluster, Queue:
		t.split()
		return t.checked(Has, Equal)
	case Label:
		return t.label(value)
	case Input:
		return t.input(value)
	case Duration:
		return t.duration()
	default:
		return t.time()
	}
}

// checked refuses comparisons that the key does not take.
func (t *Term) checked(ops ...Op) (*Node, error) {
	if !slices.Contains(ops, t.Op) {
		return nil, problem(t.At, t.Word, "%s cannot be compared with %s. Write %s:value.", t.Key, t.Op, t.Key)
	}
	if t.several() {
		if len(t.Values) == 0 {
			return nil, problem(t.At, t.Word, "A value is missing after %s%s.", t.Key, t.Op)
		}
		t.Op = Equal
	}
	return &Node{Term: t}, nil
}

// several reports whether the key takes alternatives.
func (t *Term) several() bool {
	return slices.Contains([]Key{Phase, Source, Is, Version, Trigger, Owner, Cluster, Queue}, t.Key)
}

// split reads alternatives. Quotation marks have no effect on commas.
func (t *Term) split() {
	for _, value := range strings.Split(t.Text, ",") {
		if value != "" && !slices.Contains(t.Values, value) {
			t.Values = append(t.Values, value)
		}
	}
}

// oneOf reads alternatives that are among known words.
func (t *Term) oneOf(what string, known []string) (*Node, error) {
	t.Text = strings.ToLower(t.Text)
	t.split()
	for i, value := range t.Values {
		value = strings.ReplaceAll(value, "_", "-")
		if !slices.Contains(known, value) {
			p := problem(t.At, t.Word, "There is no %s %q. There are %s.", what, value, strings.Join(known, ", "))
			p.Nearest = nearest(value, known)
			return nil, p
		}
		t.Values[i] = value
	}
	return t.checked(Has, Equal)
}

// label reads key=value, or a key alone.
func (t *Term) label(value []char) (*Node, error) {
	at := slices.IndexFunc(value, func(c char) bool { return c.r == '=' })
	switch {
	case t.Op != Has:
		return t.checked(Has)
	case at < 0:
		t.Name, t.Op, t.Text = t.Text, Exists, ""
	case at == 0:
		return nil, problem(t.At, t.Word, "The key of the label is missing. Write label:team=ml.")
	default:
		t.Name, t.Op, t.Text = text(value[:at]), Equal, text(value[at+1:])
	}
	return &Node{Term: t}, nil
}

// input reads the name of an input, a comparison and a value, unless the word began with the name.
func (t *Term) input(value []char) (*Node, error) {
	if t.Name == "" {
		cut, size, op := operator(value)
		if t.Op != Has || op == "" || cut+size == len(value) {
			return nil, problem(t.At, t.Word, "Write input:name=value.")
		}
		t.Name, t.Op, t.Text = text(value[:cut]), op, text(value[cut+size:])
	}
	if t.Op == Has {
		t.Op = Equal
	}
	return &Node{Term: t}, nil
}

// KeyOf is the key with a name, which may be a synonym.
func KeyOf(name string) (Key, bool) {
	if key, ok := synonyms[name]; ok {
		return key, true
	}
	return Key(name), slices.Contains(keys, name)
}
