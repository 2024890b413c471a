package pyenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// findUV returns the program uv, which is much faster than venv and pip; empty if there is none. uvx names its own.
func findUV() string {
	if uv := os.Getenv("UV"); filepath.IsAbs(uv) {
		return uv
	}
	uv, err := exec.LookPath("uv")
	if err != nil {
		return ""
	}
	return uv
}

// withUV creates the environment. It has pip too, for people who add packages to it.
func (c commands) withUV(ctx context.Context, uv, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the incomplete environment %s: %w", dir, err)
	}
	if out, err := c.run(ctx, "uv venv", uv, "venv", "--quiet", "--seed", "--python", ">=3.10", dir); err != nil {
		return fmt.Errorf("create a Python environment in %s with uv: %w: %s", dir, err, out)
	}
	out, err := c.run(ctx, "uv pip install "+Requirement, uv, "pip", "install", "--quiet", "--python", filepath.Join(dir, "bin", "python"), Requirement, Installer)
	if err != nil {
		return fmt.Errorf("install %s into %s with uv: %w: %s", Requirement, dir, err, out)
	}
	return Check(dir)
}
