package imagebuild

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
)

// secret is a secret of a layer with its value.
type secret struct{ variable, value string }

// hidden takes the place of values.
const hidden = "****"

// shortest is the length up to which a value is not looked for in texts: it would hide anything.
const shortest = 3

// secretsOf reads the secrets of a layer. The node has put those of the run into files.
func (w *worker) secretsOf(step recipe.Step) ([]secret, error) {
	var found []secret
	for _, one := range step.Secrets {
		body, err := os.ReadFile(filepath.Join(w.build.Secrets, one.File))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the layer asks for secret %s, which the run of this build did not ask for", one.File)
		}
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", one.File, err)
		}
		if bytes.IndexByte(body, 0) >= 0 {
			return nil, fmt.Errorf("secret %s has a NUL, so it cannot be the variable %s", one.File, one.Variable)
		}
		found = append(found, secret{one.Variable, strings.TrimSuffix(string(body), "\n")})
	}
	return found, nil
}

// mention is the name of a variable in a text.
var mention = regexp.MustCompile(`\$(\w+|\{\w+\})`)

// expand replaces the names of secrets, $NAME and ${NAME}, by their values, as the shell of an image build does. Other names
// stay.
func expand(text string, secrets []secret) string {
	return mention.ReplaceAllStringFunc(text, func(found string) string {
		for _, one := range secrets {
			if one.variable == strings.Trim(found, "${}") {
				return one.value
			}
		}
		return found
	})
}

// forms are the ways in which a value is written: as it is, and as part of a URL.
func (s secret) forms() []string {
	if len(s.value) <= shortest {
		return nil
	}
	forms := []string{s.value}
	for _, other := range []string{url.QueryEscape(s.value), url.PathEscape(s.value), url.UserPassword("", s.value).String()[1:]} {
		if other != s.value {
			forms = append(forms, other)
		}
	}
	return forms
}

func hide(text string, secrets []secret) string {
	for _, one := range secrets {
		for _, form := range one.forms() {
			text = strings.ReplaceAll(text, form, hidden)
		}
	}
	return text
}

// redactor passes lines on without the values of secrets.
type redactor struct {
	to      io.Writer
	secrets []secret
	rest    []byte // the line that is not complete
}

// longestLine is how much of a line is held back until it ends.
const longestLine = 64 << 10

// Write implements io.Writer. It passes whole lines only, since a value may be split between two writes.
func (r *redactor) Write(data []byte) (int, error) {
	if len(r.secrets) == 0 {
		return r.to.Write(data)
	}
	r.rest = append(r.rest, data...)
	end := bytes.LastIndexByte(r.rest, '\n') + 1
	if end == 0 && len(r.rest) > longestLine {
		end = len(r.rest)
	}
	if end > 0 {
		if _, err := io.WriteString(r.to, hide(string(r.rest[:end]), r.secrets)); err != nil {
			return 0, err
		}
		r.rest = append(r.rest[:0], r.rest[end:]...)
	}
	return len(data), nil
}

// flush passes on a last line without an end.
func (r *redactor) flush() error {
	if len(r.rest) == 0 {
		return nil
	}
	_, err := io.WriteString(r.to, hide(string(r.rest), r.secrets)+"\n")
	r.rest = nil
	return err
}

// forget removes values from the files in which the installer notes where packages came from.
func (w *worker) forget(secrets []secret) error {
	noted, err := filepath.Glob(filepath.Join(w.env.Venv, "lib", "python*", "site-packages", "*.dist-info", "direct_url.json"))
	if err != nil {
		return err
	}
	for _, name := range noted {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		clean := hide(string(body), secrets)
		if clean == string(body) {
			continue
		}
		if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte(clean), 0o644)); err != nil { //nolint:gosec // it may be linked
			return err
		}
	}
	return nil
}
