package demo

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/manager/layers"
)

// section is the section of a configuration file with the options of the demo.
const section = "demo"

// given are options as a file and flags give them, with where each came from and what could not be read.
type given struct {
	Options
	origins  layers.Origins
	problems layers.Problems
}

// readFile reads the section demo of a configuration file; an empty path means no file. What is wrong in the file is reported by
// complete, with everything else.
func readFile(path string) (given, error) {
	var file struct {
		Demo Options `config:"demo"`
	}
	origins, err := layers.Read(&file, layers.Sources{File: path})
	read := given{Options: file.Demo, origins: origins}
	if err != nil && !errors.As(err, &read.problems) {
		return given{}, fmt.Errorf("configuration: %w", err)
	}
	return read, nil
}

// flagged notes that a flag has set a key.
func (g *given) flagged(flag, key string) { g.origins[section+"."+key] = layers.Origin{Flag: flag} }

// addImages parses the values of --image, name=directory.
func (g *given) addImages(words []string) {
	for _, word := range words {
		name, dir, found := strings.Cut(word, "=")
		if !found || name == "" || dir == "" {
			g.problems = append(g.problems, layers.Problem{Origin: layers.Origin{Flag: "--image " + word}, Text: "want name=directory"})
			continue
		}
		if g.Images == nil {
			g.Images = map[string]string{}
		}
		g.Images[name] = dir
		g.flagged("--image "+name, "images."+name)
	}
}

// complete checks all options and sets defaults. The error lists everything that is wrong, with its file and line or its flag.
func (g *given) complete() (Options, error) {
	options, err := g.Options.complete()
	var wrong invalid.Fields
	wrong.Section(section, err)
	problems := g.problems
	for _, problem := range g.origins.Locate(wrong.Err()) {
		if problem.Origin.Flag != "" {
			problem.Key = "" // the flag says it
		}
		problems = append(problems, problem)
	}
	if len(problems) > 0 {
		return options, problems.InOrder()
	}
	return options, nil
}
