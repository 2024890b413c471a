package podstatus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// TestTheExceptionComesFirst: the text of an error says first what was raised, and its excerpt of the log begins at a line.
func TestTheExceptionComesFirst(t *testing.T) {
	const words = "container main ended with exit code 1"
	const traceback = "Traceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    raise ValueError(\"boom\")\n"
	cut := strings.Repeat("x", excerptBytes-len("\n"+traceback+"ValueError: boom")) + "\n" + traceback + "ValueError: boom"
	require.Len(t, cut, excerptBytes)
	for name, c := range map[string]struct{ log, want string }{
		"nothing":             {" \n", words},
		"no exception":        {"  indented\nlast line", words + ":\n  indented\nlast line"},
		"an exception":        {traceback + "ValueError: boom\n", words + ": ValueError: boom\nThe log ends with:\n" + traceback + "ValueError: boom"},
		"output after it":     {traceback + "pkg.MyError\nsys: bye\n", words + ": pkg.MyError\nThe log ends with:\n" + traceback + "pkg.MyError\nsys: bye"},
		"the last of a chain": {traceback + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "OSError: full", words + ": OSError: full\nThe log ends with:\n" + traceback + "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n" + traceback + "OSError: full"},
		"its head is cut off": {"    raise ValueError(\"boom\")\nValueError: boom", words + ": ValueError: boom\nThe log ends with:\n    raise ValueError(\"boom\")\nValueError: boom"},
		"cut within a line":   {cut, words + ": ValueError: boom\nThe log ends with:\n" + traceback + "ValueError: boom"},
		"one long line":       {strings.Repeat("x", excerptBytes), words + ":\n" + strings.Repeat("x", excerptBytes)},
		"a sentence":          {"  note\nThis is not an exception: it has spaces", words + ":\n  note\nThis is not an exception: it has spaces"},
	} {
		require.Equal(t, c.want, withLog(words, c.log), name)
	}
	found := ofContainer("main", &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: cut})
	require.Equal(t, failure.Table()[failure.ContainerFailed].Words+": "+words+": ValueError: boom", strings.SplitN(found.Message, "\n", 2)[0])
}
