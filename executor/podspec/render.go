package podspec

import (
	"context"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/internal/blobpath"
)

// startTimeFormat is ISO 8601 with exactly six fractional digits, which every Python version parses.
const startTimeFormat = "2006-01-02T15:04:05.000000+00:00"

// renderer replaces templates in commands and arguments.
type renderer struct {
	values map[string]string // by name in lower case
	inputs map[string]string // by exact name; only those that the arguments mention
}

func newRenderer(attempt *plugin.Attempt) renderer {
	spec := attempt.Task.Spec
	raw := rawDataPrefix(attempt)
	values := map[string]string{
		"outputprefix":           attempt.Dir,
		"rawoutputdataprefix":    raw,
		"checkpointoutputprefix": blobpath.Checkpoints(attempt.Dir),
		"prevcheckpointprefix":   "",
		"runname":                spec.Run,
		"actionname":             spec.Action,
		"perretryuniquekey":      UniqueKey(objectName(attempt)),
		"namespace":              attempt.Task.Namespace,
	}
	if spec.InputURI != "" {
		inputs := blobpath.InputsPath(spec.InputURI)
		values["input"] = inputs
		values["inputprefix"] = strings.TrimSuffix(inputs, "/"+blobpath.InputsFile)
	} else {
		values["input"], values["inputprefix"] = "", ""
	}
	if attempt.PreviousDir != "" {
		values["prevcheckpointprefix"] = blobpath.Checkpoints(attempt.PreviousDir)
	}
	if spec.RunStartTime != nil {
		values["runstarttime"] = spec.RunStartTime.UTC().Format(startTimeFormat)
	}
	return renderer{values: values}
}

// templatePattern matches {{.name}}, {{$name}} and {{.inputs.name}}. Its groups are the name and the name of the input.
var templatePattern = regexp.MustCompile(`\{\{\s*[.$](?:([A-Za-z][A-Za-z0-9_]*)|(?i:inputs)\.([^}\s]+))\s*\}\}`)

// all renders every element. Unknown templates stay as they are.
func (r renderer) all(texts []string) []string {
	if texts == nil {
		return nil
	}
	result := make([]string, len(texts))
	for i, text := range texts {
		result[i] = templatePattern.ReplaceAllStringFunc(text, func(found string) string {
			names := templatePattern.FindStringSubmatch(found)
			value, known := r.inputs[names[2]]
			value = strings.ReplaceAll(value, "$", "$$") // Kubernetes expands $(NAME) and turns $$ into $
			if names[2] == "" {
				value, known = r.values[strings.ToLower(names[1])]
			}
			if known {
				return value
			}
			return found
		})
	}
	return result
}

// rendererFor returns a renderer with everything that the arguments of the pod refer to. Nothing else is read.
func (b *Builder) rendererFor(ctx context.Context, attempt *plugin.Attempt, spec *corev1.PodSpec) (renderer, error) {
	render, mentioned := newRenderer(attempt), mentionsOf(spec)
	var err error
	if render.inputs, err = b.inputValues(ctx, attempt, mentioned.inputs); err != nil {
		return renderer{}, err
	}
	if mentioned.values["prevcheckpointprefix"] {
		if render.values["prevcheckpointprefix"], err = b.lastCheckpoint(ctx, attempt); err != nil {
			return renderer{}, err
		}
	}
	return render, nil
}

// mentions are the names that the templates of a pod refer to.
type mentions struct {
	values map[string]bool // in lower case
	inputs []string        // each once, in order
}

func mentionsOf(spec *corev1.PodSpec) mentions {
	found := mentions{values: map[string]bool{}}
	eachContainer(spec, func(container *corev1.Container) {
		for _, text := range slices.Concat(container.Command, container.Args) {
			for _, names := range templatePattern.FindAllStringSubmatch(text, -1) {
				if input := names[2]; input == "" {
					found.values[strings.ToLower(names[1])] = true
				} else if !slices.Contains(found.inputs, input) {
					found.inputs = append(found.inputs, input)
				}
			}
		}
	})
	return found
}

// rawDataPrefix is where the attempt writes files and data frames: its directory, or one of its own below the run's prefix.
func rawDataPrefix(attempt *plugin.Attempt) string {
	spec := attempt.Task.Spec
	if spec.RawDataPrefix == "" {
		return attempt.Dir
	}
	return blobpath.AttemptDir(blobpath.RunBase(spec.RawDataPrefix, spec.Project, spec.Domain, spec.Run), spec.Action, uint32(attempt.Number)) //nolint:gosec // from 1
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
