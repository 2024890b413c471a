package copilot_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Any file of a container becomes an output or a user error, and any output can be downloaded as an input.
func FuzzOutputBecomesAnInput(f *testing.F) {
	for _, text := range []string{"1", "-2.5e308", "true", `[1,"a",null,{"b":[]}]`, "2024-02-29", "1 day, 0:00:01", "\x00\xff", "9223372036854775808", "[[[[["} {
		f.Add(text)
	}
	kinds := []*core.LiteralType{
		simple(core.SimpleType_INTEGER), simple(core.SimpleType_FLOAT), simple(core.SimpleType_STRING), simple(core.SimpleType_BOOLEAN),
		simple(core.SimpleType_DATETIME), simple(core.SimpleType_DURATION), simple(core.SimpleType_STRUCT), simple(core.SimpleType_BINARY),
		listOf(simple(core.SimpleType_STRUCT)), mapOf(listOf(simple(core.SimpleType_FLOAT))), optional(simple(core.SimpleType_INTEGER)),
	}
	f.Fuzz(func(t *testing.T, content string) {
		p := newPod(t)
		p.leave(t, "o", content)
		for _, kind := range kinds {
			if err := p.sidecar(map[string]*core.LiteralType{"o": kind}).Collect(t.Context()); err != nil {
				requireUser(t, p, err, "OutputMalformed", true)
				continue
			}
			literal := p.collected(t)["o"]
			err := p.inputs(t, map[string]*core.Literal{"o": literal}).Run(t.Context())
			if err != nil { // such as a key that cannot be the name of a file
				requireUser(t, p, err, "InputUnavailable", false)
			}
			if kind.GetSimple() == core.SimpleType_STRING && kind.GetType() != nil && err == nil {
				require.Equal(t, content, tree(t, p.in)["o"])
			}
			require.NoError(t, proto.CheckInitialized(literal))
		}
	})
}
