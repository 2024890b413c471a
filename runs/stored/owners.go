package stored

import (
	"context"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
)

// Owners knows whose the data of a project are; measured.Store is one.
type Owners interface {
	// Creators finds who created the runs of directories, by the names that the runs would have.
	Creators(ctx context.Context, project string, names map[measured.Directory]string) (map[measured.Directory]string, error)
	// Uploaders finds who uploaded objects.
	Uploaders(ctx context.Context, project string, uris []string, now time.Time) (map[string]string, error)
}

// Owner is the caller whose data those of a run or an upload are, by the subject that created it; empty if there is none: what
// tasks and apps do counts for their project alone, and anonymous callers look the same.
func Owner(subject string) string {
	if subject == caller.AnonymousSubject || strings.HasPrefix(subject, "task:") || strings.HasPrefix(subject, "app:") {
		return ""
	}
	return subject
}

// owners finds whose the objects of a listing are. It remembers the runs of the last page, since those of the next one are mostly the same.
type owners struct {
	rows    Owners
	project string
	runs    map[measured.Directory]string
}

// split adds up the bytes of a page by caller. What has none is under "".
func (o *owners) split(ctx context.Context, prefix string, found []blobstore.Found, uploads bool, now time.Time) (map[string]int64, error) {
	ofRuns, uris := map[measured.Directory]int64{}, map[string]int64{}
	bytes := map[string]int64{}
	for _, object := range found {
		domain, rest, _ := strings.Cut(object.Name, "/")
		dir, _, _ := strings.Cut(rest, "/")
		if uploads || dir == blobpath.OffloadedInputsName {
			uris[prefix+"/"+object.Name] += object.Bytes
		} else {
			ofRuns[measured.Directory{Domain: domain, Name: dir}] += object.Bytes
		}
	}
	if err := o.know(ctx, ofRuns); err != nil {
		return nil, err
	}
	for dir, n := range ofRuns {
		bytes[Owner(o.runs[dir])] += n
	}
	if len(uris) == 0 {
		return bytes, nil
	}
	names := make([]string, 0, len(uris))
	for uri := range uris {
		names = append(names, uri)
	}
	uploaders, err := o.rows.Uploaders(ctx, o.project, names, now)
	for uri, n := range uris {
		bytes[Owner(uploaders[uri])] += n
	}
	return bytes, err
}

// know looks for the runs of directories, and forgets those of others.
func (o *owners) know(ctx context.Context, dirs map[measured.Directory]int64) error {
	runs, unknown := map[measured.Directory]string{}, map[measured.Directory]string{}
	for dir := range dirs {
		if creator, known := o.runs[dir]; known {
			runs[dir] = creator
			continue
		}
		unknown[dir] = dir.Name // before directories had marks
		if run, marked := blobpath.RunOf(dir.Name); marked {
			unknown[dir] = run
		}
	}
	if len(unknown) > 0 {
		creators, err := o.rows.Creators(ctx, o.project, unknown)
		if err != nil {
			return err
		}
		for dir := range unknown {
			runs[dir] = creators[dir]
		}
	}
	o.runs = runs
	return nil
}
