package podstatus

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// excerptBytes is where a kubelet cuts the end of a log that it takes for a container's message, wherever a line begins.
const excerptBytes = 2048

// withLog adds the end of a log to the words about how a container ended: the exception that ended its program first, if the log
// shows one, so that lists and notifications, which cut long texts, have it.
func withLog(words, log string) string {
	excerpt := fromALine(log)
	switch raised := exception(excerpt); {
	case excerpt == "":
		return words
	case raised == "":
		return words + ":\n" + excerpt
	case raised == excerpt:
		return words + ": " + raised
	default:
		return words + ": " + raised + "\nThe log ends with:\n" + excerpt
	}
}

// fromALine leaves out the rest of a line whose beginning was cut off, and empty lines around the text.
func fromALine(log string) string {
	cut := len(log) >= excerptBytes && len(log) < excerptBytes+utf8.UTFMax*2 // bytes of a letter that was cut become longer
	if _, rest, found := strings.Cut(log, "\n"); cut && found && strings.TrimSpace(rest) != "" {
		log = rest
	}
	lines := strings.Split(strings.TrimRight(log, " \t\r\n"), "\n")
	for len(lines) > 1 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// raisedLine is the line with which Python ends a traceback: the class of the exception, and what it says.
var raisedLine = regexp.MustCompile(`^[A-Za-z_][\w.]*(: .*)?$`)

// exception returns the last such line of a log; empty if there is none. It follows a line of the traceback, which is indented, also
// where the traceback's first line was cut off.
func exception(log string) string {
	found, traced := "", false
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\r\n")
		indented := strings.HasPrefix(line, "  ")
		if traced && !indented && raisedLine.MatchString(line) {
			found = line
		}
		traced = indented
	}
	return found
}
