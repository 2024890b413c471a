package blobpath

import (
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// WriterOf finds the action that wrote an object, from the steps of the object's URI:
// {project}/{domain}/{run}.{mark}/{action}/{attempt}/…, wherever the base directory is. Below the raw data prefix of a run, and
// in runs that are older than marks, the run's directory has no mark. So that other paths with numbers are not taken for
// those, they count only in one project and domain. WriterOf returns false for an object that no action wrote.
func WriterOf(uri, project, domain string) (ident.Action, bool) {
	steps := strings.Split(uri, "/")
	for i := 2; i+3 < len(steps); i++ {
		run, marked := RunOf(steps[i])
		if !marked {
			run = steps[i]
		}
		writer := ident.Action{Run: ident.Run{Project: steps[i-2], Domain: steps[i-1], Name: run}, Name: steps[i+1]}
		if !marked && (writer.Run.Project != project || writer.Run.Domain != domain) {
			continue
		}
		if isPlace(writer.Run) && ident.IsName(run) && ident.IsName(writer.Name) && isAttempt(steps[i+2]) {
			return writer, true
		}
	}
	return ident.Action{}, false
}

func isPlace(run ident.Run) bool { return ident.IsPlace(run.Project) && ident.IsPlace(run.Domain) }

func isAttempt(step string) bool {
	attempt, err := strconv.ParseUint(step, 10, 31)
	return err == nil && attempt > 0 && step[0] != '0' && step[0] != '+'
}
