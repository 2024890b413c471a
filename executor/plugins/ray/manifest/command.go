package manifest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// runs is a program that runs the command in its argument. It has no character that changes in double quotes.
const runs = "import base64,json,os,sys; words = json.loads(base64.b64decode(sys.argv[1])); os.execvp(words[0], words)"

// command returns the line that runs a command on the head. Two shells read the line: that of the pod that submits, and, after `ray
// job submit` has joined the words again, that of the head. How it joins them depends on its version: older ones quote as Windows
// does, so dollars and quotes change their meaning. So a command with such characters is sent encoded.
func command(words []string) string {
	plain := !slices.ContainsFunc(words, func(word string) bool { return word == "" || strings.ContainsFunc(word, special) })
	if plain || slices.ContainsFunc(words, hasVariable) {
		return shell(words)
	}
	literal := make([]string, len(words))
	for i, word := range words {
		literal[i] = strings.ReplaceAll(word, "$$", "$") // as Kubernetes does with the arguments of a container
	}
	encoded, _ := json.Marshal(literal) //nolint:errchkjson // texts
	return shell([]string{"python3", "-c", runs, base64.StdEncoding.EncodeToString(encoded)})
}

// hasVariable reports whether Kubernetes expands a variable in a word.
func hasVariable(word string) bool { return strings.Contains(strings.ReplaceAll(word, "$$", ""), "$(") }

// shell joins words to one line of a shell.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsFunc(word, special) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

func special(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_", r)
}
