package layers

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// file applies a YAML file. The error is one of reading it.
func (r *reader) file(path string) error {
	content, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the file of --config: %w", err)
	}
	defer content.Close()
	decoder := yaml.NewDecoder(content)
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil // an empty file
	} else if err != nil {
		r.syntax(path, err)
		return nil
	}
	var second yaml.Node
	if err := decoder.Decode(&second); err == nil {
		r.problem(Origin{File: path, Line: second.Line}, "", "a second document begins here, which would be ignored; remove the line ---")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(path, err)
	}
	at := func(node *yaml.Node) Origin { return Origin{File: path, Line: node.Line} }
	root := resolve(document.Content[0])
	switch {
	case isNull(root):
	case root.Kind == yaml.MappingNode:
		r.section(root, "", r.root, at)
	default:
		r.problem(at(root), "", "must be a map of sections, such as server: {listen: \"127.0.0.1:8090\"}")
	}
	return nil
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// syntax reports a file that is not YAML.
func (r *reader) syntax(path string, err error) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if found := yamlLine.FindStringSubmatch(text); found != nil {
		line, _ = strconv.Atoi(found[1]) // the pattern has only digits
		text = strings.TrimPrefix(text, found[0])
	}
	r.problem(Origin{File: path, Line: line}, "", "not valid YAML here or on the line before: "+text)
}
