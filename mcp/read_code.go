package mcp

import (
	"context"
	"strings"

	"connectrpc.com/connect"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

type readCodeInput struct {
	actionName
	Path  string `json:"path,omitempty" jsonschema:"the file; the one with the task's function by default"`
	From  int    `json:"from,omitempty" jsonschema:"the first line to return, from 1"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many lines to return, up to 2000; 400 by default"`
}

type readCodeOutput struct {
	Path     string   `json:"path,omitempty"`
	Text     string   `json:"text,omitempty"`
	From     int      `json:"from,omitempty"`
	Lines    int      `json:"total_lines,omitempty"`
	Function string   `json:"function,omitempty" jsonschema:"the function of the task"`
	Line     uint32   `json:"function_line,omitempty"`
	Files    []string `json:"files,omitempty" jsonschema:"the files of the code bundle, up to 500"`
	Missing  string   `json:"missing,omitempty" jsonschema:"why there is no code to show"`
}

var readCodeTool = reads("read_code", "Reads the code that an action ran, from its code bundle.", readCode)

func readCode(ctx context.Context, s *session, in readCodeInput) (out readCodeOutput, err error) {
	code, err := s.code.GetCode(ctx, &insightv1.GetCodeRequest{ActionId: in.id(), Path: in.Path})
	if err != nil {
		return out, err
	}
	out = readCodeOutput{Path: code.GetPath(), Function: code.GetFunction(), Line: code.GetLine(), Missing: code.GetMissing()}
	for _, file := range code.GetFiles()[:min(500, len(code.GetFiles()))] {
		out.Files = append(out.Files, file.GetPath())
	}
	if code.GetText() == "" {
		return out, nil
	}
	lines := strings.Split(code.GetText(), "\n")
	out.Lines, out.From = len(lines), min(max(1, in.From), len(lines))
	end := min(len(lines), out.From-1+int(bounded(in.Limit, 400, 2000)))
	out.Text = strings.Join(lines[out.From-1:end], "\n")
	return out, nil
}

// isInvalid reports whether a call was refused since its request makes no sense.
func isInvalid(err error) bool {
	return err != nil && connect.CodeOf(err) == connect.CodeInvalidArgument
}
