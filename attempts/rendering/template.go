package rendering

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// startTimeFormat is ISO 8601 with exactly six fractional digits, which every Python version parses.
const startTimeFormat = "2006-01-02T15:04:05.000000+00:00"

// Attempt is what templates tell a process about its attempt. Paths have no trailing slash.
type Attempt struct {
	// Dir is the attempt's directory, PreviousDir that of the attempt before; empty for the first.
	Dir, PreviousDir string
	// RawDataPrefix is where the attempt writes files and data frames.
	RawDataPrefix string
	// InputURI is where the inputs are, as the client gave it; may be empty.
	InputURI string
	// Run and Action are public names.
	Run, Action string
	// Object names the attempt's object in the cluster, or what stands for it; Namespace is that of its pod.
	Object, Namespace string
	// RunStartTime is when the run started, as its tasks see it; zero if that is not known.
	RunStartTime time.Time
}

// Values are the values of the templates of an attempt, by name in lower case.
func (a Attempt) Values() map[string]string {
	values := map[string]string{
		"outputprefix":           a.Dir,
		"rawoutputdataprefix":    a.RawDataPrefix,
		"checkpointoutputprefix": blobpath.Checkpoints(a.Dir),
		"prevcheckpointprefix":   "",
		"runname":                a.Run,
		"actionname":             a.Action,
		"perretryuniquekey":      UniqueKey(a.Object),
		"namespace":              a.Namespace,
		"input":                  "",
		"inputprefix":            "",
	}
	if a.InputURI != "" {
		inputs := blobpath.InputsPath(a.InputURI)
		values["input"] = inputs
		values["inputprefix"] = strings.TrimSuffix(inputs, "/"+blobpath.InputsFile)
	}
	if a.PreviousDir != "" {
		values["prevcheckpointprefix"] = blobpath.Checkpoints(a.PreviousDir)
	}
	if !a.RunStartTime.IsZero() {
		values["runstarttime"] = a.RunStartTime.UTC().Format(startTimeFormat)
	}
	return values
}

// RawDataPrefix is where an attempt in a directory writes files and data frames: there, or in one of its own below the run's
// prefix, if it has one.
func RawDataPrefix(dir, prefix, project, domain, run, action string, attempt uint32) string {
	if prefix == "" {
		return dir
	}
	return blobpath.AttemptDir(blobpath.RunBase(prefix, project, domain, run), action, attempt)
}

// templatePattern matches {{.name}}, {{$name}} and {{.inputs.name}}. Its groups are the name and the name of the input.
var templatePattern = regexp.MustCompile(`\{\{\s*[.$](?:([A-Za-z][A-Za-z0-9_]*)|(?i:inputs)\.([^}\s]+))\s*\}\}`)

// Render replaces the templates of a text. values are by name in lower case, inputs by exact name. Unknown templates stay as
// they are.
func Render(text string, values, inputs map[string]string) string {
	if !strings.Contains(text, "{{") {
		return text // as most are, and the pattern is slow
	}
	return templatePattern.ReplaceAllStringFunc(text, func(found string) string {
		names := templatePattern.FindStringSubmatch(found)
		value, known := inputs[names[2]]
		if names[2] == "" {
			value, known = values[strings.ToLower(names[1])]
		}
		if known {
			return value
		}
		return found
	})
}

// Mentions are the names that templates refer to.
type Mentions struct {
	Values map[string]bool // in lower case
	Inputs []string        // each once, in order
}

// Add adds the names that a text mentions.
func (m *Mentions) Add(text string) {
	if !strings.Contains(text, "{{") {
		return
	}
	for _, names := range templatePattern.FindAllStringSubmatch(text, -1) {
		if input := names[2]; input == "" {
			if m.Values == nil {
				m.Values = map[string]bool{}
			}
			m.Values[strings.ToLower(names[1])] = true
		} else if !slices.Contains(m.Inputs, input) {
			m.Inputs = append(m.Inputs, input)
		}
	}
}

// UniqueKey turns the name of an attempt's object into an identifier of letters, digits and underscores.
func UniqueKey(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
