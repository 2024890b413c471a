package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
)

// copy copies the client's files to a path in the image. The environment's Files directory is the root of that path.
func (w *worker) copy(step *recipe.Copy) error {
	from, err := os.OpenRoot(w.context)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenRoot(w.env.Files)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	if err := w.exists(step.From); err != nil {
		return err
	}
	w.copied = true
	target := strings.TrimPrefix(path.Clean(step.To), "/")
	info, err := from.Stat(step.From)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if strings.HasSuffix(step.To, "/") {
			target = path.Join(target, path.Base(step.From))
		}
		return copyFile(from, to, step.From, target)
	}
	w.build.say("Copying %s to %s", step.From, step.To)
	return fs.WalkDir(from.FS(), step.From, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		place := path.Join(target, strings.TrimPrefix(strings.TrimPrefix(name, step.From), "/"))
		switch {
		case entry.IsDir():
			return to.MkdirAll(place, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			if info, err := from.Stat(name); err != nil || info.IsDir() {
				w.build.say("Note: the link %s is left out: it leads to a directory, to nothing, or out of the files.", name)
				return nil //nolint:nilerr // the note says it
			}
		}
		return copyFile(from, to, name, place)
	})
}

func copyFile(from, to *os.Root, name, place string) (failure error) {
	source, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := to.MkdirAll(path.Dir(place), 0o755); err != nil {
		return err
	}
	target, err := to.OpenFile(place, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600|info.Mode()&0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// system checks that the machine has packages. Nothing is installed: that takes rights that a demo should not use.
func (w *worker) system(ctx context.Context, step *recipe.System) error {
	query, err := lookPath("dpkg", variable(w.build.Environ, "PATH"))
	if err != nil {
		w.build.say("Note: the image installs the system packages %s. They are not installed here, and cannot be checked, because "+
			"this machine has no dpkg. Install what tasks need of them yourself.", strings.Join(step.Packages, ", "))
		return nil //nolint:nilerr // the note says it
	}
	var missing []string
	for _, name := range step.Packages {
		out, err := exec.CommandContext(ctx, query, "-s", "--", name).Output()
		if err != nil || !strings.Contains(string(out), "Status: install ok installed") {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		w.build.say("Note: the image installs system packages that this machine lacks, and they are not installed here: "+
			"`sudo apt-get install %s` does it, if tasks need them.", strings.Join(missing, " "))
	}
	return nil
}

// command runs a line of the shell with the environment's programs first.
func (w *worker) command(ctx context.Context, step *recipe.Command, secrets []secret) error {
	dir := path.Join(w.env.Files, step.Dir)
	home := path.Join(w.scratch, "home")
	temp, cache := path.Join(w.scratch, "tmp"), path.Join(w.scratch, "cache")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(home, 0o700), os.MkdirAll(temp, 0o700)); err != nil { //nolint:gosec // tasks may run as other users
		return fmt.Errorf("create the working directory of a command: %w", err)
	}
	w.build.say("$ %s", step.Line)
	env := []string{
		"PATH=" + path.Join(w.env.Venv, "bin") + string(os.PathListSeparator) + variable(w.build.Environ, "PATH"), "HOME=" + home,
		// Everything that it may write is of this build: the installer's cache has files of all images.
		"TMPDIR=" + temp, "XDG_CACHE_HOME=" + cache, "UV_CACHE_DIR=" + path.Join(cache, "uv"),
	}
	t := tool{path: "/bin/sh", args: []string{"-ec", step.Line}, env: env, dir: dir, secrets: secrets}
	if shell, err := lookPath("bash", variable(w.build.Environ, "PATH")); err == nil {
		t.path = shell
	}
	return w.run(ctx, w.fenced(t))
}
