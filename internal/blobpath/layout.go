// Package blobpath defines the paths of run data in the object store. Every service computes paths here, so that the whole
// layout is in one file. docs/wire-compatibility.md has the parts that clients depend on.
//
//	{root}/{project}/{domain}/{run}/                        run output base
//	{root}/{project}/{domain}/{run}/inputs/inputs.pb        inputs sent inline with CreateRun
//	{base}{action}/inputs.pb                                inputs of a child, written by its parent
//	{base}{action}/{attempt}/                               attempt directory: outputs.pb, error.pb, report.html
//	{base}{action}/{attempt}/_flytecheckpoints              checkpoints
//	{base}{action}/{attempt}/_logs/{container}.log          the sealed log of a container
//	{base}{action}/{attempt}/_files/{output}                files that a raw container left
//	{root}/uploads/{project}/{domain}/…                     uploads by clients
package blobpath

import (
	"strconv"
	"strings"
)

// File names that the SDK reads or writes.
const (
	InputsFile  = "inputs.pb"
	OutputsFile = "outputs.pb"
	ErrorFile   = "error.pb"
	ReportFile  = "report.html"
)

// RunBase is the run output base, with a trailing slash. root is the storage root or the run's own base directory.
func RunBase(root, project, domain, run string) string {
	return strings.TrimRight(root, "/") + "/" + project + "/" + domain + "/" + run + "/"
}

// RootInputs is the directory of inputs that came inline with CreateRun.
func RootInputs(runBase string) string { return runBase + "inputs" }

// AttemptDir is the directory of one attempt, without a trailing slash. attempt counts from 1.
func AttemptDir(runBase, action string, attempt uint32) string {
	return strings.TrimRight(runBase, "/") + "/" + action + "/" + strconv.FormatUint(uint64(attempt), 10)
}

// InputsPath is the inputs.pb of an input URI: the URI itself if it names the file, else the file below it.
func InputsPath(inputURI string) string {
	if strings.HasSuffix(inputURI, "/"+InputsFile) {
		return inputURI
	}
	return strings.TrimRight(inputURI, "/") + "/" + InputsFile
}

// OutputsPath is the outputs.pb of an output URI: the URI itself if it names the file, else the file below it.
func OutputsPath(outputURI string) string {
	if strings.HasSuffix(outputURI, "/"+OutputsFile) {
		return outputURI
	}
	return strings.TrimRight(outputURI, "/") + "/" + OutputsFile
}

// Checkpoints is the checkpoint prefix of an attempt directory.
func Checkpoints(attemptDir string) string { return attemptDir + "/_flytecheckpoints" }

// SealedLog is the stored log of one container of an attempt.
func SealedLog(attemptDir, container string) string {
	return attemptDir + "/_logs/" + container + ".log"
}

// Files is the prefix of the files that the raw container of an attempt left. rawPrefix has no trailing slash.
func Files(rawPrefix string) string { return strings.TrimRight(rawPrefix, "/") + "/_files" }

// Uploads is the prefix of client uploads for a project and domain.
func Uploads(root, project, domain string) string {
	return strings.TrimRight(root, "/") + "/uploads/" + project + "/" + domain
}

// TraceError is the error document of a failed trace.
func TraceError(runBase, action string) string {
	return strings.TrimRight(runBase, "/") + "/" + action + "/" + ErrorFile
}
