package imagebuild

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
)

// check asks the installer whether the packages fit together, and returns a warning for the users of the image; empty for none. Later
// layers may have replaced what earlier ones need, which the installer does not mind while it installs.
func (w *worker) check(ctx context.Context) string {
	var answer bytes.Buffer
	out := w.out
	w.out = io.MultiWriter(out, &answer)
	err := w.run(ctx, tool{args: []string{"pip", "check"}})
	w.out = out
	if err == nil || ctx.Err() != nil {
		return ""
	}
	// The first line counts packages, the last one incompatibilities.
	var problems []string
	for line := range strings.Lines(answer.String()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "The package ") {
			problems = append(problems, line)
		}
	}
	if len(problems) == 0 {
		return ""
	}
	const most = 5
	warning := fmt.Sprintf("the packages of image %s do not fit together: %s", w.build.Target, strings.Join(problems[:min(most, len(problems))], "; "))
	if more := len(problems) - most; more > 0 {
		warning += fmt.Sprintf("; and %d more", more)
	}
	w.build.say("Warning: %s. The layers install them one after the other, and the last one wins.", warning)
	return warning
}
