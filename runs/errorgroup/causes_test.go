package errorgroup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/errorgroup"
)

var begin = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)

func encoded(t testing.TB, code, message string) []byte {
	t.Helper()
	body, err := proto.Marshal(&core.ExecutionError{Code: code, Message: message, Kind: core.ExecutionError_USER})
	require.NoError(t, err)
	return body
}

func ways(t testing.TB, messages ...string) int {
	t.Helper()
	g := errorgroup.New()
	for i, message := range messages {
		g.Add(errorgroup.Failure{ID: int64(i), Name: fmt.Sprint(i), At: begin, Error: encoded(t, "ValueError", message)})
	}
	return g.Groups().Len()
}

func TestMessagesOfOneCause(t *testing.T) {
	for name, messages := range map[string][]string{
		"numbers":         {"row 17 is bad", "row 4 is bad", "row -3.5e7 is bad"},
		"addresses":       {"no route to 10.0.0.1:5432", "no route to 10.12.0.7:80"},
		"hexadecimal":     {"object at 0x7f3a", "object at 0x10"},
		"digests":         {"layer deadbeef is gone", "layer 0a1b2c3d4e is gone"},
		"uuids":           {"id 123e4567-e89b-12d3-a456-426614174000.", "id ffffffff-ffff-ffff-ffff-ffffffffffff."},
		"quoted names":    {"no column 'price'", "no column 'it'"},
		"double quotes":   {`key "a b c" is missing`, `key "d" is missing`},
		"backticks":       {"call `f`", "call `g h`"},
		"generated names": {"action 3kq2zv9 failed", "action b8x failed"},
		"times":           {"at 2026-07-01T10:00:00Z: late", "at 2025-01-01T00:00:01Z: late"},
		"white space":     {"a\n  b", "a b"},
		"far behind":      {strings.Repeat("same ", 300) + "x", strings.Repeat("same ", 300) + "y"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, 1, ways(t, messages...)) })
	}
}

func TestMessagesOfDifferentCauses(t *testing.T) {
	for name, messages := range map[string][]string{
		"words":             {"disk is full", "memory is full"},
		"an apostrophe":     {"don't do this, it won't work", "don't do that, it won't work"},
		"an open quote":     {"a 'b", "a 'c"},
		"quotes over lines": {"a 'b\nc' d", "a 'x\nc' d"},
		"short words":       {"fed up", "bad up"},
		"nothing":           {"", "x"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, len(messages), ways(t, messages...)) })
	}
	g := errorgroup.New()
	g.Add(errorgroup.Failure{Error: encoded(t, "A", "same")})
	g.Add(errorgroup.Failure{Error: encoded(t, "B", "same")})
	g.Add(errorgroup.Failure{})
	require.Equal(t, 3, g.Groups().Len())
}

// An error that was cut off anywhere is read as far as it goes.
func TestErrorCutOff(t *testing.T) {
	body := encoded(t, "ValueError", strings.Repeat("word ", 100))
	for n := range len(body) {
		g := errorgroup.New()
		g.Add(errorgroup.Failure{Error: body[:n]})
		require.Equal(t, 1, g.Groups().Len())
	}
	g := errorgroup.New()
	g.Add(errorgroup.Failure{Error: body})
	g.Add(errorgroup.Failure{Error: body[:len(body)-2]}) // without its kind
	require.Equal(t, 1, g.Groups().Len())
}

func TestEarliestComeFirst(t *testing.T) {
	g := errorgroup.New()
	const n = 50
	for i := n - 1; i >= 0; i-- { // the latest come first
		at := begin.Add(time.Duration(i) * time.Second)
		g.Add(errorgroup.Failure{ID: int64(i), Name: fmt.Sprintf("c%d", i), At: at, Error: encoded(t, "E", []string{"odd", "even"}[i%2])})
	}
	g.Add(errorgroup.Failure{ID: 99, Name: "lone", At: begin.Add(-time.Second), Error: encoded(t, "E", "other")})
	all := g.Groups()
	require.Equal(t, []int{n + 1, 3}, []int{all.Count(), all.Len()})
	groups := all.Earliest(2)
	require.Len(t, groups, 2)
	require.Equal(t, []any{"lone", 1, 0}, []any{groups[0].First.Name, groups[0].Count, len(groups[0].More)})
	require.Equal(t, []any{"c0", n / 2}, []any{groups[1].First.Name, groups[1].Count})
	want := make([]string, 0, 20)
	for i := 2; i <= 40; i += 2 {
		want = append(want, fmt.Sprintf("c%d", i))
	}
	require.Equal(t, want, groups[1].More)
}

// A parent that fails because a child does is not a failure of its own; one that fails otherwise is.
func TestErrorsOfChildren(t *testing.T) {
	collect := func(failures ...errorgroup.Failure) []int {
		g := errorgroup.New()
		for _, f := range failures {
			g.Add(f)
		}
		groups := g.Groups()
		return []int{groups.Count(), groups.Inherited(), groups.Len()}
	}
	latam, emea := encoded(t, "KeyError", "'latam'"), encoded(t, "KeyError", "'emea'")
	root := errorgroup.Failure{Name: "a0", Error: latam, AboveFailed: true}
	middle := errorgroup.Failure{Name: "m", Parent: "a0", Error: latam, AboveFailed: true}
	leaf := errorgroup.Failure{Name: "leaf", Parent: "m", Error: latam}
	require.Equal(t, []int{3, 2, 1}, collect(root, middle, leaf), "the error passes two levels")
	require.Equal(t, []int{3, 2, 1}, collect(leaf, middle, root), "in any order")

	middle.Error = emea
	require.Equal(t, []int{2, 0, 1}, collect(middle, leaf), "another value is another failure, of the same group")
	root.Error = encoded(t, "ValueError", "'latam'")
	require.Equal(t, []int{2, 0, 2}, collect(root, errorgroup.Failure{Name: "c", Parent: "a0", Error: latam}), "another type")
	require.Equal(t, []int{2, 0, 1}, collect(
		errorgroup.Failure{Name: "a0", Error: latam, AboveFailed: true}, errorgroup.Failure{Name: "c", Parent: "other", Error: latam}), "another parent")
	require.Equal(t, []int{2, 0, 1}, collect(
		errorgroup.Failure{Name: "a0", AboveFailed: true}, errorgroup.Failure{Name: "c", Parent: "a0"}), "nothing is known of either")
}

func FuzzMask(f *testing.F) {
	f.Add([]byte{}, "it's 'a' \"b\" 0x1 -")
	f.Fuzz(func(_ *testing.T, body []byte, message string) {
		g := errorgroup.New()
		g.Add(errorgroup.Failure{Error: body})
		whole, err := proto.Marshal(&core.ExecutionError{Message: strings.ToValidUTF8(message, "")})
		if err == nil {
			g.Add(errorgroup.Failure{Error: whole})
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	body := encoded(b, "ValueError", strings.Repeat("cannot parse column 'price' of row 1234: no number; ", 10))
	g := errorgroup.New()
	for i := 0; b.Loop(); i++ {
		g.Add(errorgroup.Failure{ID: int64(i), Name: "c", At: begin, Error: body})
	}
}
