// Package blobpath defines the paths of run data in the object store. Every service computes paths here, so that the whole
// layout is in one file. docs/wire-compatibility.md has the parts that clients depend on.
//
//	{base}/{project}/{domain}/{run}.{mark}/                 run output base; {base} is {root} or the run's own base directory
//	{base}/{project}/{domain}/{run}.{mark}/inputs/…         inputs sent inline with CreateRun
//	{run}/{action}/inputs.pb                                inputs of a child, written by its parent
//	{run}/{action}/{attempt}/                               attempt directory: outputs.pb, error.pb, report.html
//	{run}/{action}/{attempt}/_flytecheckpoints              checkpoints
//	{run}/{action}/{attempt}/_logs/{container}.log          the sealed log of a container
//	{run}/{action}/{attempt}/_members/{pod}/                what a pod writes that must not replace what the first one writes
//	{run}/{action}/{attempt}/_files/{output}                files that a raw container left
//	{root}/{project}/{domain}/_apps/{uid}/data/…            files that an app writes
//	{root}/{project}/{domain}/_apps/{uid}/logs/{replica}.log the log of an ended replica of an app
//	{root}/uploads/{project}/{domain}/{root of the upload}/… uploads by clients
//	{root}/uploads/{project}/{domain}/offloaded-inputs/…    inputs of runs, named by their digest
//	{base}/{project}/{domain}/offloaded-inputs/…            the same, with a base directory of the run or its project
//
// The directory of a tracked run is {root}/uploads/{project}/{domain}/tracked-runs/{run}/.
//
// The directory of a run that was created before directories had marks is {run} alone.
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

// RunBase is the run output base, with a trailing slash. root is the storage root or the run's own base directory, run the
// name of the run's directory.
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

// JobLog is the name of the log of a job that no container has written, but a system behind a connector.
const JobLog = "job"

// SealedLog is the stored log of one container of an attempt. The member is the name of the pod; it is empty for the
// primary pod, whose path does not depend on its name.
func SealedLog(attemptDir, member, container string) string {
	if member != "" {
		container = member + "/" + container
	}
	return attemptDir + "/_logs/" + container + ".log"
}

// Member is the directory of one of several pods of an attempt, which has its outputs and error document instead of the attempt
// directory.
func Member(attemptDir, pod string) string { return attemptDir + "/_members/" + pod }

// Files is the prefix of the files that the raw container of an attempt left. rawPrefix has no trailing slash.
func Files(rawPrefix string) string { return strings.TrimRight(rawPrefix, "/") + "/_files" }

// UploadsName is the first part of the paths of uploads. No project may have this name.
const UploadsName = "uploads"

// OffloadedInputsName is the directory of inputs that the server named by their digest, among the uploads or the data of
// a project and domain. Clients cannot upload into it.
const OffloadedInputsName = "offloaded-inputs"

// Uploads is the prefix of client uploads for a project and domain.
func Uploads(root, project, domain string) string {
	return ProjectUploads(root, project) + "/" + domain
}

// Project is the prefix of the data of a project in all domains below a base directory, without its uploads.
func Project(base, project string) string { return strings.TrimRight(base, "/") + "/" + project }

// ProjectUploads is the prefix of the uploads of a project in all domains.
func ProjectUploads(root, project string) string {
	return strings.TrimRight(root, "/") + "/" + UploadsName + "/" + project
}

// TrackedName is the first part of the upload roots of tracked runs.
const TrackedName = "tracked-runs"

// TrackedRun is the directory of a tracked run among the uploads of its project and domain, with a trailing slash. Below
// it, the layout is that of a run.
func TrackedRun(root, project, domain, run string) string {
	return Uploads(root, project, domain) + "/" + TrackedName + "/" + run + "/"
}

// TrackedUpload finds the run to which an upload belongs, from its path among the uploads of a project and domain:
// tracked-runs/{run}/{action}[/{attempt}]/{file}. It returns false for a path that belongs to none.
func TrackedUpload(path string) (run string, ok bool) {
	steps := strings.Split(path, "/")
	if len(steps) < 4 || len(steps) > 5 || steps[0] != TrackedName {
		return "", false
	}
	if len(steps) == 5 {
		if attempt, err := strconv.ParseUint(steps[3], 10, 31); err != nil || attempt == 0 {
			return "", false
		}
	}
	switch steps[len(steps)-1] {
	case InputsFile, OutputsFile, ReportFile:
		return steps[1], true
	default:
		return "", false
	}
}

// OffloadedInputs is the directory of the inputs of a project and domain, with a trailing slash. base is the base
// directory of the run or its project; empty means the uploads below root.
func OffloadedInputs(root, base, project, domain string) string {
	if base == "" {
		return Uploads(root, project, domain) + "/" + OffloadedInputsName + "/"
	}
	return RunBase(base, project, domain, OffloadedInputsName)
}

// withArtifacts ends the name of inputs that have artifacts among them.
const withArtifacts = ".artifacts"

// InputsName is the name of inputs by their digest. It says whether there are artifacts among them, so that
// recording their use reads no other inputs.
func InputsName(digest string, artifacts bool) string {
	if artifacts {
		return digest + withArtifacts
	}
	return digest
}

// HasArtifacts reports whether inputs that the server named have artifacts among them.
func HasArtifacts(inputURI string) bool {
	return strings.HasSuffix(strings.TrimSuffix(InputsPath(inputURI), "/"+InputsFile), withArtifacts)
}

// appsName is the directory of apps among the data of a project and domain. No run has this name.
const appsName = "_apps"

// AppData is the prefix under which an app writes files and data frames, without a trailing slash.
func AppData(root, project, domain, uid string) string {
	return AppDir(root, project, domain, uid) + "/data"
}

// AppLog is the stored log of a replica of an app.
func AppLog(root, project, domain, uid, replica string) string {
	return AppLogs(root, project, domain, uid) + "/" + replica + ".log"
}

// AppLogs is the prefix of the stored logs of an app, without a trailing slash.
func AppLogs(root, project, domain, uid string) string {
	return AppDir(root, project, domain, uid) + "/logs"
}

// AppDir is the directory of an app, without a trailing slash.
func AppDir(root, project, domain, uid string) string {
	return strings.TrimRight(root, "/") + "/" + project + "/" + domain + "/" + appsName + "/" + uid
}

// TraceError is the error document of a failed trace.
func TraceError(runBase, action string) string {
	return strings.TrimRight(runBase, "/") + "/" + action + "/" + ErrorFile
}

// Within reports whether a URI is below a directory, which ends with a slash. A URI with steps that could lead out of it
// does not.
func Within(dir, uri string) bool {
	below, found := strings.CutPrefix(uri, dir)
	if !found {
		return false
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(below, "/"), "/") {
		if step == "" || step == "." || step == ".." {
			return false
		}
	}
	return true
}
