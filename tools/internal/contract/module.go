package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// SDK is a module that the root go.mod requires: the Go SDK with which the program is written.
type SDK struct {
	Dir     string // its sources
	Version string // semantic, without the v; its plugin reports the same version
}

// FindSDK asks the go command for a module of the root go.mod, which is in the directory above the tools module.
func FindSDK(module string) (SDK, error) {
	tools, err := goCommand("", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return SDK{}, err
	}
	root := filepath.Dir(strings.TrimSpace(string(tools)))
	// "download" and not "list", because it downloads the sources if they are not in the module cache.
	text, err := goCommand(root, "mod", "download", "-json", module)
	if err != nil {
		return SDK{}, err
	}
	var found SDK
	if err := json.Unmarshal(text, &found); err != nil {
		return SDK{}, fmt.Errorf("read the go command's output on %s: %w", module, err)
	}
	found.Version = strings.TrimPrefix(found.Version, "v")
	return found, nil
}

func goCommand(dir string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w: %s", cmd, err, exit.Stderr)
	}
	return out, err
}
