package problems

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/runs/errorgroup"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/problems"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// maxMessage bounds the message of a problem, in bytes.
const maxMessage = 500

// errorOf is the code and the message of a failure. There always is a code.
func errorOf(f *problems.Failure) (code, message string) {
	code, message = errorgroup.Read(f.Error)
	if code == "" {
		code = "Unknown"
		if f.Phase == state.TimedOut {
			code = "TimedOut"
		}
	}
	return code, message
}

// inherited reports whether a failure has the error of a child. An action that does not catch the exception of a child fails
// with that exception.
func inherited(f *problems.Failure, children [][]byte) bool {
	if len(f.Error) == 0 {
		return false
	}
	code, message := errorgroup.Read(f.Error)
	return slices.ContainsFunc(children, func(body []byte) bool {
		c, m := errorgroup.Read(body)
		return len(body) > 0 && c == code && m == message
	})
}

type sign struct {
	place  schema.Scope
	digest [sha256.Size]byte
}

// sorter sorts failures by their sign. Those of children that their parents did not catch are left to the children.
func sorter(readAt *time.Time) func([]problems.Failure, map[int64][][]byte) []problems.Counted {
	return func(failures []problems.Failure, below map[int64][][]byte) []problems.Counted {
		var found []problems.Counted
		at := map[sign]int{}
		for i := range failures {
			f := &failures[i]
			if inherited(f, below[f.ID]) {
				continue
			}
			code, message := errorOf(f)
			key := sign{f.Place, digest(f.Task, code, message)}
			place, ok := at[key]
			if !ok {
				place = len(found)
				at[key] = place
				found = append(found, problems.Counted{Place: f.Place, Digest: key.digest[:], Code: clip.Head(code, maxMessage), ReadAt: readAt})
			}
			counted := &found[place]
			counted.Failures = append(counted.Failures, *f)
			if !counted.Failures[0].At.After(f.At) {
				counted.Message = firstLine(message)
			}
		}
		return found
	}
}

func digest(task, code, message string) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat([]byte(task), []byte{0}, []byte(code), []byte{0}, errorgroup.Masked(message)))
}

func firstLine(message string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(message), "\n")
	return clip.Head(line, maxMessage)
}
