package toolchain

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/process"
)

// versionTimeout is the time that a pulumi on PATH has to print its version.
const versionTimeout = 15 * time.Second

// cliOnPath returns the pulumi on PATH if its version fits. The call of pulumi takes longer than the rest, so the version is cached
// until the file changes.
func (in *installer) cliOnPath(ctx context.Context, w *wanted) (Tool, bool) {
	path, err := in.seams.lookPath(w.name)
	if err != nil {
		return Tool{}, false
	}
	version, err := in.versionOf(ctx, path)
	if err != nil || !fits(version, in.sdk) {
		return Tool{}, false
	}
	return Tool{
		Name: w.name, Kind: CLI, Version: version, Origin: Official, Path: path, Installed: true,
	}, true
}

// answered is the version that a CLI printed, with the file's size and time at that moment.
type answered struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Version string    `json:"version"`
}

func (in *installer) versionOf(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	memo := filepath.Join(in.cache, "pulumi-on-path.json")
	var last answered
	if text, err := os.ReadFile(memo); err == nil && json.Unmarshal(text, &last) == nil &&
		last.Path == path && last.Size == info.Size() && last.ModTime.Equal(info.ModTime()) {
		return last.Version, nil
	}

	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := process.KillTreeOnCancel(exec.CommandContext(ctx, path, "version"))
	cmd.Env = append(in.seams.environ(), "PULUMI_SKIP_UPDATE_CHECK=true")
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	now := answered{Path: path, Size: info.Size(), ModTime: info.ModTime(), Version: strings.TrimSpace(string(out))}
	in.remember(memo, now)
	return now.Version, nil
}

// remember caches an answer. If that fails, the next call runs pulumi again, which only costs time.
func (in *installer) remember(memo string, now answered) {
	text, err := json.Marshal(now)
	if err == nil && os.MkdirAll(in.cache, 0o755) == nil {
		_ = os.WriteFile(memo, text, 0o600)
	}
}

// cliForInstalls returns the path of the CLI that installs the official plugins; false if it is not installed.
func (in *installer) cliForInstalls(ctx context.Context) (string, bool) {
	for i := range in.wanted {
		if w := &in.wanted[i]; w.kind == CLI {
			tool := in.present(ctx, w)
			return tool.Path, tool.Installed
		}
	}
	return "", false
}
