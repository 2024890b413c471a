package recipe

import (
	"fmt"
	"strings"
)

// value is what follows an option.
type value uint8

const (
	nothing value = iota // it is a flag
	word                 // any text
	file                 // a file of the client
	address              // the address of an index
	place                // the address of an index or a directory of the client
)

// options are those that a description may use. What is not listed is refused: new releases of an installer bring new options, and
// one that reads or writes files of the machine must not pass because no one has thought of it.
type options map[string]value

// uvOptions are those of uv pip install and uv sync that say what is installed and from where.
var uvOptions = options{ //nolint:gochecknoglobals // a table
	"--all-extras": nothing, "--all-groups": nothing, "--all-packages": nothing, "--compile-bytecode": nothing, "--dev": nothing,
	"--force-reinstall": nothing, "--frozen": nothing, "--locked": nothing, "--native-tls": nothing, "--no-build": nothing,
	"--no-build-isolation": nothing, "--no-cache": nothing, "--no-cache-dir": nothing, "-n": nothing, "--no-compile-bytecode": nothing,
	"--no-default-groups": nothing, "--no-deps": nothing, "--no-dev": nothing, "--no-editable": nothing, "--no-index": nothing,
	"--no-install-local": nothing, "--no-install-project": nothing, "--no-install-workspace": nothing, "--no-progress": nothing,
	"--no-sources": nothing, "--no-verify-hashes": nothing, "--offline": nothing, "--only-dev": nothing, "--pre": nothing,
	"--quiet": nothing, "-q": nothing, "--refresh": nothing, "--reinstall": nothing, "--require-build-hashes": nothing, "--require-hashes": nothing, "--strict": nothing,
	"--system-certs": nothing, "--upgrade": nothing, "-U": nothing, "--verbose": nothing, "-v": nothing, "--verify-hashes": nothing,

	"--allow-insecure-host": word, "--config-setting": word, "--config-settings": word, "--config-settings-package": word,
	"--exclude-newer": word, "--exclude-newer-package": word, "--prerelease-package": word, "--upgrade-group": word, "--extra": word,
	"--fork-strategy": word, "--group": word, "--index-strategy": word, "--keyring-provider": word, "--no-binary": word,
	"--no-binary-package": word, "--no-build-isolation-package": word, "--no-build-package": word, "--no-extra": word,
	"--no-group": word, "--no-install-package": word, "--no-sources-package": word, "--only-binary": word, "--only-group": word,
	"--package": word, "--prerelease": word, "--python-platform": word, "--refresh-package": word, "--reinstall-package": word,
	"--resolution": word, "--torch-backend": word, "--trusted-host": word, "--upgrade-package": word, "-P": word,

	"--build-constraint": file, "--build-constraints": file, "-b": file, "--constraint": file, "--constraints": file, "-c": file,
	"--exclude": file, "--excludes": file, "--override": file, "--overrides": file,

	"--default-index": address, "--extra-index-url": address, "--index": address, "--index-url": address, "-i": address,
	"--find-links": place, "-f": place,
}

// poetryOptions are those of poetry install.
var poetryOptions = options{ //nolint:gochecknoglobals // a table
	"--all-extras": nothing, "--all-groups": nothing, "--compile": nothing, "--no-ansi": nothing, "--no-cache": nothing,
	"--no-directory": nothing, "--no-interaction": nothing, "-n": nothing, "--no-root": nothing, "--only-root": nothing, "--quiet": nothing,
	"-q": nothing, "--sync": nothing, "--verbose": nothing, "-v": nothing, "-vv": nothing, "-vvv": nothing,
	"--extras": word, "-E": word, "--only": word, "--with": word, "--without": word,
}

// arguments splits the extra arguments of an installer. Quotes have no meaning here, so they are refused.
func (o options) arguments(field, text string) ([]string, error) {
	if strings.ContainsAny(text, "'\"\\`") || control(strings.NewReplacer("\n", " ", "\t", " ").Replace(text)) {
		return nil, fmt.Errorf("%s: quotes, backslashes and control characters are not supported, got %q", field, text)
	}
	args := strings.Fields(text)
	for i := 0; i < len(args); i++ {
		name, given, has := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") {
			return nil, fmt.Errorf("%s: %q is not an option", field, args[i])
		}
		kind, known := o[name]
		if !known && !strings.HasPrefix(name, "--") && len(args[i]) > 2 { // a short option with its value
			name, given, has = args[i][:2], args[i][2:], true
			kind, known = o[name]
			known = known && kind != nothing
		}
		if !known {
			return nil, fmt.Errorf("%s: the option %s is not allowed here: those are that say which packages are installed, and from where", field, name)
		}
		if kind == nothing {
			if has {
				return nil, fmt.Errorf("%s: the option %s has no value, got %q", field, name, given)
			}
			continue
		}
		if !has {
			if i++; i == len(args) || strings.HasPrefix(args[i], "-") {
				return nil, fmt.Errorf("%s: the option %s needs a value", field, name)
			}
			given = args[i]
		}
		if err := kind.check(given); err != nil {
			return nil, fmt.Errorf("%s: the option %s: %w", field, name, err)
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	return args, nil
}

// check judges the value of an option.
func (v value) check(given string) error {
	isFile := func() error {
		_, err := contextPath("its value", given)
		return err
	}
	switch {
	case given == "":
		return fmt.Errorf("its value is empty")
	case v == file:
		return isFile()
	case v == place && !isIndex(given):
		return isFile()
	case v == address && !isIndex(given):
		return fmt.Errorf("want a URL, got %q", given)
	}
	return nil
}
